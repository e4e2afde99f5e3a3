"""Custom ops of PyTorch: what its tracers record for a call of a program, a reduction or an elementwise function.

An op takes the tensors of a call, and a text that says the rest. It has a function for shapes, a gradient, which is an
op again, and a rule for ``torch.func.vmap``. Eager calls do not go through ops, which would cost them several
microseconds. ``torch.compile`` inlines ``traced``, which therefore keeps to what its tracer understands.
"""

from __future__ import annotations

import operator
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from torch._functorch.autograd_function import enable_single_level_autograd_function
from torch.library import Library, register_fake, register_vmap

from ...compiler.dtypes import DType
from ...compiler.dtypes import dtype as element_type
from ...compiler.errors import error
from ...compiler.program.arrays.batching import batched
from ...compiler.program.arrays.trace import ArrayArg
from ...compiler.program.arrays.types import has_gradient
from ...compiler.program.tracing import tuple_type
from ..view import ArraySpec, dense
from . import run
from .arguments import arguments_of
from .autocast import is_cast
from .function import ArrayFunction
from .saved import gradient_program
from .torch_graphs import ENTRIES, Entry, Symbolic, entry_of, labelled
from .traces import Traces

TENSOR = "a tensor"
"""In place of a tensor among the arguments in a call's text."""
OPS = Library("warpfold", "FRAGMENT")
TUPLES: dict[str, Any] = {}
"""Types of results that are tuples with names."""
_PROCESS = uuid.uuid4().hex[:12]
"""Tells what only this process knows: PyTorch keeps compiled graphs on the disk."""
_made: set[str] = set()
_calls: dict[str, Any] = {}
_objects: dict[int, tuple[int, Any]] = {}


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


def nested(structure: Any, found: Sequence[Any]) -> Any:
    """Results as the function nests them."""
    if isinstance(structure, int):
        return found[structure]
    members = [nested(s, found) for s in structure[1]]
    return TUPLES[structure[0]](*members) if structure[0] else tuple(members)


def untraced(entry: int, xs: Sequence[Any], how: Mapping[str, Any]) -> Any:
    """A call that has no op, at which the graph breaks."""
    return ENTRIES[entry].run(*xs, **how)


untraced._torchdynamo_disable = True  # type: ignore[attr-defined]
untraced._torchdynamo_disable_msg = "warpfold has no op for complex tensors and for out="  # type: ignore[attr-defined]


def described(entry: int, names: Sequence[str], *values: Any) -> str:
    """The text of a call: arguments by position, then by keyword, with TENSOR in place of tensors."""
    position = len(values) - len(names)
    own = [_text(v) for v in values[:position]] + [
        f"{name}={_text(v)}" for name, v in zip(names, values[position:], strict=True)
    ]
    text = f"{_label(entry)}({', '.join(own)})"
    if text not in _calls:
        how = dict(zip(names, values[position:], strict=True))
        _calls[text] = Call(text, ENTRIES[entry], tuple(values[:position]), how)
        _make(_op_name(ENTRIES[entry].name))
    return text


def op_of(text: str) -> str:
    """The name of the op of a call."""
    return _op_name(_calls[text].entry.name)


def structure_of(text: str) -> Any:
    """How the results of a call nest, known once it was traced: a number each, or the name of a type and members."""
    return _calls[text].structure


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


def _label(entry: int) -> str:
    return ENTRIES[entry].label or f"{ENTRIES[entry].name}#{entry}@{_PROCESS}"


def _text(value: Any) -> str:
    """The text of a parameter; of an object that only this process knows, a number."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_text, value))})"
    if value is None or isinstance(value, bool | int | float | str | torch.dtype | DType):
        return repr(value) if not isinstance(value, DType) else value.name
    number, _ = _objects.setdefault(id(value), (len(_objects), value))
    return f"{type(value).__name__}#{number}@{_PROCESS}"


def _op_name(name: str) -> str:
    return name if name.isidentifier() else "program"


@dataclass
class Call:
    """A call without its tensors.

    Attributes:
        text: names it in graphs.
        entry: the function.
        xs, how: the arguments, with TENSOR in place of tensors.
        structure: see ``structure_of``.
    """

    text: str
    entry: Entry
    xs: tuple[Any, ...]
    how: dict[str, Any]
    structure: Any = 0

    def with_tensors(self, tensors: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments, with tensors in the places of TENSOR."""
        rest = iter(tensors)
        xs = [next(rest) if x is TENSOR else x for x in self.xs]
        return xs, {name: next(rest) if x is TENSOR else x for name, x in self.how.items()}

    def symbolic(self, tensors: Sequence[Any]) -> Symbolic:
        """The call as one of a function of symbolic arrays."""
        return self.entry.symbolic(*self.with_tensors(tensors))

    @property
    def places(self) -> list[int | str]:
        """Where tensors stand among the arguments: positions, and keywords."""
        slots: dict[int | str, Any] = dict(enumerate(self.xs))
        slots.update(self.how)
        return [place for place, x in slots.items() if x is TENSOR]

    def run(self, tensors: Sequence[Any]) -> list[Any]:
        """The results, of real tensors."""
        xs, how = self.with_tensors(tensors)
        leaves: list[Any] = []
        self.structure = _of_results(self.entry.run(*xs, **how), leaves)
        return [r.contiguous() for r in leaves] if self.symbolic(tensors).row_major else leaves

    def shapes(self, tensors: Sequence[Any]) -> list[Any]:
        """Tensors without elements like the results."""
        call = self.symbolic(tensors)
        arguments, arrays = arguments_of(call.function, call.xs, call.how)
        hints = [tuple(map(_hint, x.shape)) for x in arrays]
        types = [_type(x) for x in arrays]
        program = _traces(call.function).get(arguments, list(map(ArrayArg, types, hints)))
        self.structure = _of_program(program.structure)
        whole = not (program.slices or program.bits or program.splits)
        shapes = [tuple(x.shape) if whole else tuple(map(operator.index, x.shape)) for x in arrays]
        sizes = _sizes(program, shapes) if whole else program.sizes_of(shapes)
        inputs = [
            ArraySpec(h, tuple(map(_hint, x.stride())), 0, t) for h, x, t in zip(hints, arrays, types, strict=True)
        ]
        kinds = run.result_kinds(program, inputs)
        like = next((x for x in tensors if x.device.type == "cuda"), tensors[0])
        found = []
        for (_, order), o in zip(kinds[: len(kinds) - len(program.checks)], program.outputs, strict=False):
            shape = o.shape(sizes)
            strides = dense(shape, tuple(range(len(shape))) if call.row_major else order)
            kind = getattr(torch, run.stored(o, like).numpy_name)
            found.append(torch.empty_strided(shape, strides, dtype=kind, device=like.device))
        return found

    def gradient(self, gradients: Sequence[Any], tensors: Sequence[Any], needed: Sequence[bool]) -> list[Any]:
        """The gradient of each tensor from those of the results, by an op; None where none is needed."""
        call = self.symbolic(tensors)
        own = self.places
        places = tuple(p for p, n in zip(own, needed, strict=True) if n)
        program = gradient_program(call.function, len(call.xs), len(gradients), places)
        if call.label:
            labelled(program, f"the gradient of {call.label} for {places}")
        how = {k: v for k, v in self.how.items() if k == "determinism"}
        found = traced(entry_of(program), (*gradients, *call.xs), {**call.how, **how})
        rest = iter(found if isinstance(found, tuple) else (found,))
        return [next(rest) if n else None for n in needed]


@lru_cache(maxsize=1024)
def _of_batches(function: Callable[..., Any], text: str) -> ArrayFunction[..., Any]:
    """The program of a function of arrays with one more leading axis."""
    made: ArrayFunction[..., Any] = ArrayFunction(batched(function))
    if text:
        labelled(made, f"batches of {text}")
    return made


def _make(name: str) -> None:
    """Defines the op of a name, once."""
    if name in _made:
        return
    _made.add(name)
    full = f"warpfold::{name}"
    OPS.define(f"{name}(Tensor[] tensors, str call) -> Tensor[]")
    OPS.impl(name, lambda tensors, call: _calls[call].run(tensors), "CompositeExplicitAutograd")
    register_fake(full, lambda tensors, call: _calls[call].shapes(tensors), lib=OPS)
    OPS.impl(name, _recording(getattr(torch.ops.warpfold, name).default), "Autograd", with_keyset=True)
    register_vmap(full, _batched, lib=OPS)


def _recording(op: Any) -> Callable[..., list[Any]]:
    """What makes PyTorch record an op.

    ``register_autograd`` makes such a function, too, which refuses the transforms of ``torch.func``. These call it once
    for each level, so that it records as without them.
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
            ctx.mark_non_differentiable(*(r for r in found if not has_gradient(_type(r))))
            return found

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> tuple[Any, ...]:
            needed = ctx.needs_input_grad
            if all(g is None for g in gradients):
                return (None,) * len(needed)
            return None, None, *_calls[ctx.text].gradient(gradients, ctx.saved_tensors, needed[2:])

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


def _batched(info: Any, in_dims: Any, tensors: Sequence[Any], text: str) -> tuple[list[Any], list[int]]:
    """The results of a call whose tensors have one more axis: a program that sees all but the first one."""
    along, _ = in_dims
    rows = [
        x.unsqueeze(0).expand(info.batch_size, *x.shape) if d is None else x.movedim(d, 0)
        for x, d in zip(tensors, along, strict=True)
    ]
    call = _calls[text]
    own = call.symbolic(rows)
    program = _of_batches(own.function, own.label)
    how = {k: v for k, v in call.how.items() if k == "determinism"}
    found = traced(entry_of(program), own.xs, {**own.how, **how})
    leaves: list[Any] = []
    call.structure = _of_results(found, leaves)
    return leaves, [0] * len(leaves)


def _of_results(results: Any, leaves: list[Any]) -> Any:
    """How results nest; adds them to ``leaves``."""
    if not isinstance(results, tuple):
        leaves.append(results)
        return len(leaves) - 1
    fields = getattr(results, "_fields", ())
    return _tuple(type(results).__name__, fields, tuple(_of_results(r, leaves) for r in results))


def _of_program(structure: Any) -> Any:
    """How the results of a program nest."""
    if isinstance(structure, int):
        return structure
    name, fields, members = structure
    return _tuple(name, tuple(fields), tuple(map(_of_program, members)))


def _tuple(name: str, fields: tuple[str, ...], members: tuple[Any, ...]) -> Any:
    if not fields:
        return "", members
    key = f"{name}({', '.join(fields)})"
    TUPLES.setdefault(key, tuple_type(name, fields))
    return key, members


def _sizes(program: Any, shapes: Sequence[Sequence[Any]]) -> list[Any]:
    """The size of each dim, maybe a symbol; the comparisons become guards of the tracer."""
    sizes = []
    for pairs in program.dims:
        first, *rest = [shapes[array][axis] for array, axis in pairs]
        if not all(bool(n == first) for n in rest):
            raise AssertionError("sizes that were equal when the function was traced differ")
        sizes.append(first)
    for array, axis, n in program.sizes:
        bool(shapes[array][axis] == n)
    return sizes


def _hint(n: Any) -> int:
    """A size, or one that a symbol may stand for."""
    return n if isinstance(n, int) else int(n.node.hint)


def _type(x: Any) -> DType:
    return element_type(str(x.dtype).removeprefix("torch."))


@lru_cache(maxsize=1024)
def _traces(function: Callable[..., Any]) -> Traces:
    """The traces of a function, for shapes."""
    return Traces(function)
