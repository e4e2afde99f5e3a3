"""Calls of the library's programs, planned without arrays: as they are made in practice, and at random."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from math import prod
from typing import Any

import warpfold as wf
from warpfold.compiler.dtypes import DType, dtype
from warpfold.compiler.target import DEFAULT
from warpfold.runtime.programs.plans import PreparedProgram
from warpfold.runtime.view import ArraySpec, contiguous

Like = tuple[tuple[int, ...], str]
"""The shape and the element type of a contiguous, aligned array."""
ROWS: Like = ((4096, 1024), "f32")
ROW: Like = ((1024,), "f32")
IMAGES: Like = ((64, 256, 56, 56), "f32")
CHANNELS: Like = ((256,), "f32")
LOGITS: Like = ((4096, 32000), "f32")
TARGETS: Like = ((4096,), "i64")
Arguments = tuple[tuple[Any, ...], Mapping[str, Any]]
PRACTICE: dict[str, tuple[str, Arguments]] = {
    "softmax": ("softmax", ((ROWS,), {})),
    "softmin": ("softmin", ((ROWS,), {})),
    "log_softmax": ("log_softmax", ((ROWS,), {})),
    "layer_norm": ("layer_norm", ((ROWS, ROW, ROW), {})),
    "rms_norm": ("rms_norm", ((ROWS, ROW), {})),
    "add_layer_norm": ("add_layer_norm", ((ROWS, ROWS, ROW, ROW), {})),
    "add_rms_norm": ("add_rms_norm", ((ROWS, ROWS, ROW), {})),
    "batch_norm": ("batch_norm", ((IMAGES,), {"weight": CHANNELS, "bias": CHANNELS, "training": True})),
    "group_norm": ("group_norm", ((IMAGES, 32, CHANNELS, CHANNELS), {})),
    "instance_norm": ("instance_norm", ((IMAGES,), {})),
    "normalize": ("normalize", ((ROWS,), {})),
    "standardize": ("standardize", ((ROWS,), {})),
    "cross_entropy": ("cross_entropy", ((LOGITS, TARGETS), {})),
    "nll_loss": ("nll_loss", ((LOGITS, TARGETS), {})),
    "quantize": ("quantize", ((ROWS, "f8e4m3fn"), {})),
    "softmax of columns": ("softmax", ((((8192, 8192), "f32"),), {"axis": 0})),
    "softmax of long rows": ("softmax", ((((64, 1 << 20), "f32"),), {})),
    "softmax in shared memory": ("softmax", ((((4096, 16384), "f32"),), {})),
}
"""Calls by name: the program, and its arguments."""


def planned(name: str, arguments: Arguments) -> PreparedProgram:
    """The steps of a call of the library's program ``name``, and their plans."""
    xs, how = arguments
    return getattr(wf, name)._planned(xs, how, DEFAULT.arch).prepared  # type: ignore[no-any-return]


# --- at random ---
MOST_ELEMENTS, LARGEST = 2**31, 10**6
"""The most elements of an array, and its greatest size along an axis."""
LARGE = 2**22
"""The elements of a large array: reading it takes longer than a launch."""


def shapes(rng: random.Random, least: int = 0) -> Iterator[tuple[int, ...]]:
    """Shapes of 1 to 4 axes whose sizes have random logarithms, of at ``least`` so many elements."""
    while True:
        shape = tuple(int(LARGEST ** rng.random()) for _ in range(rng.randint(1, 4)))
        if least <= prod(shape) <= MOST_ELEMENTS:
            yield shape


def array(rng: random.Random, shape: tuple[int, ...], t: DType) -> ArraySpec:
    """A contiguous array, or a slice of one along an axis."""
    if rng.random() < 0.5:
        return ArraySpec(shape, contiguous(shape), 0, t)
    axis, more = rng.randrange(len(shape)), rng.randint(1, 9)
    whole = (*shape[:axis], shape[axis] + more, *shape[axis + 1 :])
    start = rng.randint(0, more) * prod(whole[axis + 1 :])
    return ArraySpec(shape, contiguous(whole), start * t.itemsize % 16, t)


def _softmax(rng: random.Random, shape: tuple[int, ...], t: DType) -> Arguments:
    return (array(rng, shape, t),), {}


def _softmax_along_any(rng: random.Random, shape: tuple[int, ...], t: DType) -> Arguments:
    return (array(rng, shape, t),), {"axis": rng.randrange(len(shape))}


def _layer_norm(rng: random.Random, shape: tuple[int, ...], t: DType) -> Arguments:
    w = ArraySpec(shape[-1:], (1,), 0, t)
    return (array(rng, shape, t), w, w), {}


def _batch_norm(rng: random.Random, shape: tuple[int, ...], t: DType) -> Arguments:
    shape = shape if len(shape) > 1 else (*shape, 8)
    shape = shape if prod(shape) > shape[1] else (2, *shape[1:])  # one element has no variance
    return (array(rng, shape, t),), {"training": True}


def _cross_entropy(rng: random.Random, shape: tuple[int, ...], t: DType) -> Arguments:
    shape = shape if len(shape) > 1 else (*shape, 8)
    targets = (shape[0], *shape[2:])
    return (array(rng, shape, t), ArraySpec(targets, contiguous(targets), 0, dtype("i64"))), {}


RANDOM: dict[str, tuple[str, Callable[[random.Random, tuple[int, ...], DType], Arguments]]] = {
    "softmax": ("softmax", _softmax),
    "softmax along any axis": ("softmax", _softmax_along_any),
    "layer_norm": ("layer_norm", _layer_norm),
    "batch_norm": ("batch_norm", _batch_norm),
    "cross_entropy": ("cross_entropy", _cross_entropy),
}
"""Random calls by name: the program, and what makes its arguments."""


def kernels(name: str, t: str, calls: int, least: int = 0, plan: str = "") -> set[str]:
    """The keys of the kernels that random calls with ``plan`` ask for, of arrays of at ``least`` so many elements."""
    rng, (program, arguments) = random.Random(0), RANDOM[name]
    of_shapes = shapes(rng, least)
    random_calls = (arguments(rng, next(of_shapes), dtype(t)) for _ in range(calls))
    made = (planned(program, (xs, {**how, "plan": plan})) for xs, how in random_calls)
    return {step.prepared.key for own in made for step in own.steps}


def main() -> None:
    """Prints how many kernels 1,000 random calls of each program ask for, and 1,000 with large arrays.

    Two more columns are those of calls with ``plan="few"``.
    """
    for name in RANDOM:
        for t in ("f32", "bf16"):
            counts = [len(kernels(name, t, 1000, least, plan)) for plan in ("", "few") for least in (0, LARGE)]
            print(f"{name:24} {t:5}", *(f"{n:5}" for n in counts))


if __name__ == "__main__":
    main()
