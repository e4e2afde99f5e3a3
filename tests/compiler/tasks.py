"""Programs of every kind, and random tasks for the planner."""

# ruff: noqa: N802 - monoids are values, though functions make them

from __future__ import annotations

from contextlib import suppress
from functools import cache
from inspect import signature
from math import prod
from typing import Any

from hypothesis import strategies as st
from layouts import Layout, strides_of

from warpfold.compiler.dtypes import ALL, F64, DType, accumulator
from warpfold.compiler.dtypes import dtype as as_dtype
from warpfold.compiler.errors import WarpfoldError
from warpfold.compiler.planner.task import FILLING_WARPS, Task
from warpfold.compiler.program.fold import fold
from warpfold.compiler.program.graph import Program
from warpfold.compiler.program.library import reductions
from warpfold.compiler.program.monoid import monoid
from warpfold.compiler.program.tracing import program
from warpfold.compiler.program.values import cast
from warpfold.compiler.space.geometry import collapse
from warpfold.compiler.target import DEFAULT, TARGETS, Target

WIDE = 40
MANY = 2 * FILLING_WARPS * DEFAULT.sms
"""Results that fill the machine with a warp each."""


@monoid(identity=(1, 0), commutative=False)
def AFFINE(a: Any, b: Any) -> Any:
    """The composition of maps x -> s x + t, whose order matters."""
    (s, t), (u, v) = a, b
    return s * u, t * u + v


@monoid(identity=lambda *state: (0,) * len(state))
def SUMS(a: Any, b: Any) -> Any:
    """Many sums at once: a state of any width."""
    return tuple(x + y for x, y in zip(a, b, strict=True)) if isinstance(a, tuple) else a + b


def affine(x: Any) -> Any:
    wide = cast(x, accumulator(x.dtype))
    return fold(AFFINE, wide, cast(1, wide.dtype))


def powers(x: Any) -> Any:
    """A state of 40 doubles; eight warps of one result a lane cannot hold it in shared memory."""
    found, power = [], cast(x, F64)
    for _ in range(WIDE):
        found.append(power)
        power = power * power
    return fold(SUMS, *found)


def dot(x: Any, y: Any) -> Any:
    return fold(SUMS, cast(x, F64) * cast(y, F64))


def takes_one_array(function: Any) -> bool:
    return sum(p.kind == p.POSITIONAL_OR_KEYWORD for p in signature(function).parameters.values()) == 1


FUNCTIONS = {n: f for n, f in reductions.FUNCTIONS.items() if takes_one_array(f)} | {"affine": affine, "powers": powers}


@cache
def served(t: DType) -> list[str]:
    """The functions that reduce elements of type ``t``."""
    found = []
    for name in sorted(FUNCTIONS):
        with suppress(WarpfoldError):
            traced(name, t)
            found.append(name)
    return found


@cache
def traced(name: str, *inputs: DType) -> Program:
    return program(dot if len(inputs) == 2 else FUNCTIONS[name], inputs, name)


def task_of(traced_program: Program, layout: Layout, addresses: tuple[int, ...], target: Target, sms: int) -> Task:
    """The planner's task for arrays of this layout."""
    graph: Any = traced_program.reduces[0].value
    inputs = layout.inputs[: len(traced_program.inputs)]
    outputs = (layout.outputs * len(traced_program.outputs))[: len(traced_program.outputs)]
    geometry = collapse(
        layout.shape, layout.axes, inputs, outputs, ordered=not graph.commutative, indexed=traced_program.uses_index
    )
    operands = len(inputs) + len(outputs)
    types = (*traced_program.inputs, *(o.dtype for o in traced_program.outputs))
    starts = tuple(addresses[i % len(addresses)] * types[i].itemsize for i in range(operands))
    return Task(traced_program, geometry, starts, target, sms)


def simple(
    what: str,
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    dtype: str = "f32",
    start: int = 0,
    arch: str = DEFAULT.arch,
) -> Task:
    """The task of reducing a contiguous array that begins ``start`` elements after a boundary."""
    kept = [n for a, n in enumerate(shape) if a not in axes]
    layout = Layout(
        shape, axes, (strides_of(shape, range(len(shape)), [1] * len(shape)),),
        (strides_of(kept, range(len(kept)), [1] * len(kept)),),
    )  # fmt: skip
    target = TARGETS[arch]
    return task_of(traced(what, as_dtype(dtype)), layout, (start, 0), target, target.sms)


def sliced(what: str, shape: tuple[int, int], t: str = "f32") -> Task:
    """Columns of an array that has up to four more, so no row begins where the one before ends."""
    layout = Layout(shape, (0,), ((shape[1] + 4 - shape[1] % 4, 1),), ((1,),))
    return task_of(traced(what, as_dtype(t)), layout, (0, 0), DEFAULT, DEFAULT.sms)


BOUNDARIES = [0, 1, 1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 33, 64, 127, 128, 129, 255, 256, 257, 1023, 1024, 1025, 4096, 4099]
BEYOND = [65537, 2**20, 2**20 + 1, 2**24 + 3, 2**31 - 1, 2**31, 2**31 + 7, 2**32 + 1]


@st.composite
def tasks(draw: st.DrawFn, sizes: tuple[int, ...] = tuple(BOUNDARIES), most: int = 40_000) -> Task:
    shape: list[int] = []
    for size in draw(st.lists(st.sampled_from(sizes), min_size=0, max_size=4)):
        shape.append(size if prod(shape) * size <= most else min(size, 3))
    dims = range(len(shape))
    axes = tuple(a for a in dims if draw(st.booleans()))
    factor = st.sampled_from([1, 1, 1, 1, 1, 1, -1, 0, 2])

    def operand(of: list[int], plain: st.SearchStrategy[int]) -> tuple[int, ...]:
        order = draw(st.one_of(st.just(list(range(len(of)))), st.permutations(range(len(of)))))
        dense = draw(st.booleans())
        return strides_of(of, order, [1 if dense else draw(plain) for _ in of])

    kept = [shape[a] for a in dims if a not in axes]
    inputs = (operand(shape, factor), operand(shape, factor))
    outputs = (operand(kept, factor.filter(bool)),)
    layout = Layout(tuple(shape), axes, inputs, outputs)
    t = draw(st.sampled_from(ALL))
    if draw(st.integers(0, 7)):
        found = traced(draw(st.sampled_from(served(t))), t)
    else:
        found = traced("dot", t, draw(st.sampled_from(ALL)))
    addresses = tuple(draw(st.lists(st.sampled_from([0, 0, 0, 1, 2, 3, 4, 8, 13]), min_size=3, max_size=3)))
    target = draw(st.sampled_from(list(TARGETS.values())))
    return task_of(found, layout, addresses, target, draw(st.sampled_from([1, 2, 16, target.sms, 192])))
