"""Programs: results by position and name, several folds as one, and functions that are not programs."""

from __future__ import annotations

import pickle
from collections import namedtuple
from typing import Any

import numpy as np
import pytest
from graph_numpy import call, combine, identity
from hypothesis import given, settings
from hypothesis import strategies as st
from tasks import AFFINE, SUMS

from warpfold.compiler.dtypes import BOOL, C64, C128, F8E4M3FN, F32, F64, I32, I64, U8
from warpfold.compiler.errors import TraceError
from warpfold.compiler.program.fold import count, fold, index
from warpfold.compiler.program.graph import MonoidGraph
from warpfold.compiler.program.library import monoids, reductions
from warpfold.compiler.program.tracing import leaf_names, nest, program, trace


def graph_of(function: Any, *types: Any) -> MonoidGraph:
    """The monoid of a program that has one fold."""
    (reduce,) = program(function, types).reduces
    assert isinstance(reduce.value, MonoidGraph)
    return reduce.value


# --- several folds ---
@settings(max_examples=50)
@given(st.lists(st.integers(-9, 9), min_size=1, max_size=40))
def test_several_folds_are_one_with_the_results_of_each(xs: list[int]) -> None:
    def several(x: Any) -> Any:
        s, t = fold(AFFINE, x, x + 1)
        return fold(monoids.SUM, x), s, t, fold(monoids.MAX, x) - fold(monoids.MIN, x), count(F64)

    x = np.array(xs, np.int64)
    with np.errstate(all="ignore"):
        total, s, t, spread, n = call(several, x)
    assert len(program(several, (I64,)).reduces) == 1
    assert (total, spread, n) == (x.sum(), np.ptp(x), len(xs))
    assert (s, t) == call(lambda x: fold(AFFINE, x, x + 1), x)


def test_the_product_of_monoids_has_the_laws_that_all_keep() -> None:
    both = graph_of(lambda x: (fold(monoids.SUM, x), fold(AFFINE, x, x)), F32)
    assert (both.name, both.commutative, both.has_identity) == ("SUM+AFFINE", False, True)
    assert both.state == (F32, F32, F32)
    assert both.identity == (0.0, 1.0, 0.0)
    assert [float(v) for v in combine(both, (1, 2, 3), (10, 20, 30))] == [11, 40, 90]
    assert [float(v) for v in combine(both, identity(both), (10, 20, 30))] == [10, 20, 30]
    assert not graph_of(lambda x: (fold(monoids.SUM, x), fold(monoids.MAX, x)), F32).has_identity
    assert graph_of(lambda x: (fold(monoids.SUM, x), fold(monoids.MAX, x, initial=0)), F32).has_identity


def test_equal_folds_are_folded_once() -> None:
    graph = graph_of(lambda x: (fold(monoids.SUM, x), fold(monoids.SUM, x) / count(F32), fold(SUMS, x)), F32)
    assert graph.state == (F32,)
    assert graph_of(lambda x: (fold(monoids.SUM, x), fold(monoids.SUM, x * x)), F32).state == (F32, F32)


def test_a_masked_count_adds_one_fold() -> None:
    masked = trace(reductions.mean, (F32, BOOL), {}, masked=True).program
    assert [t.name for t in masked.reduces[0].value.state] == ["f32", "i64"]  # type: ignore[attr-defined]
    assert len(masked.reduces) == 1


def test_a_fold_of_a_folds_result_is_refused_where_the_function_is() -> None:
    def centred(x: Any) -> Any:
        mean = fold(monoids.SUM, x) / count(F32)
        return fold(monoids.MAX, abs(x - mean))

    with pytest.raises(
        TraceError, match="WF213: centred folds values with MAX that depend on the result of the fold with SUM"
    ) as e:
        program(centred, (F32,))
    assert e.value.location is not None
    assert (e.value.location.file, e.value.location.line) == (__file__, centred.__code__.co_firstlineno)


# --- results ---
Pair = namedtuple("Pair", ["low", "high"])


@pytest.mark.parametrize(
    ("made", "structure", "leaves"),
    [
        (lambda s: s, 0, [""]),
        (lambda s: (s,), ("f", (), (0,)), ["0"]),
        (lambda s: [s, s], ("f", (), (0, 1)), ["0", "1"]),
        (lambda s: {"a": s, "b": s}, ("f", ("a", "b"), (0, 1)), ["a", "b"]),
        (lambda s: Pair(s, s), ("Pair", ("low", "high"), (0, 1)), ["low", "high"]),
        (lambda s: (s, {"a": s, "b": (s, s)}), ("f", (), (0, ("f", ("a", "b"), (1, ("b", (), (2, 3)))))),
         ["0", "1.a", "1.b.0", "1.b.1"]),
    ],
)  # fmt: skip
def test_results_nest_as_the_function_returns_them(made: Any, structure: Any, leaves: list[str]) -> None:
    found = trace(lambda x: made(fold(monoids.SUM, x)), (F32,), {}, name="f")
    assert found.structure == structure
    assert leaf_names(found.structure) == leaves
    assert found.results == (F32,) * len(leaves)


def test_named_results_are_named_tuples() -> None:
    found = call(lambda x: {"count": fold(monoids.SUM, x), "index": {"class_": fold(monoids.MAX, x)}}, np.array([1, 2]))
    assert (found.count, found.index.class_) == (3, 2)
    assert found == (3, (2,))
    assert type(found).__name__ == "results", "a lambda has no name that a type could have"
    assert type(call(reductions.minmax, np.array([1]))).__name__ == "minmax"
    assert nest(("minmax", ("min", "max"), (1, 0)), "ab")._asdict() == {"min": "b", "max": "a"}
    assert type(nest(("p", ("a",), (0,)), "x")) is type(nest(("p", ("a",), (0,)), "y")), "one type for one name"


@pytest.mark.parametrize("key", ["1a", "a-b", "", "_a", "class", "None", 1, ("a",), None])
def test_an_invalid_field_name_is_refused(key: Any) -> None:
    def named(x: Any) -> Any:
        return {"fine": fold(monoids.SUM, x), key: fold(monoids.MAX, x)}

    with pytest.raises(TraceError, match=r"WF224: named names a result .*: expected an identifier") as caught:
        program(named, (F32,))
    assert repr(key) in caught.value.message
    assert caught.value.location is not None


@pytest.mark.parametrize(
    ("made", "position"),
    [(lambda x: {"a": fold(monoids.SUM, x), "b": x}, 1), (lambda x: (fold(monoids.SUM, x), index()), 1),
     (lambda x: (fold(monoids.SUM, x), "text"), 1), (lambda _: {}, 0), (lambda x: x, 0)],
)  # fmt: skip
def test_a_result_that_was_never_reduced_is_refused(made: Any, position: int) -> None:
    with pytest.raises(TraceError, match=f"WF212: result {position} of <lambda> was never reduced"):
        program(made, (C64,))


# --- arrays and results in parts ---
def test_complex_and_8_bit_arrays_are_read_in_parts() -> None:
    found = trace(lambda z, b: (fold(monoids.SUM, z), fold(monoids.MAX, b)), (C128, F8E4M3FN), {})
    assert found.program.inputs == (F64, F64, U8)
    assert [o.dtype for o in found.program.outputs] == [F64, F64, F32]
    assert found.results == (C128, F32)
    assert len(found.program.reduces) == 1


def test_a_mask_is_the_last_array_and_not_an_argument() -> None:
    seen: list[int] = []

    def counting(*xs: Any) -> Any:
        seen.append(len(xs))
        return fold(monoids.SUM, xs[0])

    found = trace(counting, (I32, F32, BOOL), {}, masked=True)
    assert seen == [2]
    assert found.program.inputs == (I32, F32, BOOL)


def test_a_trace_can_be_kept_and_compared() -> None:
    """It is cached, and sent to worker processes."""
    made = [trace(reductions.describe, (F32,), {}) for _ in range(2)]
    assert made[0] == made[1]
    assert pickle.loads(pickle.dumps(made[0])).program.digest == made[0].program.digest
