"""``run``: a program of arrays of which every rank has a shard."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple

import torch
import torch.distributed as dist

from ...compiler.errors import WarpfoldError, error
from ...compiler.program.arrays.trace import ArrayArg
from ...compiler.program.closures import captured
from ...compiler.program.frames import caller, outermost
from ...compiler.space.geometry import normalize_axes
from ..arrays.pytorch import are_tracked
from ..arrays.torch_compile import opaque
from ..options import check_options
from ..programs.arguments import Arguments, arguments_of
from ..programs.function import DEFAULTS, ArrayFunction, check_function
from ..programs.saved import Place, array_arg
from ..programs.traces import Traces, names_of
from .group import MOST_DIMS, Ranks
from .offers import MOST_ARRAYS, Offer, agreed
from .staged import Extents, Staged

Shards = int | Mapping[str, int] | Sequence[int | None]
"""The axis of the first array that is cut; or for each array by its name, or for all in order, its axis or None."""
USUAL = 1 << 10
"""The extent of a cut axis in the trace that ranks compare."""


@opaque
@outermost
def run(
    what: Callable[..., Any], *xs: Any, shards: Shards, group: Any = None, check: bool = True, out: Any = None,
    **how: Any,
) -> Any:  # fmt: skip
    """Runs a program on arrays of which every rank of a process group has a shard.

    The result is that of the program on the whole arrays. A result that lies along the cut axis is this rank's shard of
    it; every rank has all of any other. Where the program folds over the cut axis, each rank folds its own elements,
    and one collective call gathers the states of all folds that need no earlier ones. Tensors that require gradients
    get those of the whole program.

    Args:
        what: a program from ``wf.program``, one of the library such as ``wf.softmax``, or a function as ``wf.program``
            takes one.
        xs: its arguments, tensors of PyTorch among them.
        shards: which axis of which array is cut: an axis of the first array; or a dict from names of parameters to
            axes; or a sequence with an axis, or None for an array that every rank has, for each array in order. Shards
            may have different extents along it, 0 among them.
        group: the process group, None for the default one.
        check: compare the calls of all ranks first, which waits for the device. Without it ranks that disagree hang,
            and shards must have one extent.
        out: as in a call of the program, for the results of this rank.
        how: other arguments by name, and ``device``, ``plan`` and ``determinism`` as in a call of the program.

    Raises:
        ArgumentError: on every rank, WF170 without a process group, WF171 for calls that do not fit together, WF169
            where another rank refuses its arguments, WF173 for a program that cannot be cut so.
        BackendError: WF611 where another rank does not answer.
    """
    check_function("wf.distributed.run", what)
    return on_ranks(what, xs, how, lambda: shards, group, check=check, out=out)


def on_ranks(
    what: Callable[..., Any], xs: Sequence[Any], how: Mapping[str, Any], lying: Callable[[], Shards], group: Any,
    *, check: bool, out: Any,
) -> Any:  # fmt: skip
    """``run``, where ``lying`` says how shards lie: what it raises is an error that the other ranks learn of."""
    ranks = Ranks.of(group)
    try:
        call = _call(what, xs, how, lying())
        offer = call.offer() if check else None
    except Exception:
        if check:
            with suppress(WarpfoldError):  # what it would say is what the others say of this rank
                agreed(ranks, Offer(), _device(ranks, xs))
        raise
    device = next(x for x in call.arrays if isinstance(x, torch.Tensor)).device
    extents = call.alike(ranks.count) if offer is None else agreed(ranks, offer, device)
    if are_tracked(call.arrays):
        from .gradients import recorded  # not imported without tensors that require gradients

        return recorded(call, extents, ranks, out)
    return call.staged(extents, ranks)(call.arrays, out)


def _call(what: Callable[..., Any], xs: Sequence[Any], how: Mapping[str, Any], shards: Shards) -> Call:
    """The call, known from an earlier one that was written alike where there was one."""
    key = _key(what, xs, how, shards)
    known = None if key is None else _KNOWN.get(key)
    if known is not None:
        return known.repeated(xs, how)
    call = Call.of(what, xs, how, shards)
    if key is not None:
        _KNOWN[key] = call._replace(arrays=())
        if len(_KNOWN) > KEPT:
            _KNOWN.pop(next(iter(_KNOWN)))
    return call


_KNOWN: dict[Any, Call] = {}
"""Calls without their arrays, which later ones that are written alike repeat."""
KEPT = 1024
"""The most of them; the oldest is dropped first."""


def _key(what: Any, xs: Sequence[Any], how: Mapping[str, Any], shards: Any) -> Any:
    """What a call is known by; None for one with arrays of other libraries, or with parameters without a hash."""
    cut = tuple(shards.items()) if isinstance(shards, dict) else tuple(shards) if isinstance(shards, list) else shards
    found = (what, cut, *map(_kind, xs), *((name, _kind(x)) for name, x in how.items()))
    try:
        hash(found)
    except TypeError:
        return None
    return None if any(hasattr(x, "shape") and type(x) not in _TENSORS for x in (*xs, *how.values())) else found


_TENSORS = (torch.Tensor, torch.nn.Parameter)


def _kind(x: Any) -> Any:
    """What a key says of an argument."""
    if type(x) in _TENSORS:
        return x.shape, x.dtype, x.device
    return type(x), repr(x) if type(x) is float else x


def _device(ranks: Ranks, xs: Sequence[Any]) -> torch.device:
    """Where a rank says that it refuses its call."""
    own = next((x.device for x in xs if isinstance(x, torch.Tensor)), None)
    return own or torch.device("cuda" if dist.get_backend(ranks.group) == "nccl" else "cpu")


class Call(NamedTuple):
    """A call of a program on one rank.

    Attributes:
        function: the function of arrays.
        arguments: the arguments without the arrays.
        arrays: the arrays.
        kinds: the element type and the shape of each.
        axes: the axis along which each is cut; None for one that every rank has.
        options: the arguments of every call.
    """

    function: Callable[..., Any]
    arguments: Arguments
    arrays: Sequence[Any]
    kinds: tuple[ArrayArg, ...]
    axes: tuple[int | None, ...]
    options: Mapping[str, Any]

    @classmethod
    def of(cls, what: Callable[..., Any], xs: Sequence[Any], how: Mapping[str, Any], shards: Shards) -> Call:
        """The arguments of ``run``, checked.

        Raises:
            ArgumentError: as a call of the program, and WF173 for shards that it has not.
        """
        function = what.function if isinstance(what, ArrayFunction) else what
        options = {name: value for name, value in how.items() if name in DEFAULTS}
        check_options(determinism=options.get("determinism", "run"))
        own = {name: value for name, value in how.items() if name not in DEFAULTS}
        arguments, arrays = arguments_of(function, xs, own)
        with torch.no_grad():
            kinds = tuple(map(array_arg, arrays))
        return cls(function, arguments, arrays, kinds, _axes(function, arguments, kinds, shards), options)

    def repeated(self, xs: Sequence[Any], how: Mapping[str, Any]) -> Call:
        """The same call of other arrays."""
        return self._replace(arrays=[xs[p] if isinstance(p, int) else how[p] for p in self.places])

    @property
    def places(self) -> list[Place]:
        """For each array its position, or the keyword by which it was given."""
        own: dict[object, Place] = {slot: name for name, slot in self.arguments.named}
        own |= {slot: i for i, slot in enumerate(self.arguments.positional)}
        return [own[i] for i in range(len(self.kinds))]

    @property
    def traces(self) -> Traces:
        """The traces of the function."""
        return _traces(self.function)

    def offer(self) -> Offer:
        """What this rank says of it."""
        return Offer(self._digest(), tuple(a.shape for a in self.kinds), self.axes)

    def _digest(self) -> str:
        """Names the program, its parameters and the types of its arrays, whatever extents shards have."""
        usual = [
            a if axis is None else a._replace(shape=(*a.shape[:axis], USUAL, *a.shape[axis + 1 :]))
            for a, axis in zip(self.kinds, self.axes, strict=True)
        ]
        try:
            return self.traces.get(self.arguments, usual).digest
        except WarpfoldError as e:  # the whole arrays may do, and an error of theirs is one on every rank
            return blake2b(e.code.encode(), digest_size=16).hexdigest()

    def alike(self, count: int) -> Extents:
        """The extents of shards that are all as those of this rank."""
        pairs = zip(self.kinds, self.axes, strict=True)
        return [() if axis is None else (a.shape[axis],) * count for a, axis in pairs]

    def staged(self, extents: Extents, ranks: Ranks) -> Staged:
        """What runs it where all ranks have these extents."""
        given = tuple(sorted(self.options.items()))
        outside = captured(self.function)
        return _staged(self.function, self.arguments, self.kinds, self.axes, tuple(extents), ranks, given, outside)


@lru_cache(maxsize=1024)
def _staged(
    function: Callable[..., Any], arguments: Arguments, arrays: tuple[ArrayArg, ...], axes: tuple[int | None, ...],
    extents: tuple[tuple[int, ...], ...], ranks: Ranks, options: tuple[tuple[str, Any], ...], _outside: object,
) -> Staged:  # fmt: skip
    return Staged(_traces(function), arguments, arrays, axes, extents, ranks, dict(options))


@lru_cache(maxsize=1024)
def _traces(function: Callable[..., Any]) -> Traces:
    return Traces(function)


def _axes(
    function: Callable[..., Any], arguments: Arguments, arrays: Sequence[ArrayArg], shards: Shards
) -> tuple[int | None, ...]:
    """The axis along which each array is cut."""
    name, n = str(getattr(function, "__name__", "the program")), len(arrays)
    ranks = [len(a.shape) for a in arrays]
    if n > MOST_ARRAYS or max(ranks) > MOST_DIMS:
        problem = f"it has {n} arrays of up to {max(ranks)} axes: expected at most {MOST_ARRAYS} of {MOST_DIMS}"
        raise error("WF173", name=name, problem=problem, where=caller())
    given: list[int | None] = [None] * n
    if isinstance(shards, Mapping):
        names = names_of(function, arguments, n)
        for key, axis in shards.items():
            if key not in names:
                problem = f"shards= names {key!r}, and its arrays are {', '.join(names)}"
                raise error("WF173", name=name, problem=problem, where=caller())
            given[names.index(key)] = axis
    elif isinstance(shards, Sequence):
        if len(shards) != n:
            problem = f"shards= has {len(shards)} entries for {n} arrays"
            raise error("WF173", name=name, problem=problem, where=caller())
        given = [*shards]
    else:
        given[0] = shards
    return tuple(None if a is None else normalize_axes(a, r)[0] for a, r in zip(given, ranks, strict=True))
