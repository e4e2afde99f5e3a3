"""Gradients of ops: PyTorch records an op, and its gradient is an op again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch._functorch.autograd_function import enable_single_level_autograd_function

from ...compiler.errors import error
from ...compiler.program.arrays.types import has_gradient
from .saved import gradient_program
from .torch_calls import CALLS, Call
from .torch_graphs import entry_of, labelled
from .torch_shapes import element_type_of

Traced = Callable[[int, Sequence[Any], Mapping[str, Any]], Any]
"""Makes a call of an entry, of arguments by position and by keyword, by its op."""


def recording(op: Any, traced: Traced) -> Callable[..., list[Any]]:
    """What makes PyTorch record an op.

    ``register_autograd`` makes such a function, too, which refuses the transforms of ``torch.func``. These call it once
    for each level, so that it records as without them.

    Args:
        op: the op.
        traced: makes a call of an entry by its op.
    """

    def below(keys: Any, tensors: Sequence[Any], text: str) -> Any:
        with torch._C._AutoDispatchBelowAutograd():
            return op.redispatch(keys & torch._C._after_autograd_keyset, tensors, text)

    class Recorded(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, keys: Any, text: str, *tensors: Any) -> tuple[Any, ...]:
            with torch.set_grad_enabled(torch._C._are_functorch_transforms_active()):  # for the levels below
                found = (*below(keys, tensors, text),)
            ctx.save_for_backward(*tensors)
            ctx.text = text
            ctx.set_materialize_grads(False)
            ctx.mark_non_differentiable(*(r for r in found if not has_gradient(element_type_of(r))))
            return found

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> tuple[Any, ...]:
            needed = ctx.needs_input_grad
            if all(g is None for g in gradients):
                return (None,) * len(needed)
            return None, None, *_gradient(CALLS[ctx.text], gradients, ctx.saved_tensors, needed[2:], traced)

    record = super(torch.autograd.Function, Recorded).apply

    def autograd(keys: Any, tensors: Sequence[Any], call: str) -> list[Any]:
        forward = torch.autograd.forward_ad
        if forward._current_level >= 0 and any(forward.unpack_dual(x).tangent is not None for x in tensors):
            remedy = "use torch.func.vjp or torch.func.jacrev"
            raise error("WF165", reason="carries a tangent, as in forward mode", remedy=remedy)
        if torch.is_grad_enabled() and any(x.requires_grad for x in tensors):
            with enable_single_level_autograd_function():
                return [*record(keys, call, *tensors)]
        found: list[Any] = below(keys, tensors, call)
        return found

    return autograd


def _gradient(
    call: Call, gradients: Sequence[Any], tensors: Sequence[Any], needed: Sequence[bool], traced: Traced
) -> list[Any]:
    """The gradient of each tensor of a call from those of its results; None where none is needed."""
    own = call.symbolic(tensors)
    places = tuple(p for p, n in zip(call.places, needed, strict=True) if n)
    program = gradient_program(own.function, len(own.xs), len(gradients), places)
    if own.label:
        labelled(program, f"the gradient of {own.label} for {places}")
    found = traced(entry_of(program), (*gradients, *own.xs), {**own.how, **call.determinism})
    rest = iter(found if isinstance(found, tuple) else (found,))
    return [next(rest) if n else None for n in needed]
