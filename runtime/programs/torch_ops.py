"""Custom ops of PyTorch: what its tracers record for a call of a program, a reduction or an elementwise function.

An op takes the tensors of a call, and a text that says the rest (``torch_calls.py``). It has a function for shapes
(``torch_shapes.py``), a gradient, which is an op again (``torch_gradients.py``), and a rule for ``torch.func.vmap``
(``torch_batches.py``). Eager calls do not go through ops, which would cost them several microseconds. ``torch.compile``
inlines ``traced``, which therefore keeps to what its tracer understands.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.library import Library, register_fake, register_vmap

from .autocast import is_cast
from .torch_batches import batching
from .torch_calls import CALLS, TENSOR, described, nested, structure_of
from .torch_gradients import recording
from .torch_graphs import ENTRIES
from .torch_shapes import shapes

OPS = Library("warpfold", "FRAGMENT")
_made: set[str] = set()


def traced(entry: int, xs: Sequence[Any], how: Mapping[str, Any]) -> Any:
    """The results of a call, by its op."""
    if casts(entry):
        entry, how = _autocast(entry, xs, how)
    if has_seeds(entry):
        xs, how = _with_seeds(seeds(entry), xs, how)
    values = [*xs, *how.values()]
    tensors = [x for x in values if isinstance(x, torch.Tensor)]
    if not tensors or any([x.is_complex() for x in tensors]) or how.get("out") is not None:  # noqa: C419 - what the tracer inlines
        return untraced(entry, xs, how)
    rest = [TENSOR if isinstance(x, torch.Tensor) else constant(x) for x in values]
    text = described(entry, tuple(how), *rest)
    found = getattr(torch.ops.warpfold, op_of(text))(tensors, text)
    return nested(structure_of(text), found)


def _autocast(entry: int, xs: Sequence[Any], how: Mapping[str, Any]) -> tuple[int, Mapping[str, Any]]:
    """The entry and the arguments of a call, in f32 where autocast computes it so."""
    halves = [
        x for x in (*xs, *how.values()) if isinstance(x, torch.Tensor) and x.dtype in (torch.float16, torch.bfloat16)
    ]
    if not halves or not torch.is_autocast_enabled(halves[0].device.type):
        return entry, how
    wide = in_f32(entry, halves[0].device.type)
    if wide == entry and how.get("dtype") is None and takes_type(entry, halves[0].device.type):
        return entry, {**how, "dtype": "f32"}
    return wide, how


def _with_seeds(
    places: tuple[tuple[int, str], ...], xs: Sequence[Any], how: Mapping[str, Any]
) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """The arguments with seeds as tensors."""
    for i, name in places:
        if i < len(xs):
            xs = (*xs[:i], _seed(xs[i]), *xs[i + 1 :])
        elif name in how:
            how = {**how, name: _seed(how[name])}
    return xs, how


def _seed(x: Any) -> Any:
    if isinstance(x, int):
        return torch.full((), x, dtype=torch.int64)
    return x if x is None or isinstance(x, torch.Tensor) else torch.as_tensor(x)


def constant(x: Any) -> Any:
    """A parameter as a constant, where the tracer has a symbol for it."""
    if isinstance(x, bool):
        return x
    if isinstance(x, int):
        return operator.index(x)
    if isinstance(x, (tuple, list)):
        return tuple([constant(v) for v in x])
    return x


def untraced(entry: int, xs: Sequence[Any], how: Mapping[str, Any]) -> Any:
    """A call that has no op, at which the graph breaks."""
    return ENTRIES[entry].run(*xs, **how)


untraced._torchdynamo_disable = True  # type: ignore[attr-defined]
untraced._torchdynamo_disable_msg = "warpfold has no op for complex tensors and for out="  # type: ignore[attr-defined]


# --- what tracers take as constants ---------------------------------------------------------------------------------
def op_of(text: str) -> str:
    """The name of the op of a call, which is made when it is first needed."""
    name = CALLS[text].entry.name
    name = name if name.isidentifier() else "program"
    if name not in _made:
        _made.add(name)
        _make(name)
    return name


def casts(entry: int) -> str:
    """The name by which autocast knows a function."""
    return ENTRIES[entry].casts


def in_f32(entry: int, kind: str) -> int:
    """The entry that autocast uses on a kind of device in place of another one."""
    own = ENTRIES[entry]
    return own.in_f32() if own.in_f32 is not None and is_cast(own.casts, kind) else entry


def takes_type(entry: int, kind: str) -> bool:
    """Whether autocast gives a type to a function on a kind of device, which reductions take."""
    own = ENTRIES[entry]
    return own.in_f32 is None and is_cast(own.casts, kind)


def has_seeds(entry: int) -> bool:
    """Whether a function takes seeds."""
    return bool(ENTRIES[entry].seeds)


def seeds(entry: int) -> tuple[tuple[int, str], ...]:
    """The position and the name of each seed."""
    return ENTRIES[entry].seeds


_constants: tuple[Any, ...] = (described, op_of, structure_of, casts, in_f32, takes_type, has_seeds, seeds)
for _function in _constants:
    _function._dynamo_marked_constant = True


def _make(name: str) -> None:
    """Defines the op of a name."""
    full = f"warpfold::{name}"
    OPS.define(f"{name}(Tensor[] tensors, str call) -> Tensor[]")
    OPS.impl(name, lambda tensors, call: CALLS[call].run(tensors), "CompositeExplicitAutograd")
    register_fake(full, lambda tensors, call: shapes(CALLS[call], tensors), lib=OPS)
    OPS.impl(name, recording(getattr(torch.ops.warpfold, name).default, traced), "Autograd", with_keyset=True)
    register_vmap(full, batching(traced), lib=OPS)
