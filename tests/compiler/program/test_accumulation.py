"""The types in which users' folds accumulate: wide for arithmetic, the chosen type, or the elements' own."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold.compiler.dtypes import ALL, I64, accumulator

RNG = np.random.default_rng(7)
NARROW = [t for t in ALL if accumulator(t) != t and t.name != "bool"]


def elements(t: Any, n: int = 1000) -> np.ndarray[Any, Any]:
    """Numbers whose squares and sums exceed the type."""
    low = 0 if t.kind == "uint" else -100
    return RNG.integers(low, 101, n).astype(t.numpy)


def run(*xs: Any, **how: Any) -> Any:
    return wf.reduce(*xs, device="emulator", **how)


@wf.monoid(
    identity=(0.0, 0.0),
    lift=lambda x, *, scale=1.0: (x * scale, x * x),
    finish=lambda total, squares: {"total": total, "rms": wf.sqrt(squares / wf.count("f32"))},
)
def signal(a: Any, b: Any) -> Any:
    return a[0] + b[0], a[1] + b[1]


@wf.monoid(identity=0)
def add(a: Any, b: Any) -> Any:
    return a + b


@wf.monoid(identity=0, lift=lambda x: x * x - x)
def lifted(a: Any, b: Any) -> Any:
    return a + b


@wf.monoid(identity=1, lift=lambda x: wf.where(x > 98, x, 1))
def multiplied(a: Any, b: Any) -> Any:
    return a * b


@pytest.mark.parametrize("t", [*NARROW, I64], ids=str)
def test_a_lift_multiplies_in_the_type_of_the_accumulator(t: Any) -> None:
    x = elements(t)
    exact = [int(v) for v in x.astype(np.int64)]
    got = run(x, signal)
    assert float(got.rms) == pytest.approx((sum(v * v for v in exact) / len(exact)) ** 0.5, rel=1e-5)
    assert float(got.total) == pytest.approx(sum(exact))
    assert float(run(np.full(1000, 100).astype(t.numpy), signal).rms) == 100
    for m, wanted in ((add, sum(exact)), (lifted, sum(v * v - v for v in exact))):
        found = run(x, m)
        assert float(found) == wanted
        assert found.dtype == accumulator(t).numpy
    few = x[:20]
    wanted = np.prod([int(v) if v > 98 else 1 for v in few.astype(np.int64)], dtype=object)
    assert float(run(few, multiplied)) == float(wanted)


@pytest.mark.parametrize("t", [t for t in ALL if t.name != "bool"], ids=str)
def test_a_combine_that_only_selects_keeps_the_elements_type(t: Any) -> None:
    x = elements(t)
    larger = wf.monoid(identity=lambda t: t.lowest, idempotent=True)(lambda a, b: wf.maximum(a, b))
    ends = wf.monoid(identity=lambda t, u: (t.lowest, u.highest))(lambda a, b: (
        wf.maximum(a[0], b[0]), wf.minimum(a[1], b[1])
    ))  # fmt: skip
    for got in (run(x, larger), run(x, x, ends)[0], run(x, lambda x: wf.fold(larger, x))):
        assert got == x.max()
        assert got.dtype == t.numpy
    both = wf.monoid(identity=0, idempotent=True)(lambda a, b: a | b)
    if not t.is_float:
        assert run(x, both) == np.bitwise_or.reduce(x)
        assert run(x, both).dtype == t.numpy


def test_a_chosen_type_stays() -> None:
    x = np.full(1000, 100, np.uint8)
    narrow = wf.monoid(identity=0, lift=lambda x: wf.cast(x, "int32") * 2)(lambda a, b: a + b)
    bytes_ = wf.monoid(identity=0, lift=lambda x: wf.cast(x, "uint8"))(lambda a, b: a + b)
    assert (run(x, narrow), run(x, narrow).dtype) == (200_000, np.int32)
    assert run(x.astype(np.int32), narrow).dtype == np.int32
    assert (run(x, bytes_), run(x, bytes_).dtype) == (x.sum(dtype=np.uint8), np.uint8)
    modular = wf.monoid(identity=0)(lambda a, b: wf.cast((wf.cast(a, "u32") + wf.cast(b, "u32")) % 251, "uint8"))
    assert (run(x, modular), run(x, modular).dtype) == (100_000 % 251, np.uint8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chosen = run(x, lambda x: wf.fold(wf.SUM, wf.cast(x, "i32") * wf.cast(x, "i32")))
        same = run(x.astype(np.int32), lambda x: wf.fold(wf.SUM, wf.cast(x, "i32")))
    assert chosen.dtype == same.dtype == np.int32


def test_constants_of_the_elements_type_are_widened_with_them() -> None:
    lift = lambda x: (x, wf.cast(1, x.dtype))  # noqa: E731
    horner = wf.monoid(identity=(0, 1), commutative=False, lift=lift)(
        lambda a, b: (a[0] * b[1] + b[0], a[1] * b[1] + b[1] - b[1])
    )
    x = np.full(1000, 100, np.uint8)
    assert [(r, r.dtype) for r in run(x, horner)] == [(100_000, np.uint64), (1, np.uint64)]
    again = run(x, lambda x: wf.fold(horner, x, wf.cast(1, x.dtype))[0])
    assert (again, again.dtype) == (100_000, np.uint64)


def test_truth_values_are_counted() -> None:
    x = np.arange(1000, dtype=np.uint8)
    counting = wf.monoid(identity=0, lift=lambda x: x > 200)(lambda a, b: a + b)
    wanted = np.count_nonzero(x > 200)
    assert run(x, counting) == run(x, lambda x: wf.fold(wf.SUM, x > 200)) == run(x > 200, add) == wanted
    either = wf.monoid(identity=False, idempotent=True)(lambda a, b: a | b)
    assert run(x > 200, either).dtype == np.bool_


def test_a_program_accumulates_like_a_sum() -> None:
    for t in NARROW:
        x = elements(t)
        got = run(x, lambda x: wf.fold(wf.SUM, x))
        assert float(got) == float(x.astype(np.float64).sum())
        assert got.dtype == accumulator(t).numpy


@pytest.mark.parametrize(("name", "compute"), [("*", operator.mul), ("+", operator.add), ("-", operator.sub)])
@pytest.mark.parametrize("t", [np.uint8, np.int16, np.int32])
def test_narrow_arithmetic_before_a_fold_warns_once(t: Any, name: str, compute: Callable[..., Any]) -> None:
    x = elements(wf.dtype(np.dtype(t)), 10)

    def program(x: Any, *, start: int = 0) -> Any:
        return wf.fold(add, compute(x, x)) + start

    wf_name, wide = wf.dtype(np.dtype(t)).name, accumulator(wf.dtype(np.dtype(t))).numpy_name
    with pytest.warns(wf.WarpfoldWarning) as seen:
        assert run(x, program, start=1) == run(x, program) + 1
    (text,) = [str(w.message) for w in seen]
    assert text.startswith(f"WF231: {name} of {wf_name} is computed in {wf_name}, where it ")
    assert "before it is folded with add" in text
    assert f"wf.cast(x, '{wide}')" in text
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(x, lambda x: wf.fold(wf.MAX, x * x))
        run(x, lambda x: wf.fold(wf.SUM, wf.cast(x, "f64") * x))


def test_arithmetic_of_a_program_has_numpys_types() -> None:
    x = np.full(1000, 100, np.uint8)
    with pytest.warns(wf.WarpfoldWarning, match="WF231"):
        assert run(x, lambda x: wf.fold(wf.SUM, x * x)) == (x * x).sum()


def test_a_lift_that_needs_the_elements_own_bits_gets_them() -> None:
    bits = wf.monoid(identity=0, lift=lambda x: wf.cast(wf.bitcast(x, "uint16"), "i64"))(lambda a, b: a + b)
    x = elements(wf.dtype("float16"))
    assert run(x, bits) == x.view(np.uint16).sum(dtype=np.int64)


def test_a_lift_may_use_a_number_that_only_the_wide_type_holds() -> None:
    above = wf.monoid(identity=0, lift=lambda x: x + 1000)(lambda a, b: a + b)
    assert run(np.full(10, 200, np.uint8), above) == 12_000
    modular = wf.monoid(identity=0)(lambda a, b: (a + b) % 1000)
    assert run(np.full(10, 200, np.uint8), modular) == 0


def test_laws_and_compiled_reductions_have_the_same_types() -> None:
    compiled = wf.compile(signal, (1000,), np.uint8)
    assert compiled(np.full(1000, 100, np.uint8)).rms == 100
    saturating = wf.monoid(identity=0)(lambda a, b: wf.minimum(a + b, 255))
    assert run(np.full(10, 100, np.uint8), saturating) == 255
    assert not wf.check_monoid(saturating, "uint8").refuted
    halved = wf.monoid(identity=0)(lambda a, b: (a + b) // 2)
    assert wf.check_monoid(halved, "uint8")["associativity"].verdict == "refuted"


@pytest.mark.parametrize(("identity", "combine", "t"), [
    (255, operator.and_, "uint8"), (65535, operator.and_, "uint16"), (-1, operator.and_, "int8"),
    (255, wf.minimum, "uint8"), (-128, wf.maximum, "int8"), (2**32 - 1, operator.and_, "uint32"),
])  # fmt: skip
def test_an_identity_of_the_elements_type_does_not_warn(identity: int, combine: Callable[..., Any], t: str) -> None:
    m = wf.monoid(identity=identity, idempotent=True)(lambda a, b: combine(a, b))
    x = elements(wf.dtype(t))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = run(x, m)
    assert got.dtype == x.dtype
    assert not wf.check_monoid(m, t).refuted


def test_a_wrong_identity_still_warns() -> None:
    m = wf.monoid(identity=127)(lambda a, b: a & b)
    with pytest.warns(wf.WarpfoldWarning, match="WF221"):
        run(elements(wf.dtype("uint8")), m)


@pytest.mark.parametrize(("option", "text"), [({"axis": -1}, "axis=-1"), ({"keepdims": True}, "keepdims")])
def test_elements_have_no_axes(option: dict[str, Any], text: str) -> None:
    with pytest.raises(wf.WarpfoldError, match=f"WF279: fold got {text} in a reduction: elements have no axes") as e:
        wf.reduce(np.ones((2, 3), np.float32), lambda x: wf.fold(wf.SUM, x, **option))
    assert e.value.location is not None
    assert e.value.location.file == __file__
