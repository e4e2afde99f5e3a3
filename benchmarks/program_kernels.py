"""The kernels of the library's programs and of their gradients, over many layouts: what ``compile_time.py`` compiles.

Rows have from 8 to 4 M elements, are many or few, and lie in arrays of their own or in wider ones; others go along
columns and middle axes, and images have their channels before or behind the places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import warpfold as wf
from warpfold.compiler.dtypes import DType, dtype
from warpfold.compiler.target import DEFAULT
from warpfold.runtime.prepare import Prepared
from warpfold.runtime.view import ArraySpec, contiguous

LENGTHS = (8, 96, 1003, 1024, 4096, 8192, 16385, 50257, 131072, 262143)
ROWS = (
    *((1000, n) for n in LENGTHS),
    *((3, n) for n in LENGTHS if n > 1024),
    *((64, 2**20 + 1), (4, 2**20), (3, 2**22 + 3)),
)
ACROSS = (((64, 1000, 1000), 1), ((8192, 8192), 0), ((1000, 1003), 0), ((16, 96, 56), 1))
"""Shapes, and the axis that is folded."""
IMAGES = ((16, 30, 33, 31), (64, 256, 56, 56), (2, 10, 999, 1001))
TYPES = ("f32", "bf16")
LOSSES = ("cross_entropy", "nll_loss")
Make = Callable[[Sequence[int], DType], ArraySpec]


class Call(NamedTuple):
    """A call of a program.

    Attributes:
        title: what it is called in the list.
        program: the name of the program.
        how: its arrays and options by name.
        results: how many results have a gradient.
    """

    title: str
    program: str
    how: Mapping[str, Any]
    results: int = 1


# --- arrays -------------------------------------------------------------------------------------------------------
def whole(shape: Sequence[int], t: DType) -> ArraySpec:
    """A contiguous, aligned array."""
    return ArraySpec(tuple(shape), contiguous(tuple(shape)), 0, t)


def sliced(shape: Sequence[int], t: DType) -> ArraySpec:
    """All but the first and the last element of each row of a wider array."""
    return ArraySpec(tuple(shape), contiguous((*shape[:-1], shape[-1] + 2)), t.itemsize, t)


def channels_last(shape: Sequence[int], t: DType) -> ArraySpec:
    """An array of shape NCHW whose channels lie innermost."""
    _, c, h, w = shape
    return ArraySpec(tuple(shape), (c * h * w, 1, w * c, c), 0, t)


LAYOUTS: dict[str, Make] = {"": whole, ", a slice": sliced}
IMAGE_LAYOUTS: dict[str, Make] = LAYOUTS | {", channels last": channels_last}


# --- calls --------------------------------------------------------------------------------------------------------
def calls() -> Iterator[Call]:
    """All calls."""
    for t in map(dtype, TYPES):
        for layout, make in LAYOUTS.items():
            for shape, axis in (*((shape, 1) for shape in ROWS), *ACROSS):
                title = f"{t.name} {'x'.join(map(str, shape))}{'' if axis == len(shape) - 1 else f' along {axis}'}"
                yield from _named(_rows(make(shape, t), axis), title + layout)
        for layout, make in IMAGE_LAYOUTS.items():
            for shape in IMAGES:
                yield from _named(_images(make(shape, t)), f"{t.name} {'x'.join(map(str, shape))}{layout}")


def _named(own: Iterator[Call], layout: str) -> Iterator[Call]:
    return (call._replace(title=f"{call.title} {layout}") for call in own)


def _rows(x: ArraySpec, axis: int) -> Iterator[Call]:
    """Calls of the programs that fold rows along an axis."""
    across, w = {"x": x, "axis": axis}, whole((x.shape[axis],), x.dtype)
    for name in ("softmax", "softmin", "log_softmax", "logsumexp", "normalize", "standardize"):
        yield Call(name, name, across)
    yield Call("quantize", "quantize", across, 0)
    if axis == len(x.shape) - 1:
        yield Call("layer_norm", "layer_norm", {"x": x, "weight": w, "bias": w})
        yield Call("rms_norm", "rms_norm", {"x": x, "weight": w})
        yield Call("add_layer_norm", "add_layer_norm", {"x": x, "residual": x, "weight": w, "bias": w}, 2)
        yield Call("add_rms_norm", "add_rms_norm", {"x": x, "residual": x, "weight": w}, 2)
    if axis == 1:
        target = whole((x.shape[0], *x.shape[2:]), dtype("i64"))
        for name in LOSSES:
            yield Call(name, name, {"x": x, "target": target})


def _images(x: ArraySpec) -> Iterator[Call]:
    """Calls of the norms of channels."""
    w = whole((x.shape[1],), x.dtype)
    arrays = {"x": x, "weight": w, "bias": w}
    yield Call("batch_norm", "batch_norm", arrays | {"training": True}, 3)
    yield Call("batch_norm, ReLU", "batch_norm", arrays | {"training": True, "activation": "relu"}, 3)
    yield Call("group_norm", "group_norm", arrays | {"num_groups": 2})
    yield Call("instance_norm", "instance_norm", arrays)


# --- kernels ------------------------------------------------------------------------------------------------------
def kernels() -> Iterator[tuple[str, Prepared]]:
    """Each kernel once, named by the first call that has it and its number there."""
    seen: set[str] = set()
    for call in calls():
        for title, planned in (("", forward), ("gradient of ", gradient)):
            for i, step in enumerate(planned(call)):
                if step.prepared.key not in seen:
                    seen.add(step.prepared.key)
                    yield f"{title}{call.title} [{i}]", step.prepared


def forward(call: Call) -> Sequence[Any]:
    """The steps of a call; none of a reduction, which is no program."""
    program = getattr(wf, call.program)
    return program._planned((), call.how, DEFAULT.arch).prepared.steps if hasattr(program, "_planned") else ()


def gradient(call: Call) -> Sequence[Any]:
    """The steps of its gradient; of a batch norm that of the normalised elements alone."""
    if not call.results:
        return ()
    program, x = getattr(wf, call.program), call.how["x"]
    if call.program in LOSSES:
        return wf.value_and_grad(program)._planned((), call.how, DEFAULT.arch).prepared.steps
    kept = [n for i, n in enumerate(x.shape) if call.program != "logsumexp" or i != call.how["axis"]]
    g = whole(kept, x.dtype)
    given = (g, *(None if call.program == "batch_norm" else g for _ in range(call.results - 1)))
    return wf.vjp(program, results=call.results)._planned(given, call.how, DEFAULT.arch).prepared.steps
