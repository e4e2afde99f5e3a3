"""One case: a built-in reduction, its arrays and arguments. Runs it, and compares with the reference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold.compiler.dtypes import dtype

from .layouts import Layout, aligned
from .reference import REFERENCE, Expected, Rows, compare, ignoring_nan, rows

WITHOUT_IDENTITY = {
    "min", "max", "minmax", "ptp", "argmin", "argmax", "describe", "nanmin", "nanmax", "nanargmin", "nanargmax",
}  # fmt: skip
"""Functions that have no value of nothing (norm with an infinite order is another)."""


@dataclass(frozen=True)
class Case:
    """One call.

    Attributes:
        function: its public name.
        arrays: the inputs, which broadcast to one shape.
        axis: ``axis=``; "default" leaves it out.
        elements, seed: what the arrays hold.
        arguments: further arguments, by name.
        mask: the array of ``where=``, if there is one.
        out: None, or ``contiguous`` or ``strided`` for arrays given as ``out=``.
    """

    function: str
    arrays: tuple[Layout, ...]
    axis: Any = None
    elements: str = "whole"
    seed: int = 0
    arguments: tuple[tuple[str, Any], ...] = ()
    mask: Layout | None = None
    out: str | None = None

    @property
    def key(self) -> Any:
        """What makes it another case than others: all but the elements."""
        arrays = [(a.dtype, a.shape, a.strides, a.offset) for a in (*self.arrays, *([self.mask] if self.mask else []))]
        return self.function, tuple(arrays), self.axis, self.arguments, self.out

    @property
    def shape(self) -> tuple[int, ...]:
        """What the inputs broadcast to."""
        return np.broadcast_shapes(*(a.shape for a in self.arrays))

    @property
    def axes(self) -> tuple[int, ...]:
        """The reduced axes, in order."""
        axis, rank = self.axis, len(self.shape)
        if axis == "default":
            axis = -1 if self.function == "vecdot" else None
        given = range(rank) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        return tuple(sorted(a % rank for a in given)) if rank else ()

    @property
    def result_shape(self) -> tuple[int, ...]:
        keep = dict(self.arguments).get("keepdims", False)
        return tuple(1 if a in self.axes else n for a, n in enumerate(self.shape) if keep or a not in self.axes)


@dataclass
class Room:
    """An array for a result, and the memory in which it lies: bytes of 1."""

    out: np.ndarray[Any, Any]
    memory: np.ndarray[Any, Any]

    def gaps_are_untouched(self) -> bool:
        """Whether nothing but the array was written; sets it back to find out."""
        self.out[...] = np.frombuffer(bytes([1] * self.out.itemsize), self.out.dtype)[0]
        return bool((self.memory.view(np.uint8) == 1).all())


def check(case: Case, device: str) -> None:
    """Runs ``case`` and compares values, types and shapes, and that a second call gives the same bits."""
    xs = inputs(case)
    mask = case.mask.array("whole", case.seed + 9) if case.mask else None
    arguments = dict(case.arguments)
    broadcast = np.broadcast_arrays(*xs)
    with np.errstate(all="ignore"):
        code, wanted = _wanted(case, rows(broadcast, mask, case.axes), arguments)
    if code:
        with pytest.raises(wf.WarpfoldError, match=code):
            call(case, xs, mask, device, None)
        return
    rooms = [_room(case, w) for w in wanted] if case.out else []
    got = [np.asarray(g) for g in call(case, xs, mask, device, [r.out for r in rooms] or None)]
    again = [np.asarray(g) for g in call(case, xs, mask, device, None)]
    assert len(got) == len(wanted), f"{len(got)} results\n{describe(case, xs)}"
    for i, (g, a, w) in enumerate(zip(got, again, wanted, strict=True)):
        wrong = "" if g.shape == case.result_shape else f"shape {g.shape}, not {case.result_shape}"
        with np.errstate(all="ignore"):
            wrong = wrong or compare(g.reshape(-1), w)
        wrong = wrong or ("" if g.tobytes() == a.tobytes() else "a second call gives other bits")
        assert not wrong, f"result {i}: {wrong}\n{describe(case, xs)}"
    assert all(room.gaps_are_untouched() for room in rooms), f"written beside out\n{describe(case, xs)}"


def inputs(case: Case) -> list[np.ndarray[Any, Any]]:
    """The input arrays; what is compared for equality is equal, but for one element where the seed is odd."""
    xs = [a.array(case.elements, case.seed + i) for i, a in enumerate(case.arrays)]
    if case.function in ("array_equal", "allclose") and xs[0].shape == xs[1].shape and xs[1].flags.writeable:
        y = xs[1]
        y[...] = xs[0]
        if case.seed % 2 and y.size:
            place = tuple(case.seed // 2 % n for n in y.shape)
            y[place] = not y[place] if y.dtype == bool else y[place] + np.ones((), y.dtype)
    return xs


def call(case: Case, xs: list[Any], mask: Any, device: str, out: list[Any] | None) -> list[Any]:
    """The results of one call, as a list."""
    arguments = dict(case.arguments)
    if case.axis != "default":
        arguments["axis"] = case.axis
    if mask is not None:
        arguments["where"] = mask
    if out is not None:
        arguments["out"] = out[0] if len(out) == 1 else tuple(out)
    got = getattr(wf, case.function)(*xs, device=device, **arguments)
    found = list(got) if isinstance(got, tuple) else [got]
    assert out is None or all(f is o for f, o in zip(found, out, strict=True)), "out= is not what comes back"
    return found


def describe(case: Case, xs: list[Any]) -> str:
    """How to see it again."""
    arrays = ", ".join(f"{x.dtype} {x.shape} strides {x.strides}" for x in xs)
    again = f"from math import inf, nan; from differential.case import *; check({case!r}, 'emulator')"
    return f"arrays: {arrays}; axis {case.axis}\nto run it again, with tests/ in PYTHONPATH: {again}"


def _wanted(case: Case, r: Rows, arguments: dict[str, Any]) -> tuple[str, list[Expected]]:
    """The code of the error that must come, or the results."""
    f, nan = case.function, arguments.get("nan", "propagate")
    bare = f in WITHOUT_IDENTITY or (f == "norm" and math.isinf(arguments.get("ord", 2)))
    bare = bare and arguments.get("initial") is None
    if bare and case.mask:
        return "WF133", []
    if bare and r.mask.shape[1] == 0 and r.mask.shape[0]:
        return "WF104", []
    if nan == "raise" and r.mask.sum() > ignoring_nan(r).mask.sum():
        return "WF135", []
    r = ignoring_nan(r) if nan == "ignore" else r
    left = ignoring_nan(r).n if f.startswith("nan") else r.n
    needs_one = f.removeprefix("nan") in ("argmin", "argmax", "describe") and r.t.is_float
    if needs_one and (nan == "ignore" or f.startswith("nan")) and (left == 0).any():
        return "WF134", []
    return "", REFERENCE[f](r, arguments) if r.mask.size or not bare else _nothing(case)


def _nothing(case: Case) -> list[Expected]:
    """The results of an array with none."""
    one = np.ones((1, 1), dtype(case.arrays[0].dtype).numpy)
    shaped = REFERENCE[case.function](rows([one] * len(case.arrays), None, (1,)), dict(case.arguments))
    return [Expected(w.value[:0], 0, w.dtype) for w in shaped]


def _room(case: Case, wanted: Expected) -> Room:
    """Room for a result: dense, or every second element of memory whose dims are reversed and run backwards."""
    t = (dtype("f32") if wanted.dtype.name.startswith("f8") else wanted.dtype).numpy
    shape = case.result_shape
    gap = 2 if case.out == "strided" else 1
    memory = aligned(math.prod(gap * n for n in shape) + gap, t)
    memory.view(np.uint8)[...] = 1
    whole = memory[gap - 1 : memory.size - 1]
    if case.out == "contiguous":
        return Room(whole.reshape(shape), memory)
    spread = whole.reshape([2 * n for n in reversed(shape)]).transpose()
    return Room(spread[(*(slice(None, None, -2) for _ in shape), ...)], memory)
