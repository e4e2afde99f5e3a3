"""One call of a program of the library: runs it, and compares with the reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import warpfold as wf
from warpfold.compiler.dtypes import dtype
from warpfold.compiler.errors import PlanError

from .layouts import Layout, aligned
from .program_reference import LOSSES, REFERENCE, Call, Result, compare

Array = np.ndarray[Any, Any]
REFUSED = ("WF403", "WF404", "WF405", "WF424", "WF425", "WF426", "WF427", "WF428", "WF429")
"""Codes of plans that some arrays refuse: those run without the plan."""


@dataclass(frozen=True)
class ProgramCase:
    """One call.

    Attributes:
        function: the public name of the program.
        arrays: the layout of each array, by name; ``x`` is the first.
        params: the other arguments, by name.
        elements, seed: what ``x`` holds.
        how: options of the call, such as ``plan``.
        out: None, ``contiguous`` or ``strided`` for arrays given as ``out=``, ``in place`` for the input itself.
    """

    function: str
    arrays: tuple[tuple[str, Layout], ...]
    params: tuple[tuple[str, Any], ...] = ()
    elements: str = "whole"
    seed: int = 0
    how: tuple[tuple[str, str], ...] = ()
    out: str | None = None

    @property
    def key(self) -> Any:
        """What makes it another case than others: all but the elements."""
        arrays = [(name, a.dtype, a.shape, a.strides, a.offset) for name, a in self.arrays]
        return self.function, tuple(arrays), self.params, self.how, self.out


def check(case: ProgramCase, device: str) -> None:
    """Runs ``case`` and compares values, types and shapes, and that results in ``out=`` have the same bits."""
    given = inputs(case)
    call = _exact(case, given)
    with np.errstate(all="ignore"):
        wanted = REFERENCE[case.function](call)
    got = run(case, given, device)
    assert len(got) == len(wanted), f"{len(got)} results\n{describe(case)}"
    for i, (g, w) in enumerate(zip(got, wanted, strict=True)):
        wrong = compare(np.asarray(g), w)
        assert not wrong, f"result {i}: {wrong}\n{describe(case)}"
    rooms: list[tuple[Array, Array]] = []
    if case.out == "in place":
        rooms = [(given["x"], given["x"]), *(_room("contiguous", w) for w in wanted[1:])]
    elif case.out:
        rooms = [_room(case.out, w) for w in wanted]
    if rooms:
        _agree(case, wanted, got, run(case, given, device, tuple(out for out, _ in rooms)))
        assert all(_is_untouched(*room) for room in rooms[case.out == "in place" :]), f"written beside {describe(case)}"


def _agree(case: ProgramCase, wanted: list[Result], got: list[Any], again: list[Any]) -> None:
    """Results in given arrays are right; portable ones have the bits of those in new arrays, but for NaN."""
    for i, (g, a, w) in enumerate(zip(got, again, wanted, strict=True)):
        wrong = compare(np.asarray(a), w)
        assert not wrong, f"result {i} in out=: {wrong}\n{describe(case)}"
        if dict(case.how).get("determinism") == "portable":
            same = (np.asarray(g) == a) | np.isnan(np.asarray(g, np.float64))
            assert same.all(), f"result {i} in out= has other bits\n{describe(case)}"


def _exact(case: ProgramCase, given: dict[str, Array]) -> Call:
    """The arrays as the reference takes them: all but ``x`` in the type of computation first."""
    types = {name: dtype(a.dtype) for name, a in given.items()}
    call = Call({"x": given["x"].astype(np.longdouble)}, types, dict(case.params))
    for name, a in given.items():
        if name != "x":
            call.arrays[name] = (a.astype(call.wide.numpy) if types[name].is_float else a).astype(np.longdouble)
    return call


def inputs(case: ProgramCase) -> dict[str, Array]:
    """The arrays. Masks leave few elements out, variances are positive, and targets are classes or ignored."""
    found = {}
    for i, (name, layout) in enumerate(case.arrays):
        kind = case.elements if name == "x" else "whole" if layout.dtype == "bool" else "spread"
        a = layout.array("whole" if name == "target" else kind, case.seed + i)
        if name == "where":
            a = layout.array("ties", case.seed + i)
        if name == "running_var" or (name == "weight" and case.function in LOSSES):
            a = abs(a) + a.dtype.type(0.5)
        found[name] = a
    return found


def run(case: ProgramCase, given: dict[str, Array], device: str, out: tuple[Array, ...] | None = None) -> list[Any]:
    """The results of one call, as a list."""
    into = {} if out is None else {"out": out[0] if len(out) == 1 else out}
    function, how = getattr(wf, case.function), dict(case.how)
    try:
        got = function(**given, **dict(case.params), **how, device=device, **into)
    except PlanError as refused:
        assert refused.code in REFUSED, f"{refused}\n{describe(case)}"  # noqa: PT017 - then without the plan
        how.pop("plan")
        got = function(**given, **dict(case.params), **how, device=device, **into)
    found = list(got) if isinstance(got, tuple) else [got]
    assert out is None or all(f is o for f, o in zip(found, out, strict=True)), "out= is not what comes back"
    return found


def describe(case: ProgramCase) -> str:
    """How to see it again."""
    again = f"from math import inf; from differential.program_case import *; check({case!r}, 'emulator')"
    return f"to run it again, with tests/ in PYTHONPATH: {again}"


def _room(kind: str, wanted: Result) -> tuple[Array, Array]:
    """An array for a result, and the memory of ones around it: dense, or with gaps, reversed dims and backwards."""
    t, shape = wanted.dtype.numpy, np.shape(wanted.value)
    gap = 2 if kind == "strided" else 1
    memory = aligned(int(np.prod([gap * n for n in shape], initial=1)) + gap, t)
    memory.view(np.uint8)[...] = 1
    whole = memory[gap - 1 : memory.size - 1]
    if kind == "contiguous":
        return whole.reshape(shape), memory
    spread = whole.reshape([2 * n for n in reversed(shape)]).transpose()
    return spread[(*(slice(None, None, -2) for _ in shape), ...)], memory


def _is_untouched(out: Array, memory: Array) -> bool:
    """Whether nothing but the array was written; sets it back to find out."""
    out.view(np.uint8 if out.itemsize == 1 else f"u{out.itemsize}")[...] = int.from_bytes(bytes([1] * out.itemsize))
    return bool((memory.view(np.uint8) == 1).all())
