"""Traces: one serves all arrays whose sizes agree as those did that it was traced for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold.compiler.dtypes import F32
from warpfold.compiler.program.arrays.trace import ArrayArg
from warpfold.runtime.programs import traces as traces_of
from warpfold.runtime.programs.arguments import arguments_of
from warpfold.runtime.programs.traces import Traces, names_of


def _traces(function: Any, *shapes: tuple[tuple[int, ...], ...]) -> list[Any]:
    """The traces for calls with arrays of these shapes."""
    traces = Traces(function)
    arguments, _ = arguments_of(function, [_Array()] * len(shapes[0]), {})
    return [traces.get(arguments, [ArrayArg(F32, s) for s in call]) for call in shapes]


class _Array:
    shape = (1,)


def _added(x: Any, y: Any) -> Any:
    return x + y


def test_sizes_do_not_matter() -> None:
    a, b, c = _traces(_added, ((3, 4), (4,)), ((5, 6), (6,)), ((2, 2), (2,)))
    assert a is b is c


def test_axes_of_size_0_and_1_do() -> None:
    a, b, c, d = _traces(_added, ((3, 4), (3, 4)), ((3, 4), (3, 1)), ((7, 8), (7, 1)), ((0, 8), (0, 1)))
    assert a is not b
    assert b is c
    assert c is not d


def test_a_function_that_looks_at_a_size_has_a_trace_for_each() -> None:
    def looked(x: Any) -> Any:
        return x * 2.0 if x.shape[1] > 3 else x

    a, b, c = _traces(looked, ((3, 4),), ((5, 4),), ((3, 2),))
    assert a is b
    assert a.digest != c.digest


def test_more_elements_than_32_bits_number_have_another_trace() -> None:
    a, b, c, d = _traces(lambda x: wf.argmax(x), ((1 << 10,),), ((1 << 20,),), ((1 << 32,),), ((1 << 9,),))
    assert a is b is d
    assert a.digest != c.digest
    large, small = _traces(lambda x: wf.argmax(x), ((1 << 32,),), ((1 << 10,),))
    assert (large.digest, small.digest) == (c.digest, a.digest)


def test_sizes_that_must_agree_are_compared() -> None:
    traces = Traces(_added)
    arguments, _ = arguments_of(_added, [_Array()] * 2, {})
    traces.get(arguments, [ArrayArg(F32, (3, 4)), ArrayArg(F32, (3, 4))])
    with pytest.raises(wf.WarpfoldError, match="WF254"):
        traces.get(arguments, [ArrayArg(F32, (3, 4)), ArrayArg(F32, (3, 5))])


def test_arrays_have_the_names_of_parameters() -> None:
    def function(x: Any, *more: Any, w: Any, axis: int = 0) -> Any:
        return x + w + sum(more) * axis

    arguments, arrays = arguments_of(function, [_Array(), _Array()], {"w": _Array(), "axis": 1})
    assert names_of(function, arguments, len(arrays)) == ("x", "array_1", "w")


def test_parameters_are_as_at_the_moment_of_the_call() -> None:
    """What functions read of objects and functions that are parameters may change between calls."""

    class Options:
        factor, factors = 2.0, (1.0,)

    def scale(v: Any) -> Any:
        return v * options.factor

    options, x = Options(), np.ones(3, np.float32)
    taken = wf.program(lambda x, *, options: x * options.factor * options.factors[0])
    applied = wf.program(lambda x, *, f: f(x))
    for factor in (2.0, 3.0, 2.0):
        options.factor = factor
        np.testing.assert_array_equal(taken(x, options=options), x * factor)
        np.testing.assert_array_equal(applied(x, f=scale), x * factor)


def test_traces_of_values_that_do_not_come_again_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of a function that reads a great array, which is traced in each call; NaN is one value."""
    monkeypatch.setattr(traces_of, "KINDS", 4)
    many = np.zeros(1 << 15)
    for read, kept in ((lambda x: x * many[0], 4), (lambda x, *, k=0.0: x * k, 1)):
        traces = Traces(read)
        for _ in range(9):
            arguments, _ = arguments_of(read, [_Array()], {"k": float("nan")} if kept == 1 else {})
            traces.get(arguments, [ArrayArg(F32, (3, 4))])
        assert len(traces._found) == kept
