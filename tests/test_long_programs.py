"""Long programs: compile time is proportional to their operations, however often each value is used."""

from __future__ import annotations

import copy
import pickle
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np
import pytest
from covering import some

import warpfold as wf
from warpfold.compiler.dtypes import F32
from warpfold.compiler.program.library import reductions
from warpfold.compiler.program.tracing import program

LINES, ADDITIONS = 200, 3000
BOUND = 20.0
"""Seconds of processor time; each of these takes one or two. A walk that asks for an operand twice does not end."""


@contextmanager
def bounded() -> Iterator[None]:
    """Fails if its block takes more than BOUND, and interrupts a block that does not end."""

    def stop(_: int, __: FrameType | None) -> None:
        pytest.fail(f"more than {BOUND} s: some walk is not linear")

    start, before = time.process_time(), signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, BOUND)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    assert time.process_time() - start < BOUND


def compiles(function: Callable[..., Any], dtype: str) -> None:
    with bounded():
        assert ".entry" in wf.compile(function, (1024, 256), dtype, axis=1).ptx


def where_of_both(x: Any) -> Any:
    return wf.where(x > 0, x * x, x + x)


def clamped(x: Any) -> Any:
    """The bounds of a clamped float are known."""
    return wf.maximum(wf.minimum(x, x), wf.minimum(x, x * x))


def turned_over(x: Any) -> Any:
    """Bits of a rank, all of which are tried."""
    return x ^ (x & 1)


def masked(x: Any) -> Any:
    return wf.where(x > 3, x, 0)


def added(x: Any) -> Any:
    return x + 1


def repeated(line: Callable[[Any], Any], times: int, x: Any) -> Any:
    for _ in range(times):
        x = line(x)
    return x


@pytest.mark.parametrize(
    ("line", "after", "dtype"),
    some([
        (where_of_both, reductions.sum, "f32"), (where_of_both, reductions.sum, "int8"),
        (clamped, reductions.logsumexp, "f32"),
        (turned_over, reductions.argmax, "int8"), (masked, reductions.sum, "int8"), (masked, reductions.max, "i16"),
    ], 3),
)  # fmt: skip
def test_values_used_twice_on_each_line_before_a_fold(line: Any, after: Any, dtype: str) -> None:
    def long(x: Any) -> Any:
        return after(repeated(line, LINES, x))

    compiles(long, dtype)


def test_a_mask_used_twice_on_each_line() -> None:
    def long(x: Any) -> Any:
        return reductions.sum(wf.where(repeated(lambda m: m & m, LINES, x > 3), x, 0))

    compiles(long, "int8")


def test_a_mask_used_twice_on_each_line_as_bits() -> None:
    packed = wf.program(lambda x: wf.pack(repeated(lambda m: m & (m | (x > 5)), LINES, x > 3)))
    with bounded():
        assert packed.compile(((1024, 256), "f32")).ptx


def test_values_used_twice_on_each_line_after_a_fold() -> None:
    compiles(lambda x: repeated(where_of_both, LINES, reductions.sum(x)), "f32")


COMBINED: dict[str, Callable[[Any], Any]] = {
    "added": lambda s: s + s, "multiplied": lambda s: s * s, "picked": lambda s: wf.where(s > 0, s, s),
}  # fmt: skip


@pytest.mark.parametrize("line", COMBINED)
@pytest.mark.filterwarnings("ignore::warpfold.WarpfoldWarning")
def test_values_used_twice_on_each_line_of_a_combine(line: str) -> None:
    """The combine looks like an anchored monoid's, whose formulas are analysed."""

    @wf.monoid(identity=(0, 0))
    def long(a: Any, b: Any) -> Any:
        anchor = wf.maximum(a[0], b[0])
        left, right = (repeated(COMBINED[line], LINES, s) * (m - anchor) for m, s in (a, b))
        return anchor, left + right

    compiles(lambda x: wf.fold(long, x, x)[1], "f32")


@pytest.mark.parametrize("place", ["before", "after", "in the combine"])
@pytest.mark.filterwarnings("ignore::warpfold.WarpfoldWarning")
def test_thousands_of_additions_in_a_row(place: str) -> None:
    @wf.monoid(identity=0)
    def long(a: Any, b: Any) -> Any:
        return repeated(added, ADDITIONS // 4, a + b)

    compiles({
        "before": lambda x: reductions.sum(repeated(added, ADDITIONS, x)),
        "after": lambda x: repeated(added, ADDITIONS, reductions.sum(x)),
        "in the combine": lambda x: wf.fold(long, x),
    }[place], "f32")  # fmt: skip


@pytest.mark.parametrize("fold", [reductions.logsumexp, reductions.var, reductions.max])
def test_fifty_folds_at_once(fold: Callable[[Any], Any]) -> None:
    compiles(lambda x: tuple(fold(x * float(k)) for k in range(50)), "f32")


def test_long_programs_run() -> None:
    """NumPy computes the same in f64; the sums of these integers are exact."""
    x = np.arange(-4, 4, dtype=np.int64).reshape(2, 4)
    expected = x
    for _ in range(40):
        expected = np.where(expected > 5, expected - 3, expected + 2)

    def long(x: Any) -> Any:
        return reductions.sum(repeated(lambda v: wf.where(v > 5, v - 3, v + 2), 40, x))

    assert wf.reduce(x, long, axis=1).tolist() == expected.sum(axis=1).tolist()


@pytest.mark.parametrize(("line", "times"), [(where_of_both, LINES), (added, 5000)])
def test_graphs_are_hashed_shown_copied_and_pickled(line: Any, times: int) -> None:
    with bounded():
        found = program(lambda x: reductions.sum(repeated(line, times, x)), [F32])
        again = pickle.loads(pickle.dumps(found))
        assert again == found == copy.deepcopy(found)
        assert hash(again) == hash(found)
        assert again.digest == found.digest
        assert again.monoid == found.monoid
        assert len(repr(found)) < 1000
