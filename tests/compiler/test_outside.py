"""What functions read from outside: whatever a trace bakes in makes another value when it changes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold.compiler.dtypes import F32
from warpfold.compiler.outside import outside

FACTOR: Any = 2.0


def by_global(x: Any) -> Any:
    return x * FACTOR


def by_helper(x: Any) -> Any:
    return by_global(x) + 1


def around(**held: Any) -> tuple[Callable[[Any], Any], Callable[..., None]]:
    """A function that reads ``held``, and one that changes it."""
    value: Any = held["value"]

    def reads(x: Any) -> Any:
        return x * value

    def change(new: Any) -> None:
        nonlocal value
        value = new

    return reads, change


class Scaled:
    def __init__(self, factor: Any) -> None:
        self.factor = factor

    def __call__(self, x: Any) -> Any:
        return wf.fold(wf.SUM, x * self.factor)

    def method(self, x: Any) -> Any:
        return self(x)


@pytest.mark.parametrize("new", [3.0, 2, True, -2.0, np.float32(2), "2.0", (2.0,), [2.0], {"by": 2.0}, by_global])
def test_another_value_is_another_trace(new: Any) -> None:
    reads, change = around(value=2.0)
    before = outside(reads)
    assert outside(reads) == before
    hash(before)
    change(new)
    assert outside(reads) != before


@pytest.mark.parametrize("what", [by_global, by_helper, (by_global, "sum"), functools.partial(by_helper),
                                  lambda x: (lambda y: by_global(y))(x)])  # fmt: skip
def test_globals_count_wherever_they_are_read(what: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    before = outside(what)
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    assert outside(what) != before


def test_attributes_and_entries_count() -> None:
    scaled, settings, weights = Scaled(2.0), SimpleNamespace(factor=2.0), [1.0, 2.0]

    def program(x: Any) -> Any:
        return x * settings.factor * weights[1]

    found = [outside(f) for f in (scaled, scaled.method, program)]
    scaled.factor = settings.factor = 3.0
    again = [outside(f) for f in (scaled, scaled.method, program)]
    assert all(a != b for a, b in zip(found, again, strict=True))
    weights[1] = 5.0
    assert outside(program) != again[2]


def test_what_holds_itself_ends() -> None:
    held: list[Any] = [1]
    held.append(held)
    reads, _ = around(value=held)
    assert outside(reads) == outside(reads)


def test_names_and_warpfolds_own_monoids_read_nothing() -> None:
    assert outside("sum") == ()
    assert outside(wf.SUM) == outside(wf.SUM)


def test_a_combine_is_traced_anew() -> None:
    reads, change = around(value=2.0)
    m = wf.monoid(identity=0.0)(lambda a, b: reads(a) + b)
    first = m.typed(F32)
    assert m.typed(F32) is first
    change(3.0)
    assert m.typed(F32).digest != first.digest
