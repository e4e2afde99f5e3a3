"""Marks functions in whose place PyTorch's tracers record a custom op: ``torch.compile``, ``make_fx``, ``torch.func``.

This does not import PyTorch. ``torch.compile`` inlines what stands under ``_torchdynamo_inline`` of a function; the ops
are made in ``torch_ops.py`` when the first one is needed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from ..arrays.pytorch import recorder
from ..arrays.torch_compile import mark, unscripted

F = TypeVar("F", bound=Callable[..., Any])


class Symbolic(NamedTuple):
    """A call as one of a function of symbolic arrays.

    Attributes:
        function: the function.
        label: a text that tells it from all others.
        xs, how: its arguments.
        row_major: whether results are made in C order.
    """

    function: Callable[..., Any]
    label: str
    xs: Sequence[Any]
    how: Mapping[str, Any]
    row_major: bool


class Entry(NamedTuple):
    """A function that PyTorch's tracers see as an op.

    Attributes:
        run: makes a call of real arrays.
        name: what its op is called.
        label: tells the function from all others, in every process; empty for one of a user.
        symbolic: the call of some arguments as one of a function of symbolic arrays.
        casts: what autocast computes in f32: the function of this name; empty if it does not.
        in_f32: for one that is computed so, the number of that entry; None for a reduction, which takes a type.
        seeds: position and name of each seed: graphs have it as a tensor, so that one graph serves all seeds.
    """

    run: Callable[..., Any]
    name: str
    label: str
    symbolic: Callable[[Sequence[Any], Mapping[str, Any]], Symbolic]
    casts: str = ""
    in_f32: Callable[[], int] | None = None
    seeds: tuple[tuple[int, str], ...] = ()


ENTRIES: list[Entry] = []
"""All of them; a traced call has the number of its entry."""


def op_in_graphs(
    run: F,
    name: str,
    symbolic: Callable[[Sequence[Any], Mapping[str, Any]], Symbolic],
    label: str = "",
    casts: str = "",
    in_f32: Callable[[], int] | None = None,
    seeds: tuple[tuple[int, str], ...] = (),
) -> F:
    """``run`` itself, marked so that tracers record a custom op in place of a call; see ``Entry``."""
    number = len(ENTRIES)
    ENTRIES.append(Entry(run, name, label, symbolic, casts, in_f32, seeds))

    run._torchdynamo_inline = _traced(number)  # type: ignore[attr-defined]
    run._warpfold_entry = number  # type: ignore[attr-defined]
    mark(run.__code__)
    return unscripted(run)


def _traced(number: int) -> Callable[..., Any]:
    """What ``torch.compile`` inlines in place of a call."""

    def call(*xs: Any, **how: Any) -> Any:
        from .torch_ops import traced  # imports PyTorch

        return traced(number, xs, how)

    return call


def labelled(function: Callable[..., Any], label: str) -> None:
    """Gives a function that is the same in every process a label, see ``Entry``."""
    changed(function, label=label)


def changed(function: Callable[..., Any], **fields: Any) -> None:
    """Changes what PyTorch's tracers know of a function, see ``Entry``."""
    number = entry_of(function)
    ENTRIES[number] = ENTRIES[number]._replace(**fields)


def entry_of(function: Callable[..., Any]) -> int:
    """The number of the entry of a function, or of a program, which is a ``partial`` of one."""
    own: Any = getattr(function, "func", function)
    return int(own._warpfold_entry)


def are_traced(xs: Sequence[Any]) -> bool:
    """Whether a call of these arrays is to be seen by a tracer of PyTorch, a transform, or a mode."""
    torch = sys.modules.get("torch")
    functorch = getattr(getattr(torch, "_C", None), "_functorch", None)
    if torch is None or functorch is None:
        return False
    tensors = [x for x in xs if isinstance(x, torch.Tensor)]
    if not tensors or torch.jit.is_tracing():
        return False
    if torch._C._len_torch_dispatch_stack() or torch._C._are_functorch_transforms_active() or recorder(torch):
        return True
    wrapped = functorch.is_functorch_wrapped_tensor
    return any(wrapped(x) or type(x).__module__.startswith("torch._subclasses.") for x in tensors)
