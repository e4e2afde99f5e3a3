"""The law checker: correct monoids are never refuted, wrong ones are refuted by simple values, and results say why."""

from __future__ import annotations

import math
import re
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import warpfold as wf
from warpfold.compiler.dtypes import F32, I32, dtype
from warpfold.compiler.errors import ArgumentError, TraceError, WarpfoldWarning
from warpfold.compiler.laws.check import Law, refuted, warn_once
from warpfold.compiler.program.analysis.proofs import proof
from warpfold.compiler.program.functions import exp
from warpfold.compiler.program.library import monoids
from warpfold.compiler.program.monoid import Monoid

INF, NAN = math.inf, math.nan
FLOATS = ("f16", "bf16", "f32", "f64")
NUMBERS = (*FLOATS, "i8", "u8", "i32", "u64")


# --- monoids that keep their laws --------------------------------------------------------------------------------
@wf.monoid(identity=(1.0, 0.0), commutative=False)
def affine(a: Any, b: Any) -> Any:
    (s, t), (u, v) = a, b
    return s * u, t * u + v


@wf.monoid(identity=(1.0, 0.0, 0.0, 1.0), commutative=False)
def matrix(x: Any, y: Any) -> Any:
    (a, b, c, d), (e, f, g, h) = x, y
    return a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h


@wf.monoid(identity=(False, 0), commutative=False, idempotent=True)
def first(a: Any, b: Any) -> Any:
    return a[0] | b[0], wf.where(a[0], a[1], b[1])


@wf.monoid(identity=(False, 0), commutative=False, idempotent=True, lift=lambda x: (True, x))
def last(a: Any, b: Any) -> Any:
    return a[0] | b[0], wf.where(b[0], b[1], a[1])


@wf.monoid(identity=(0, -INF, -INF, -INF), commutative=False, lift=lambda x: (x, x, x, x))
def subarray(a: Any, b: Any) -> Any:
    """The maximum subarray sum: (total, best prefix, best suffix, best)."""
    (t, p, s, m), (u, q, r, n) = a, b
    return t + u, wf.maximum(p, t + q), wf.maximum(r, u + s), wf.maximum(wf.maximum(m, n), s + q)


@wf.monoid(identity=(0, 0), commutative=False)
def brackets(a: Any, b: Any) -> Any:
    """Unmatched closing and opening brackets."""
    (c, o), (d, p) = a, b
    matched = wf.minimum(o, d)
    return c + d - matched, o + p - matched


@wf.monoid(identity=(0, 1), commutative=False, lift=lambda x: (wf.cast(x, "u32"), wf.cast(31, "u32")))
def polynomial(a: Any, b: Any) -> Any:
    """A hash of text modulo 2^32."""
    return a[0] * b[1] + b[0], a[1] * b[1]


@wf.monoid(identity=0.0, lift=abs)
def hypotenuse(a: Any, b: Any) -> Any:
    return wf.sqrt(a * a + b * b)


@wf.monoid(identity=0.0)
def circle(a: Any, b: Any) -> Any:
    """Large values cancel in sums and products, alike in narrow and wide types."""
    return a + b + a * b


@wf.monoid(identity=0)
def saturating_u8(a: Any, b: Any) -> Any:
    """Associative, because it has one bound only."""
    return wf.cast(wf.minimum(wf.cast(a, "u32") + wf.cast(b, "u32"), 255), "uint8")


RIGHT: list[tuple[Monoid, tuple[str, ...]]] = [
    *((m, (t,)) for m in (monoids.SUM, monoids.PROD, monoids.MIN, monoids.MAX) for t in NUMBERS),
    *((m, ("bool",)) for m in (monoids.ANY, monoids.ALL)),
    *((m, (t, "i64")) for m in (monoids.ARGMIN, monoids.ARGMAX) for t in ("f32", "f64", "i32", "u8")),
    *((monoids.WELFORD, (t,)) for t in ("f16", "f32", "f64", "i32", "u8")),
    *((m, (t, t)) for m in (monoids.LOGSUMEXP, monoids.COMPENSATED, affine) for t in ("f32", "f64")),
    *((m, ("c64",)) for m in (monoids.SUM, monoids.PROD)),
    (monoids.UNION, ("u32",)), (affine, ("i32", "i32")),
    *((matrix, (t,) * 4) for t in ("bf16", "f32", "f64")),
    *((m, (t,)) for m in (last, subarray, hypotenuse, circle) for t in ("f32", "f64")),
    (first, ("bool", "f32")), (first, ("bool", "i32")), (last, ("bool",)),
    (brackets, ("i32", "i32")), (brackets, ("u8", "u8")), (polynomial, ("u8",)), (polynomial, ("i64",)),
    (saturating_u8, ("u8",)),
]  # fmt: skip


def label(value: object) -> str:
    return value.name if isinstance(value, Monoid) else str(value)


@pytest.mark.parametrize(("m", "types"), RIGHT, ids=label)
def test_no_law_that_holds_is_refuted(m: Monoid, types: tuple[str, ...]) -> None:
    laws = wf.check_monoid(m, *map(dtype, types))
    assert not laws.refuted, str(laws)
    assert not refuted(m, [dtype(t) for t in types])


# --- monoids that do not -----------------------------------------------------------------------------------------
@wf.monoid(identity=0)
def less(a: Any, b: Any) -> Any:
    return a - b


@wf.monoid(identity=0.0)
def average(a: Any, b: Any) -> Any:
    return (a + b) / 2


@wf.monoid(identity=-INF)
def careless_max(a: Any, b: Any) -> Any:
    return wf.where(a > b, a, b)


@wf.monoid(identity=0)
def max_from_0(a: Any, b: Any) -> Any:
    return wf.maximum(a, b)


@wf.monoid(identity=float(np.finfo(np.float32).min))
def max_from_lowest(a: Any, b: Any) -> Any:
    return wf.maximum(a, b)


@wf.monoid(identity=0)
def saturating_i8(a: Any, b: Any) -> Any:
    return wf.cast(wf.minimum(wf.maximum(wf.cast(a, "i32") + wf.cast(b, "i32"), -128), 127), "int8")


@wf.monoid(identity=(-INF, 0.0))
def unguarded_logsumexp(a: Any, b: Any) -> Any:
    high = wf.maximum(a[0], b[0])
    return high, a[1] * exp(a[0] - high) + b[1] * exp(b[0] - high)


@wf.monoid(identity=(0, 0, 0), lift=lambda x: (1.0, wf.cast(x, "f32"), 0.0))
def unguarded_welford(a: Any, b: Any) -> Any:
    (na, ma, sa), (nb, mb, sb) = a, b
    n, delta = na + nb, mb - ma
    return n, ma + delta * (nb / n), sa + sb + delta * delta * na * nb / n


@wf.monoid(identity=(0.0, 0.0), lift=lambda x: (x, 0.0))
def lopsided(a: Any, b: Any) -> Any:
    return a[0] + b[0], a[1] + b[1] + a[0] * b[0] * a[0]


def claiming(m: Monoid, **claims: bool) -> Monoid:
    return replace(m, **claims)  # type: ignore[arg-type]


WRONG: list[tuple[Monoid, tuple[str, ...], str, tuple[Any, ...]]] = [
    (less, ("i32",), "associativity", (0, 0, 1)),
    (less, ("i8",), "associativity", (0, 0, 1)),
    (less, ("f32",), "commutativity", (0.0, 1.0)),
    (less, ("f64",), "identity", (1.0,)),
    *((average, (t,), "associativity", (0.0, 0.0, 1.0)) for t in FLOATS),
    *((careless_max, (t,), "commutativity", (0.0, NAN)) for t in FLOATS),
    (careless_max, ("f32",), "associativity", (1.0, NAN, 0.0)),
    (max_from_0, ("f32",), "identity", (-1.0,)),
    (max_from_0, ("i8",), "identity", (-1,)),
    (max_from_lowest, ("f32",), "identity", (-INF,)),
    (saturating_i8, ("i8",), "associativity", (1, 127, -1)),
    (unguarded_logsumexp, ("f32", "f32"), "identity", ((-INF, 0.0),)),
    (unguarded_welford, ("f32",), "identity", ((0.0, 0.0, 0.0),)),
    (lopsided, ("f32",), "associativity", ((1.0, 0.0), (1.0, 0.0), (1.0, 0.0))),
    (claiming(matrix, commutative=True), ("f32",) * 4, "commutativity", ((1.0,) * 4, (2.0, 1.0, 1.0, 1.0))),
    (claiming(affine, commutative=True), ("f32", "f32"), "commutativity", ((1.0, 1.0), (2.0, 1.0))),
    (claiming(first, commutative=True), ("bool", "f32"), "commutativity", ((True, 1.0), (True, 2.0))),
    (claiming(last, commutative=True), ("f32",), "commutativity", ((True, 0.0), (True, 1.0))),
    (claiming(monoids.SUM, idempotent=True), ("f32",), "idempotence", (1.0,)),
    (claiming(monoids.LOGSUMEXP, idempotent=True), ("f32", "f32"), "idempotence", ((1.0, 1.0),)),
]


@pytest.mark.parametrize(("m", "types", "name", "values"), WRONG, ids=label)
def test_a_law_that_does_not_hold_is_refuted_by_simple_values(
    m: Monoid, types: tuple[str, ...], name: str, values: tuple[Any, ...]
) -> None:
    law = wf.check_monoid(m, *map(dtype, types))[name]
    assert (law.verdict, law.claimed) == ("refuted", True)
    assert law.counterexample is not None
    assert repr(law.counterexample.values) == repr(values)  # NaN is not equal to itself
    assert repr(law.counterexample.left) != repr(law.counterexample.right)
    assert name in [found.law for found in refuted(m, [dtype(t) for t in types])]


def test_both_sides_of_a_counterexample_read_as_python() -> None:
    found = wf.check_monoid(careless_max, "f32")["commutativity"].counterexample
    assert str(found) == (
        "combine(0.0, float('nan')) = float('nan')\n"
        "combine(float('nan'), 0.0) = 0.0"
    )  # fmt: skip
    lowest = wf.check_monoid(max_from_lowest, "f32")["identity"].counterexample
    assert "combine(-3.4028235e+38, float('-inf'))" in str(lowest)


# --- verdicts ----------------------------------------------------------------------------------------------------
def test_simple_graphs_are_proved() -> None:
    laws = wf.check_monoid(monoids.MAX, "f32")
    assert [law.verdict for law in laws.laws] == ["proved"] * 4
    assert not any(law.rounding for law in laws.laws)


def test_a_sum_of_floats_is_associative_up_to_rounding() -> None:
    assert wf.check_monoid(monoids.SUM, "f32")["associativity"].words == "proved, apart from rounding"
    assert wf.check_monoid(monoids.SUM, "i32")["associativity"].words == "proved"

    @wf.monoid(identity=0.0)
    def hidden(a: Any, b: Any) -> Any:
        return a - (-b)

    law = wf.check_monoid(hidden, "f32")["associativity"]
    assert (law.verdict, law.rounding) == ("held", True)


def test_a_violation_below_the_precision_of_a_type_is_rounding() -> None:
    @wf.monoid(identity=0.0, commutative=False)
    def skewed(a: Any, b: Any) -> Any:
        return a + b + 1e-12 * abs(a + b)

    law = wf.check_monoid(skewed, "f32")["associativity"]
    assert (law.verdict, law.rounding) == ("held", True)
    assert wf.check_monoid(skewed, "f64")["associativity"].verdict == "refuted"


def counted(asked: Callable[[Any], Any], combine: Callable[[Any, Any], Any] = lambda a, b: a - b) -> Monoid:
    """A monoid whose lift separates few elements; only these break its laws."""
    return wf.monoid(identity=0, lift=lambda x: wf.where(asked(x), 1, 0))(combine)


RARE = {
    "equal": (lambda x: x == 40, ("f32", "i16", "u8", "f64")),
    "a float": (lambda x: x > 1234.5, ("f32", "f64")),
    "below": (lambda x: x < -99_999, ("i32", "i64", "f32")),
    "a sum": (lambda x: 2 * x + 1 == 2001, ("i32", "f32", "i64")),
    "a neighbour": (lambda x: (x > 7000) & (x < 7002), ("i32", "f64")),
    "bits": (lambda x: x >> 4 == 77, ("i32", "u16")),
    "a remainder": (lambda x: x % 1000 == 613, ("i32", "u32")),
    "a cast": (lambda x: wf.cast(x, "i64") == 5_000_000_000, ("f64", "i64")),
    "an extreme": (lambda x: wf.maximum(x, 3000) != 3000, ("i32", "f32")),
}


@pytest.mark.parametrize("name", list(RARE))
def test_constants_that_a_lift_compares_with_are_tried_as_elements(name: str) -> None:
    asked, types = RARE[name]
    for t in types:
        laws = wf.check_monoid(counted(asked), dtype(t))
        assert [law.law for law in laws.refuted] == ["identity", "associativity", "commutativity"], t
        assert {law.law for law in refuted(counted(asked), (dtype(t),))} == {law.law for law in laws.refuted}, t


def test_a_captured_constant_is_tried_as_an_element() -> None:
    bound = 4096

    class Settings:
        bound = 31.25

    @wf.monoid(identity=0, lift=lambda x, *, at=77: wf.where(x == at, 1, 0))
    def parameter(a: Any, b: Any) -> Any:
        return a - b

    for m in (counted(lambda x: x == bound), counted(lambda x: x == Settings.bound), parameter):
        assert len(wf.check_monoid(m, "f32").refuted) == 3


def test_a_constant_of_the_combine_or_the_finish_is_tried_as_a_state() -> None:
    @wf.monoid(identity=0)
    def clamped(a: Any, b: Any) -> Any:
        return wf.where(a + b == 1000, 7, a + b)

    @wf.monoid(identity=0, lift=lambda x: x, finish=lambda s: s == 70_000)
    def finished(a: Any, b: Any) -> Any:
        return wf.where((a >= 70_000) & (b != 0), 0, a + b)

    for m in (clamped, finished):
        assert {law.law for law in wf.check_monoid(m, "i32").refuted} >= {"associativity"}


@pytest.mark.parametrize("t", ["i32", "u16", "f32", "f64"])
def test_small_whole_numbers_go_through_the_lift(t: str) -> None:
    """No constant says that 12 is the number whose square is 144."""

    @wf.monoid(identity=0, lift=lambda x: wf.cast(wf.where(x * x == 144, -1, 1), "i32"))
    def turned(a: Any, b: Any) -> Any:
        return wf.where(a < 0, a, a + b)

    assert {law.law for law in wf.check_monoid(turned, dtype(t)).refuted} >= {"associativity"}


@pytest.mark.parametrize("t", ["i8", "u8"])
def test_all_bytes_go_through_the_lift(t: str) -> None:
    """Also 93, which no constant names, and whose state differs from all others."""

    def lift(x: Any) -> Any:
        wide = wf.cast(x, "i32")
        return wf.where(wide * wide % 251 == 93 * 93 % 251, 1, 0), wide

    @wf.monoid(identity=(0, 0), lift=lift)
    def hidden(a: Any, b: Any) -> Any:
        return a[0] - b[0], a[1] + b[1]

    assert [law.law for law in wf.check_monoid(hidden, dtype(t)).refuted] == [
        "identity",
        "associativity",
        "commutativity",
    ]


@pytest.mark.parametrize("t", ["i32", "u8", "f32"])
def test_one_state_is_no_evidence(t: str) -> None:
    @wf.monoid(identity=0, lift=lambda x: wf.where(x != x, 1, 0) * 0)
    def nothing(a: Any, b: Any) -> Any:
        return a - b

    laws = wf.check_monoid(nothing, dtype(t))
    assert [law.law for law in laws.untested] == ["identity", "associativity", "commutativity"]
    assert laws["associativity"].words == "no evidence"
    assert str(laws).endswith(
        "no evidence: all elements that were tried lead to one state, and laws of that tell nothing"
    )


def test_a_value_that_never_changes_is_no_evidence() -> None:
    @wf.monoid(identity=(0, 0), lift=lambda x: (wf.cast(x, "i64"), wf.where(wf.sin(x) > 2, 1, 0)))
    def never(a: Any, b: Any) -> Any:
        return a[0] + b[0], a[1] - b[1]

    laws = wf.check_monoid(never, "f32")
    assert laws["associativity"].verdict == "untested"
    assert str(laws).endswith("no evidence: value 1 of the state is the same in all states that were tried")
    assert not wf.check_monoid(monoids.WELFORD, "f32").untested
    assert not wf.check_monoid(monoids.LOGSUMEXP, "f32", "f32").untested


def test_all_values_of_small_types_are_tried() -> None:
    start = time.perf_counter()
    law = wf.check_monoid(saturating_u8, "uint8")["associativity"]
    assert law == Law("associativity", "exhaustive", claimed=True, tries=256**3)
    assert law.words == "holds for all 16,777,216 combinations"
    assert time.perf_counter() - start < 20
    assert wf.check_monoid(last, "bool")["associativity"].tries == 27  # nothing, last False, last True


def test_states_of_bools_are_all_tried() -> None:
    @wf.monoid(identity=(False, False))
    def both(a: Any, b: Any) -> Any:
        return a[0] | b[0], (a[1] & ~b[1]) | (b[1] & ~a[1])

    law = wf.check_monoid(both, "bool", "bool")["associativity"]
    assert (law.verdict, law.tries) == ("exhaustive", 64)


def test_commutativity_is_proved_whatever_the_order_of_operands() -> None:
    @wf.monoid(identity=0.0)
    def symmetric(a: Any, b: Any) -> Any:
        return wf.where((a > b) | (b > a), (a + b) * wf.fma(a, b, 1.0), wf.fma(b, a, 1.0) * (b + a))

    assert proof(symmetric.typed(F32), "commutativity") == "exact"
    assert proof(less.typed(F32), "commutativity") is None
    assert proof(careless_max.typed(F32), "commutativity") is None
    assert proof(affine.typed(F32, F32), "associativity") is None


def test_a_projection_is_not_proved_commutative() -> None:
    @wf.monoid(identity=0)
    def doubled(a: Any, b: Any) -> Any:  # noqa: ARG001
        return a + a

    assert wf.check_monoid(doubled, "i32")["associativity"].verdict == "refuted"


def test_only_lifted_states_are_tried_when_there_is_a_lift() -> None:
    free = replace(monoids.WELFORD, lift=None)
    assert wf.check_monoid(free, "f32", "f32", "f32").made_up
    assert "were made up" in str(wf.check_monoid(free, "f32", "f32", "f32"))
    assert not wf.check_monoid(monoids.WELFORD, "f32").made_up
    signed = replace(hypotenuse, lift=None)
    assert wf.check_monoid(signed, "f32")["identity"].counterexample.values == (-1.0,)


def test_a_lift_may_take_several_arrays_numbers_and_parameters() -> None:
    @wf.monoid(
        identity=(INF, 2**31 - 1), has_identity=False, idempotent=True,
        lift=lambda x, y, *, scale=2.0: (abs(x - y) * scale, wf.index("i32")),
    )  # fmt: skip
    def nearest(a: Any, b: Any) -> Any:
        left = (a[0] < b[0]) | ((a[0] == b[0]) & (a[1] < b[1]))
        return wf.where(left, a[0], b[0]), wf.where(left, a[1], b[1])

    laws = wf.check_monoid(nearest, "f32", "f32")
    assert laws["commutativity"].counterexample is not None
    assert any("nan" in text for text in laws["commutativity"].counterexample.texts)
    assert laws["idempotence"].verdict == "held"


def test_laws_that_are_not_claimed_are_not_refuted() -> None:
    laws = wf.check_monoid(affine, "f32", "f32")
    assert laws["commutativity"].words == "does not hold"
    assert laws.refuted == ()
    assert "commutativity  not claimed  does not hold\n    combine((1.0, 1.0), (2.0, 1.0))" in str(laws)


# --- against plain Python ----------------------------------------------------------------------------------------
@settings(max_examples=10, deadline=None)
@given(rule=st.tuples(*[st.integers(-3, 3)] * 4))
def test_exhaustive_verdicts_are_those_of_brute_force(rule: tuple[int, ...]) -> None:
    p, q, r, k = rule
    combine: Callable[[Any, Any], Any] = lambda a, b: a * p + b * q + a * b * r + k  # noqa: E731
    m = wf.monoid(identity=0, commutative=False)(combine)
    x = np.arange(-128, 128).astype(np.int8)
    a, b, c = x[:, None, None], x[None, :, None], x[None, None, ::37]
    with np.errstate(all="ignore"):
        own: Callable[[Any, Any], Any] = lambda a, b: (  # noqa: E731
            a.astype(np.int64) * p + b.astype(np.int64) * q + a.astype(np.int64) * b * r + k
        ).astype(np.int8)
        commutes = np.array_equal(own(a, b), own(b, a))
        neutral = np.array_equal(own(np.int8(0), x), x) and np.array_equal(own(x, np.int8(0)), x)
        associates = np.array_equal(own(own(a, b), c), own(a, own(b, c)))
    laws = wf.check_monoid(m, "int8")
    assert (laws["commutativity"].verdict != "refuted") == commutes
    assert (laws["identity"].verdict != "refuted") == neutral
    assert (laws["associativity"].verdict != "refuted") == associates


@settings(max_examples=25, deadline=None)
@given(st.sampled_from([m for m, *_ in WRONG if m.lift is None]), st.sampled_from(FLOATS[2:]))
def test_counterexamples_are_true(m: Monoid, t: str) -> None:
    """Both sides, evaluated again with NumPy scalars, give the printed values."""
    count = len(m.identity) if isinstance(m.identity, tuple) else 1
    if count > 1 or m.name in ("saturating_i8", "max_from_lowest"):
        return
    own = {"less": np.subtract, "average": lambda a, b: (a + b) / 2, "max_from_0": np.maximum,
           "careless_max": lambda a, b: a if a > b else b, "SUM": np.add}[m.name]  # fmt: skip
    law = wf.check_monoid(m, dtype(t))["associativity"]
    if law.counterexample is not None:
        a, b, c = (dtype(t).numpy.type(v) for v in law.counterexample.values)
        assert repr(float(own(own(a, b), c))) == repr(law.counterexample.left)
        assert repr(float(own(a, own(b, c)))) == repr(law.counterexample.right)


# --- warnings ----------------------------------------------------------------------------------------------------
def test_a_false_claim_warns_once() -> None:
    @wf.monoid(identity=0)
    def minus(a: Any, b: Any) -> Any:
        return a - b

    expected = r"WF221: minus breaks laws that it claims:\n  identity: combine\(0, 1\) = -1, not 1\n  associativity: "
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        warn_once(minus, (I32,))
    assert [w.category for w in seen] == [WarpfoldWarning]
    assert re.match(expected, str(seen[0].message))
    assert str(seen[0].message).count("\n  at ") == str(seen[0].message).count("\n  help: ") == 1
    assert seen[0].filename == __file__  # the monoid's line, not one of warpfold's
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_once(minus, (I32,))


def test_built_in_monoids_and_true_claims_do_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_once(claiming(monoids.SUM, idempotent=True), (I32,))
        warn_once(matrix, (F32,) * 4)
        warn_once(subarray, (F32,))


def test_the_quick_search_is_quick_and_repeatable() -> None:
    refuted(matrix, ("f32",) * 4)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        refuted(matrix, ("f32",) * 4)
        times.append(time.perf_counter() - start)
    assert min(times) < 0.03
    assert repr(refuted(careless_max, ("f32",))) == repr(refuted(careless_max, ("f32",)))


# --- mistakes ----------------------------------------------------------------------------------------------------
def test_mistakes_have_codes() -> None:
    with pytest.raises(TraceError, match="WF219: check_monoid looks at a monoid, got a function"):
        wf.check_monoid(test_mistakes_have_codes)  # type: ignore[arg-type]
    with pytest.raises(TraceError, match=r"WF220: affine reduces 2 array\(s\): 1 type\(s\) given"):
        wf.check_monoid(affine, "f32")
    with pytest.raises(TraceError, match=r"WF220: last reduces 1 array\(s\): 2 type\(s\) given"):
        wf.check_monoid(last, "f32", "f32")

    @wf.monoid(identity=0.0, lift=lambda x, *, power: x * power)
    def scaled(a: Any, b: Any) -> Any:
        return a + b

    with pytest.raises(ArgumentError, match="WF151: scaled needs the parameter 'power'"):
        wf.check_monoid(scaled, "f32")
    assert not wf.check_monoid(scaled.given({"power": 3.0}), "f32").refuted

    @wf.monoid(identity=(0.0, 0.0), lift=lambda x: (x, x * x), finish=lambda s: s[1])
    def moments(a: Any, b: Any) -> Any:
        return a[0] + b[0], a[1] + b[1]

    with pytest.raises(TraceError, match=r"WF226: the finish of moments takes 1 value\(s\): expected 2"):
        wf.check_monoid(moments, "f32")


def test_f32_is_the_type_when_none_is_given() -> None:
    assert wf.check_monoid(affine).elements == (F32, F32)
