"""``run``: a program of arrays of which every rank has a shard."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from ...compiler.program.frames import outermost
from ..arrays.pytorch import are_tracked
from ..arrays.torch_compile import opaque
from ..programs.function import check_function
from .calls import Shards, known, needed_of
from .group import Ranks
from .together import together


@opaque
@together
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
            and shards must have one extent, or numbers of elements and positions are wrong.
        out: as in a call of the program, for the results of this rank.
        how: other arguments by name, and ``device``, ``plan`` and ``determinism`` as in a call of the program.

    Raises:
        ArgumentError: on every rank, WF170 without a process group, WF171 for calls that do not fit together, WF169
            where another rank cannot make its call, WF173 for a program that cannot be cut so, WF125 for a wrong number
            of arrays in ``out``.
        BackendError: WF611 where another rank does not answer.
    """
    check_function("wf.distributed.run", what)
    name = tuple(shards.items()) if isinstance(shards, dict) else tuple(shards) if isinstance(shards, list) else shards
    return on_ranks(what, xs, how, (name,), lambda: shards, group, check=check, out=out)


def on_ranks(
    what: Callable[..., Any], xs: Sequence[Any], how: Mapping[str, Any], name: Hashable,
    lying: Callable[[], Shards], group: Any, *, check: bool, out: Any,
) -> Any:  # fmt: skip
    """``run``, where ``lying`` says how shards lie, as ``name`` does beside the shapes of the arguments."""
    ranks = Ranks.of(group)
    given = () if out is None else tuple(out) if isinstance(out, tuple | list) else (out,)
    call = known(what, xs, how, name, lying)
    arrays = call.arrays(xs, how)
    tracked = are_tracked(arrays)
    if check:
        extents = call.offer(needed_of(arrays) if tracked else (), len(given)).extents(ranks, arrays)
    else:
        extents = call.kind.alike(ranks.count)
    if not tracked:
        return call.staged(extents, ranks, late=bool(given))(arrays, given, check=check)
    from .gradients import recorded  # not imported without tensors that require gradients

    return recorded(call, extents, ranks, arrays, given, check=check)
