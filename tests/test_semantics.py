"""docs/semantics.md, sentence by sentence: each names its tests here, and each test here is named there."""

from __future__ import annotations

import itertools
import math
import operator
import re
import warnings
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import types_page
from numpys import COMPLETE

import warpfold as wf
from warpfold.commands.checking.reference import depth
from warpfold.commands.requests import inputs
from warpfold.compiler.planner.choose import choose
from warpfold.compiler.planner.task import Task
from warpfold.compiler.program.arrays.trace import ArrayArg, trace_arrays
from warpfold.compiler.target import target
from warpfold.runtime import tuned_plans
from warpfold.runtime.api import plan_for
from warpfold.runtime.tuning.neighbours import neighbours

PAGE = Path(__file__).parent.parent / "docs" / "semantics.md"
TAG = re.compile(r"\s\[([a-z0-9_]+(?:, [a-z0-9_]+)*)\]\.\s+")
INF, NAN = math.inf, math.nan
F32, F64, F16, BF16 = np.float32, np.float64, np.float16, ml_dtypes.bfloat16
Array = np.ndarray[Any, Any]


def on_emulator(name: str) -> Callable[..., Any]:
    return partial(getattr(wf, name), device="emulator")


def f32(*values: float) -> Array:
    return np.array(values, F32)


def f64(*values: float) -> Array:
    return np.array(values, F64)


def mask(*values: int) -> Array:
    return np.array(values, bool)


def refused(code: str, name: str, *arrays: Any, **how: Any) -> None:
    with pytest.raises(wf.WarpfoldError, match=code):
        on_emulator(name)(*arrays, **how)


def normal(*shape: int, dtype: Any = F32, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


total, product, least, greatest, reduce = (on_emulator(n) for n in ("sum", "prod", "min", "max", "reduce"))


@wf.monoid(identity=(1.0, 0.0), commutative=False)
def affine(a: Any, b: Any) -> Any:
    """Composes x -> s x + t; the left map is applied first."""
    (s, t), (u, v) = a, b
    return s * u, t * u + v


def composed(x: Any) -> Any:
    return wf.fold(affine, x, x - 1)[1]


def composed_in_numpy(rows: Array) -> Array:
    t = np.zeros(rows.shape[:-1])
    for i in range(rows.shape[-1]):
        t = t * rows[..., i] + (rows[..., i] - 1)
    return t


# --- the page ------------------------------------------------------------------------------------------------------
def statements() -> list[tuple[str, list[str]]]:
    """(sentence, the tests it names), and what follows the last of a paragraph as a sentence without any."""
    text = re.sub(r"^#.*$", "", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found: list[tuple[str, list[str]]] = []
    for block in re.split(r"\n\s*\n|^- ", text, flags=re.MULTILINE):
        pieces = TAG.split(" ".join(block.split()) + " ")
        found += [(s, names.split(", ")) for s, names in zip(pieces[::2], pieces[1::2], strict=False)]
        found += [(pieces[-1], [])] if pieces[-1].strip() else []
    return found


def test_every_sentence_names_its_tests(request: pytest.FixtureRequest) -> None:
    module = request.node.getparent(pytest.Module)
    collected = {getattr(item, "originalname", item.name).removeprefix("test_") for item in module.collect()}
    named = set()
    for sentence, names in statements():
        assert names, f"names no test: {sentence}"
        plain = re.sub(r"\*\*.*?\*\*|`[^`]*`", "x", sentence)
        assert not re.search(r"[.!?]\s+\S", plain), f"two sentences share their tests: {sentence}"
        assert set(names) <= collected, f"no such test: {set(names) - collected}"
        named |= set(names)
    assert named == collected


def test_every_function_has_its_types() -> None:
    page = types_page.PAGE.read_text(encoding="utf-8")
    assert all(f"`{name}`" in page for name in (*COMPLETE, "unique"))


# --- inputs --------------------------------------------------------------------------------------------------------
def test_any_rank() -> None:
    assert total(F32(3)) == 3
    x = np.arange(2**6, dtype=F64).reshape((2,) * 6)
    assert total(x) == x.sum()
    np.testing.assert_array_equal(total(x, (0, 2, -1)), x.sum((0, 2, -1)))


def test_no_axis() -> None:
    np.testing.assert_array_equal(total(f32(1, 2), ()), [1, 2])


def test_any_strides() -> None:
    x = np.arange(60.0).reshape(3, 4, 5)
    for v in (x.T, x[::-1, ::2], x[:, 1:3, ::-3], np.broadcast_to(x, (7, 3, 4, 5)), x.transpose(1, 2, 0)[..., None]):
        np.testing.assert_array_equal(total(v, (0, -1)), v.sum((0, -1)))


def test_arrays_broadcast() -> None:
    x, y = np.arange(6.0).reshape(2, 3), np.arange(3.0)
    np.testing.assert_array_equal(on_emulator("vecdot")(x, y), (x * y).sum(-1))
    assert on_emulator("allclose")(x, x[:1]) == np.allclose(x, x[:1])
    refused("WF126", "vecdot", x, np.arange(2.0))


def test_byte_order() -> None:
    assert total(np.arange(5, dtype=">f4")) == 10


def test_unaligned_elements_are_refused() -> None:
    refused("WF106", "sum", np.zeros(9, np.uint8)[1:].view(F32))


def test_python_numbers() -> None:
    for value in ([1, 2], [1.5, 2], [True], 7, [[1], [2]]):
        got, wanted = total(value), np.sum(np.asarray(value))
        assert got == wanted
        assert got.dtype == wanted.dtype


def test_lists_that_lose_digits() -> None:
    for value in ([2**63, -1], [2**53 + 1, 0.5]):
        with pytest.raises(wf.WarpfoldError, match="WF114"):
            total(value)
    assert total([2**53, 0.5]) == 2.0**53


def test_missing_values() -> None:
    for value in (np.ma.array([1, 2], mask=[0, 1]), [np.ma.masked, 1]):
        with pytest.raises(wf.WarpfoldError, match="WF114"):
            total(value)
    assert np.isnan(total([1, np.nan]))
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    for value in (pandas.Series([1, None], dtype="Int64"), pandas.Categorical([1, 2])):
        with pytest.raises(wf.WarpfoldError, match="WF114"):
            total(value)
    assert total(pandas.Series([1, 2], dtype="Int64")) == 3


def test_arrays_without_memory() -> None:
    x = np.ones(2, np.float32)
    nothing = {"data": (0, False), "shape": (2,), "typestr": "<f4", "version": 3}
    holder = type("Holder", (), {"__array_interface__": nothing})()
    for call in (lambda: total(holder), lambda: total(x, (), out=holder), lambda: total(x, where=holder)):
        with pytest.raises(wf.WarpfoldError, match="WF166"):
            call()
    empty = type("Empty", (), {"__array_interface__": nothing | {"shape": (0,)}})()
    assert total(empty) == 0


class Settings:
    scale = 2.0


def test_values_from_outside() -> None:
    factor, factors = 2.0, [2.0]
    read = (lambda x: x * factor, lambda x: x * factors[0], lambda x: x * Settings.scale)
    scaled = [wf.monoid(identity=0.0, lift=f)(lambda a, b: a + b) for f in read]
    x = f32(1, 2, 4)
    assert [reduce(x, what=s) for s in scaled] == [14, 14, 14]
    factor, factors[0], Settings.scale = 3.0, 3.0, 3.0
    assert [reduce(x, what=s) for s in scaled] == [21, 21, 21]
    Settings.scale = 2.0


def test_arrays_and_computed_names() -> None:
    weights = np.array([2.0])
    read = (lambda x: x * weights[0], lambda x: x * getattr(Settings, "sc" + f"al{chr(101)}"))
    scaled = [wf.monoid(identity=0.0, lift=f)(lambda a, b: a + b) for f in read]
    x = f32(1, 2, 4)
    assert [reduce(x, what=s) for s in scaled] == [14, 14]
    weights[0] = Settings.scale = 3.0
    assert [reduce(x, what=s) for s in scaled] == [14, 14]
    Settings.scale = 2.0


# --- order ---------------------------------------------------------------------------------------------------------
def test_a_tree_not_a_chain() -> None:
    x = np.full(2**12, 0.1, F32)
    chain = np.cumsum(x)[-1]
    assert abs(float(total(x)) - 409.6) < abs(float(chain) - 409.6) / 10


def test_same_bits_on_every_run() -> None:
    x = normal(3, 5000)
    first = [total(x, axis).tobytes() for axis in (0, 1, None)]
    assert all([total(x, axis).tobytes() for axis in (0, 1, None)] == first for _ in range(3))


def test_order_is_kept() -> None:
    x = np.random.default_rng(3).choice([-1.0, 1.0], (4, 30, 50))  # keeps every step exact
    for v in (x, x[:, ::-1], x.transpose(2, 0, 1)):
        got = reduce(v, what=composed, axis=(0, 2))
        np.testing.assert_array_equal(got, composed_in_numpy(np.moveaxis(v, 1, 0).reshape(v.shape[1], -1)))


@pytest.mark.parametrize("plan", ["", "vector=1", "warps=1,lanes=1", "walk=blocked,vector=1", "finish=two_kernels"])
def test_exact_under_every_plan(plan: str) -> None:
    x = np.random.default_rng(0).integers(-(2**31), 2**31, 3000)
    assert total(x, plan=plan) == x.sum()
    y = normal(3000)
    assert greatest(y, plan=plan) == y.max()
    assert on_emulator("argmin")(y, plan=plan) == y.argmin()
    assert on_emulator("count_nonzero")(y > 0, plan=plan) == np.count_nonzero(y > 0)


def test_atomics_only_where_exact() -> None:
    assert total(np.arange(9), plan="finish=atomic") == 36
    refused("WF408", "sum", f32(1, 2), plan="finish=atomic")


@pytest.mark.parametrize(("shape", "axis"), [((5000,), None), ((2**22,), None), ((64, 3000), 1), ((3000, 64), 0)])
def test_portable_plans(shape: tuple[int, ...], axis: Any) -> None:
    ready = plan_for("sum", shape, axis=axis, determinism="portable")
    machines = itertools.product(("sm_75", "sm_90a"), (1, 84, 1000), (0, 4, 8))
    tasks = (Task(ready.program, ready.geometry, (a, 0), target(t), sms, "portable") for t, sms, a in machines)
    assert len({(c.plan, c.run.split) for c in map(choose, tasks)}) == 1


def test_portable_bits() -> None:
    x, room = normal(5000), np.empty(5004, F32)
    found = set()
    for shift in range(4):
        room[shift : shift + 5000] = x
        found.add(total(room[shift : shift + 5000], determinism="portable").tobytes())
    assert len(found) == 1


def test_portable_rows() -> None:
    x = normal(1100, 140)
    softmax = partial(wf.softmax, axis=1, determinism="portable", device="emulator")
    many = softmax(x)
    assert all(softmax(x[i : i + 1]).tobytes() == many[i].tobytes() for i in range(9))
    sums = [plan_for("sum", (n, 2**16), axis=1, determinism="portable").choice for n in (1, 5000)]
    assert sums[0].run.split > sums[1].run.split


def test_floats_by_atomics() -> None:
    x = normal(5000)
    got = total(x, determinism="none", plan="finish=atomic")
    assert abs(float(got) - x.sum(dtype=F64)) <= g(4999, U32) * np.abs(x).sum(dtype=F64)
    refused("WF408", "sum", x, plan="finish=atomic")


# --- tuning --------------------------------------------------------------------------------------------------------
def keep(ready: Any, plan: str) -> Any:
    """The choice for what ``ready`` is, after ``plan`` was found for it on a GPU."""
    tuned_plans.keep(tuned_plans.Find(tuned_plans.key(ready.task, "GPU"), plan))
    return tuned_plans.better(ready.task, ready.choice, "GPU")


@pytest.fixture
def no_finds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WARPFOLD_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(tuned_plans, "machine", lambda: "GPU")


@pytest.mark.usefixtures("no_finds")
def test_finds_are_for_one_kind() -> None:
    ready = plan_for("max", (64, 4096), axis=1)
    assert keep(ready, "unroll=1").plan == ready.choice.plan.with_options("unroll=1")
    for other in (plan_for("max", (64, 4100), axis=1), plan_for("min", (64, 4096), axis=1)):
        assert tuned_plans.better(other.task, other.choice, "GPU") is other.choice
    assert tuned_plans.better(ready.task, ready.choice, "another GPU") is ready.choice
    tuned_plans.forget()
    assert tuned_plans.better(ready.task, ready.choice, "GPU") is ready.choice


@pytest.mark.usefixtures("no_finds")
@pytest.mark.parametrize("determinism", ["run", "portable"])
@pytest.mark.parametrize(("shape", "axis"), [((20000,), None), ((40, 512), 1), ((3000, 40), 0), ((40, 30), 1)])
def test_finds_have_the_same_bits(shape: tuple[int, ...], axis: Any, determinism: str) -> None:
    x = normal(*shape)
    ready, own = plan_for("sum", shape, axis=axis, determinism=determinism), total(x, axis, determinism=determinism)
    tried = list(itertools.islice(neighbours(ready.task, ready.choice, ready.choice), 0, None, 3))[:5]
    assert tried
    for other in tried:
        assert keep(ready, tuned_plans.words(other.plan)).plan == other.plan
        plan = tuned_plans.words(other.plan)
        assert total(x, axis, determinism=determinism, plan=plan).tobytes() == own.tobytes()
    reordered = "cta=serial" if ready.choice.plan.positions > 2 else "cta=sequential,lanes=32,warps=8"
    assert keep(ready, reordered) is ready.choice


@pytest.mark.usefixtures("no_finds")
def test_finds_without_determinism() -> None:
    ready = plan_for("sum", (20000,), determinism="none")
    assert keep(ready, "finish=atomic").plan.finish == "atomic"
    plans = [c.plan for c in neighbours(ready.task, ready.choice, ready.choice)]
    assert {"atomic", "cta"} <= {p.finish for p in plans}


@pytest.mark.usefixtures("no_finds")
def test_finds_for_other_sizes() -> None:
    for what, taken in (("max", True), ("argmin", True), ("sum", False)):
        ready = plan_for(what, (64, 4096), axis=1)
        assert keep(ready, "lanes=16,warps=32").plan != ready.choice.plan
        assert (wf.compile(what, (64, 4096), axis=1).plan != ready.choice.plan) is taken


# --- NaN -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "name", ["sum", "prod", "min", "max", "minmax", "ptp", "mean", "var", "std", "norm", "logsumexp", "dot"]
)
def test_nan_propagates(name: str) -> None:
    for x in (f32(NAN, 1, 2), f32(1, INF, NAN), f32(0, NAN, -INF)):
        assert np.isnan(on_emulator(name)(*[x] * types_page.arrays_of(name))).all()
    for order in (1, 2, 3, INF, -INF):
        assert np.isnan(on_emulator("norm")(f32(1, NAN), ord=order))


def test_the_first_nan_wins() -> None:
    for name in ("argmin", "argmax"):
        assert on_emulator(name)(f32(1, INF, NAN, -INF, NAN)) == 2


def test_nan_is_not_zero() -> None:
    assert on_emulator("any")(f32(0, NAN))
    assert on_emulator("all")(f32(1, NAN))
    assert on_emulator("count_nonzero")(f32(0, NAN)) == 1
    assert on_emulator("norm")(f32(0, NAN), ord=0) == 1


def test_nan_equals_nothing() -> None:
    for name in ("array_equal", "allclose"):
        assert not on_emulator(name)(f32(NAN), f32(NAN))
        assert on_emulator(name)(f32(NAN), f32(NAN), equal_nan=True)
        assert not on_emulator(name)(f32(NAN), f32(1), equal_nan=True)


def test_nan_ignored() -> None:
    x = f64(NAN, 3, 1, NAN, 2)
    for name in ("sum", "prod", "min", "max", "mean", "argmin", "argmax"):
        expected = getattr(np, f"nan{name}")(x)
        assert on_emulator(f"nan{name}")(x) == expected
        assert on_emulator(name)(x, nan="ignore") == expected
    assert on_emulator("var")(x, nan="ignore") == pytest.approx(np.nanvar(x))
    assert on_emulator("norm")(x, nan="ignore") == pytest.approx(math.sqrt(14))
    assert reduce(x, what=wf.LOGSUMEXP, nan="ignore") == pytest.approx(np.logaddexp.reduce(x[[1, 2, 4]]))


def test_nan_of_any_array_or_part() -> None:
    assert on_emulator("dot")(f32(1, NAN, 3, 4), f32(1, 1, NAN, 1), nan="ignore") == 5
    assert on_emulator("nansum")(np.array([1 + 1j, complex(NAN, 1), complex(1, NAN)])) == 1 + 1j


def test_nothing_but_nan() -> None:
    x = f32(NAN, NAN)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert on_emulator("nansum")(x) == 0
        assert on_emulator("nanprod")(x) == 1
        assert all(np.isnan(on_emulator(n)(x)) for n in ("nanmin", "nanmax", "nanmean"))


def test_no_index_of_nothing_but_nan() -> None:
    for name in ("nanargmin", "nanargmax"):
        with pytest.raises(ValueError, match="WF134"):
            on_emulator(name)(np.array([[1, 2], [NAN, NAN]]), 1)
        with pytest.raises(ValueError, match="All-NaN"):
            getattr(np, name)(np.array([[1, 2], [NAN, NAN]]), 1)


def test_nan_raises() -> None:
    refused("WF135", "sum", f32(1, NAN), nan="raise")
    assert total(f32(1, 2), nan="raise") == 3
    assert total(f32(1, NAN), nan="raise", where=mask(1, 0)) == 1


def test_integers_have_no_nan() -> None:
    for policy in ("ignore", "raise"):
        assert greatest(np.array([1, 2]), nan=policy) == 2
        assert total(mask(1, 1), nan=policy) == 2


# --- zeros and ties ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", [F16, BF16, F32, F64])
def test_zeros_are_ordered(dtype: Any) -> None:
    for values in ([0.0, -0.0], [-0.0, 0.0], [0.0, 0.0, -0.0]):
        x = np.array(values, dtype)
        assert np.signbit(least(x).astype(F64))
        assert not np.signbit(greatest(x).astype(F64))


def test_zeros_are_equal() -> None:
    assert on_emulator("argmin")(f32(0.0, -0.0)) == 0
    assert on_emulator("argmax")(f32(-0.0, 0.0)) == 0
    assert on_emulator("array_equal")(f32(0.0), f32(-0.0))
    assert on_emulator("count_nonzero")(f32(0.0, -0.0)) == 0


def test_the_first_of_equals_wins() -> None:
    x = np.zeros(5000, F32)
    x[[17, 4321]] = 1
    assert on_emulator("argmax")(x) == 17
    assert on_emulator("argmin")(x) == 0
    assert on_emulator("argmin")(np.full((3, 700), np.iinfo(np.int8).max, np.int8), 1).tolist() == [0, 0, 0]


def test_signs_of_zero() -> None:
    assert not np.signbit(total(f32(-0.0, -0.0)))
    assert not np.signbit(np.sum(f32(-0.0, -0.0)))
    assert np.signbit(product(f32(-0.0, 2)))


# --- infinity and overflow -----------------------------------------------------------------------------------------
def test_infinities() -> None:
    assert np.isnan(total(f32(INF, -INF)))
    assert np.isnan(product(f32(0, INF)))
    assert np.isnan(on_emulator("ptp")(f32(INF, INF)))
    assert total(f32(INF, 1)) == INF
    assert greatest(f32(-INF, -INF)) == -INF


def test_moments_of_infinity() -> None:
    assert np.isnan(on_emulator("var")(f32(INF, 1)))
    x = np.where(np.eye(9), np.float16(INF), np.float16(1))
    assert np.isnan(on_emulator("var")(x[:, :3], 1)[:3]).all()
    assert on_emulator("mean_var")(f32(INF, 1, 2)).mean == INF
    assert on_emulator("norm")(f32(-INF, 1)) == INF


def test_variance_of_great_elements() -> None:
    for name in ("var", "std"):
        assert on_emulator(name)(f32(2e38, -2.5e38)) == INF
        assert on_emulator(name)(f32(*[3e38, -3e38] * 50)) == INF
        assert on_emulator(name)(f32(*[3e38] * 50)) == 0
    assert on_emulator("var")(f64(-1.5e308, 1.5e308)) == INF


def test_logsumexp_of_infinity() -> None:
    assert on_emulator("logsumexp")(f32(INF, -INF, 1)) == INF
    assert on_emulator("logsumexp")(f32(-INF, -INF)) == -INF
    assert on_emulator("logsumexp")(f32(-INF, 3)) == 3


def test_floats_overflow() -> None:
    assert total(f32(3e38, 3e38)) == INF
    assert product(f32(-3e38, 3e38)) == -INF


def test_partial_results_overflow() -> None:
    x = f32(3e38, 3e38, -3e38, -3e38)
    assert not np.isfinite(total(x))
    assert total(x, accumulate="f64") == 0
    numbers = np.arange(400, dtype=F32)
    with np.errstate(over="ignore", invalid="ignore"):
        assert np.prod(numbers) == 0
        assert np.isnan(np.prod(numbers[::-1]))  # NumPy multiplies from left to right
    assert np.isnan(product(numbers))
    assert product(np.arange(40, dtype=F32), accumulate="f64") == 0


def test_a_zero_beside_a_product() -> None:
    def product_or_zero(x: Any) -> Any:
        zero = wf.fold(wf.ANY, x == 0) & wf.fold(wf.ALL, abs(x) < INF)
        return wf.where(zero, 0.0, wf.fold(wf.PROD, x))

    assert reduce(np.arange(400, dtype=F32), what=product_or_zero) == 0
    assert reduce(f32(1, 2, 3), what=product_or_zero) == 6
    for odd in (INF, NAN):
        assert np.isnan(reduce(f32(0, odd), what=product_or_zero))


def test_halves_overflow_at_the_end() -> None:
    for dtype, large in ((F16, 6e4), (BF16, 3e38)):
        x = np.array([large, large, -large], dtype)
        assert (total(x) == x[0]) == (dtype is F16)  # bf16 reaches as far as f32
        assert total(x[:2]).astype(F64) == INF


def test_integers_wrap() -> None:
    assert total(np.array([2**63 - 1, 1])) == -(2**63)
    assert total(np.array([2**64 - 1, 2], np.uint64)) == 1
    assert product(np.array([2**32, 2**32])) == 0


def test_narrow_integers_wrap() -> None:
    x = np.array([-128, 127], np.int8)
    assert on_emulator("ptp")(x) == np.ptp(x) == -1
    y = np.full(3, 100, np.int8)
    assert on_emulator("dot")(y, y) == np.dot(y, y) == 48


def test_dtype_keeps_low_bits() -> None:
    assert total(np.array([200, 100]), dtype="uint8") == 44


def test_mean_overflows() -> None:
    assert on_emulator("mean")(f32(3e38, 3e38)) == INF
    assert on_emulator("mean")(f32(3e38, 3e38), accumulate="f64") == F32(3e38)


def test_mean_beside_a_variance() -> None:
    for x in (f32(3e38, 3e38), f32(3e38, 3e38, 3e38, -3e38)):
        for name in ("mean_var", "describe"):
            assert on_emulator(name)(x).mean == pytest.approx(x.mean(dtype=F64))


def test_norm_squares() -> None:
    for value, wanted in ((1.9e19, INF), (1.8e19, 1.8e19), (1e-23, 0)):
        with np.errstate(over="ignore"):
            for got in (on_emulator("norm")(f32(value)), np.linalg.norm(f32(value))):
                assert got == pytest.approx(wanted)


def test_norm_squares_in_f64() -> None:
    assert on_emulator("norm")(f32(3e30, 4e30), accumulate="f64") == F32(5e30)
    assert on_emulator("norm")(f32(3e-30, 4e-30), accumulate="f64") == F32(5e-30)


def test_deviations_are_squared() -> None:
    x = f32(-1e20, 1e20)
    assert on_emulator("std")(x) == INF
    assert on_emulator("std")(x, accumulate="f64") == F32(1e20)
    assert on_emulator("var")(x, dtype="f64") == pytest.approx(1e40)


@pytest.mark.parametrize("dtype", [F16, BF16, F32, F64, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
def test_denormals_are_kept(dtype: Any) -> None:
    tiny = ml_dtypes.finfo(dtype).smallest_subnormal
    x = np.array([tiny, tiny], dtype)
    assert total(x).astype(F64) == 2 * tiny.astype(F64)
    assert greatest(x).astype(F64) == tiny.astype(F64)


# --- no elements ---------------------------------------------------------------------------------------------------
def test_semigroups_see_elements_alone() -> None:
    """Zero would pad, and show among negative numbers; differential/test_semigroups.py tries plans and layouts."""
    last = wf.monoid(has_identity=False, commutative=False)(lambda _, b: b)
    greatest = wf.monoid(has_identity=False, identity=0)(wf.maximum)
    x = -np.arange(1, 1001, dtype=F32).reshape(4, 250)
    assert np.array_equal(wf.reduce(x, last, axis=1, device="emulator"), x[:, -1])
    assert np.array_equal(wf.reduce(x, greatest, axis=0, device="emulator"), x[0])
    assert np.array_equal(wf.reduce(x, last, axis=1, where=x > -300, initial=7, device="emulator"), [-250, -299, 7, 7])
    assert np.array_equal(wf.segment_reduce(x[0], [0, 3, 250], last, device="emulator"), x[0, [2, 249]])


def test_nothing_is_the_identity() -> None:
    none = f32()
    for name, value in {
        "sum": 0, "count_nonzero": 0, "norm": 0, "dot": 0, "prod": 1, "any": False, "all": True, "allclose": True,
        "array_equal": True, "logsumexp": -INF,
    }.items():  # fmt: skip
        assert on_emulator(name)(*[none] * types_page.arrays_of(name)) == value


def test_nothing_has_no_mean() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert all(np.isnan(on_emulator(n)(f32())).all() for n in ("mean", "var", "std", "mean_var"))
        for name, correction in itertools.product(("var", "std", "mean_var"), (-2.5, -INF)):
            var = partial(on_emulator(name), correction=correction)
            assert np.isnan(var(f32())).all()
            assert np.isnan(var(f32(1, 2), where=mask(0, 0))).all()
            assert np.isnan(var(f32(NAN, NAN), nan="ignore")).all()
            segments = wf.segment_reduce(f32(1, 2), [0, 0, 2], name, device="emulator", correction=correction)
            assert np.isnan(np.reshape(segments, (-1, 2))[-1, 0])


@pytest.mark.parametrize("name", ["min", "max", "minmax", "ptp", "argmin", "argmax", "describe", "norm"])
def test_nothing_has_no_extreme(name: str) -> None:
    for how in ({"ord": INF}, {"ord": -INF}) if name == "norm" else ({},):
        refused("WF104", name, f32(), **how)


def test_no_results() -> None:
    assert greatest(np.zeros((0, 3), F32), 1).shape == (0,)
    assert greatest(np.zeros((0, 0), F32), 1).shape == (0,)
    refused("WF104", "max", np.zeros((3, 0), F32), 1)


def test_nothing_is_the_initial() -> None:
    assert greatest(f32(), initial=3) == 3
    assert total(f32(), initial=3) == 3


# --- masks ---------------------------------------------------------------------------------------------------------
def test_masks_broadcast() -> None:
    x = np.arange(6.0).reshape(2, 3)
    for m in (mask(1, 0, 1), mask(1, 0)[:, None], mask(1), x > 2):
        np.testing.assert_array_equal(total(x, 1, where=m), np.sum(x, 1, where=m))


def test_masks_are_checked() -> None:
    refused("WF139", "sum", f32(1, 2), where=np.ones((2, 2), bool))
    refused("WF139", "sum", f32(1, 2), where=np.array([1, 0]))


def test_masks_of_bits() -> None:
    x, m = f64(1, 2, 3, 4).reshape(2, 2), mask(1, 0, 1, 1).reshape(2, 2)
    for bits in (wf.pack(m), wf.pack(m, flat=True)):
        np.testing.assert_array_equal(on_emulator("sum")(x, 1, where=bits), [1, 7])


def test_masked_elements_take_no_part() -> None:
    x, m = f64(4, NAN, 2, INF), mask(1, 0, 1, 0)
    for name in ("sum", "prod", "mean", "var", "std", "any", "all"):
        assert on_emulator(name)(x, where=m) == getattr(np, name)(x[m])
    assert greatest(x, where=m, initial=-INF) == 4
    assert on_emulator("norm")(x, where=m) == pytest.approx(math.sqrt(20))


def test_masks_that_leave_nothing() -> None:
    x, none = f32(1, 2), mask(0, 0)
    assert (total(x, where=none), product(x, where=none)) == (0, 1)
    assert np.isnan(on_emulator("mean")(x, where=none))
    assert np.isnan(on_emulator("var")(x, where=none))
    assert least(x, where=none, initial=7) == 7


def test_masks_need_an_initial() -> None:
    for name in ("min", "max", "argmin", "ptp", "describe"):
        refused("WF133", name, f32(1, 2), where=mask(1, 1))


def test_no_mask_without_initial() -> None:
    for name in ("argmin", "argmax", "minmax", "ptp", "describe"):
        refused("WF127", name, f32(1, 2), where=mask(1, 1), initial=0)
        refused("WF133", name, f32(1, 2), where=mask(1, 1))


# --- initial values ------------------------------------------------------------------------------------------------
def test_initial_comes_first() -> None:
    x = np.arange(1.0, 500.0)
    assert total(x, initial=1000) == x.sum() + 1000
    assert total(x, initial=1, axis=()).tolist() == (x + 1).tolist()
    assert greatest(x, initial=1000) == 1000

    def after_start(x: Any) -> Any:
        return wf.fold(affine, x, x - 1, initial=(2.0, 5.0))[1]

    assert reduce(f64(-1, 1, -1), what=after_start) == 5 + composed_in_numpy(f64(-1, 1, -1))


def test_initial_must_fit() -> None:
    refused("WF136", "max", np.array([1, 2], np.int8), initial=128)
    refused("WF136", "sum", np.array([1, 2]), initial=0.5)
    refused("WF136", "sum", f32(1, 2), initial=1j)
    either = wf.monoid(identity=False)(lambda a, b: a | b)
    for value in (2, 0.5, -1, NAN, INF, 1j, "1"):
        refused("WF136", "max", mask(0, 1), initial=value)
        refused("WF136", "reduce", mask(0, 1), either, initial=value)
        refused("WF136", "sum", mask(0, 1), dtype="bool", initial=value)
    for value in (True, 1, 1.0, np.bool_(True), np.int8(1)):
        assert greatest(mask(0, 0), initial=value)
    assert total(mask(0, 1), initial=2) == 3
    refused("WF136", "sum", np.array([1], np.uint8), dtype="uint8", initial=256)


def test_initial_must_be_in_range() -> None:
    assert greatest(np.array([1], F16), initial=1.0001220703125) == F16(1)
    assert total(f32(), initial=0.1) == F32(0.1)
    for dtype, great in ((F16, 65520), (BF16, 3.4e38), (F32, 3.5e38), (F64, 10**309), (np.complex64, 1e39j)):
        for name in ("sum", "prod") if dtype is np.complex64 else ("sum", "prod", "max"):
            for value in (great, -great):
                refused("WF136", name, np.ones(2, dtype), initial=value)
            assert np.isinf(on_emulator(name)(np.ones(2, dtype), initial=INF))
            assert np.isnan(on_emulator(name)(np.ones(2, dtype), initial=NAN))
    add = wf.monoid(identity=0, lift=lambda x: x)(lambda a, b: a + b)
    assert reduce(np.ones(2, F16), what=add, initial=1e6) == 1_000_002
    assert greatest(np.ones(2, F16), initial=65519) == F16(65504)


# --- types ---------------------------------------------------------------------------------------------------------
def test_integers_widen() -> None:
    assert total(np.full(300, 100, np.int8)) == 30_000
    assert total(np.full(3, 2**32 - 1, np.uint32)).dtype == np.uint64
    assert total(np.full(300, True)) == 300


def test_halves_are_rounded_once() -> None:
    for dtype in (F16, BF16):
        ones = np.ones(5000, dtype)
        assert total(ones) == np.array(5000, F32).astype(dtype)  # one by one f16 stays at 2048, bf16 at 256
        x = normal(100, dtype=dtype)
        assert total(x) == total(x.astype(F32)).astype(dtype)


def test_moments_of_integers() -> None:
    x = np.array([1, 2, 4], np.int8)
    for name in ("mean", "var", "std", "norm", "logsumexp"):
        got = on_emulator(name)(x)
        assert got.dtype == F64
        assert got == pytest.approx(on_emulator(name)(x.astype(F64)), rel=1e-15)


def test_dtype_converts_elements() -> None:
    x = f64(1.7, 1.7)
    assert total(x, dtype="i32") == np.sum(x, dtype=np.int32) == 2
    assert total(f32(1e8, 1, -1e8), dtype="f64") == 1
    for x in (f64(0.5, 0.5), f64(0.5, -0.5), f64(NAN), f64(0, -0.0), f64(), np.array([-1, 1]), np.array([0, 256])):
        for name in ("sum", "prod", "mean") if len(x) else ("sum", "prod"):
            assert on_emulator(name)(x, dtype=bool) == getattr(np, name)(x, dtype=bool), (name, x)


def test_floats_saturate() -> None:
    for dtype in (F32, F64):
        got = [int(total(np.array([value], dtype), dtype="i64")) for value in (1e30, INF, -1e30, NAN)]
        assert got == [2**63 - 1, 2**63 - 1, -(2**63), 0]
        assert total(np.array([-1], dtype), dtype="u64") == 0


def test_monoids_accumulate_widely() -> None:
    add = wf.monoid(identity=0)(lambda a, b: a + b)
    square = wf.monoid(identity=0, lift=lambda x: x * x)(lambda a, b: a + b)
    for dtype in (bool, np.int8, np.uint16, np.int32, np.uint64, F16, BF16, F32, F64):
        x = np.full(1000, 100).astype(dtype)
        wide = np.sum(x, dtype=F32 if dtype in (F16, BF16) else None)
        assert (reduce(x, what=add), reduce(x, what=add).dtype) == (wide, wide.dtype)
        assert (reduce(x, what=square), reduce(x, what=square).dtype) == (1000 * float(x[0]) ** 2, wide.dtype)


def test_elements_of_a_monoid() -> None:
    seen = []

    @wf.monoid(identity=lambda t: t.lowest, has_identity=False)
    def larger(a: Any, b: Any) -> Any:
        seen.append(a.dtype.name)
        return wf.maximum(a, b)

    for dtype, register in ((np.int8, "i32"), (np.uint16, "u32"), (F16, "f32"), (BF16, "f32"), (np.int64, "i64")):
        assert reduce(np.array([1, 2], dtype), what=larger).dtype == np.dtype(dtype)
        assert register in seen
        seen.clear()


def test_chosen_types_stay() -> None:
    short = wf.monoid(identity=0, lift=lambda x: wf.cast(x, "int16") * 2)(lambda a, b: a + b)
    for dtype in (np.uint8, np.int16, np.int32):
        got = reduce(np.full(1000, 100, dtype), what=short)
        assert (got, got.dtype) == (np.int64(200_000).astype(np.int16), np.int16)
    assert reduce(np.full(3, 100, np.uint8), what=lambda x: wf.fold(wf.SUM, wf.cast(x, np.uint8))) == np.uint8(44)


def test_narrow_arithmetic_is_warned_of() -> None:
    x = np.full(1000, 100, np.uint8)
    assert reduce(x, what=lambda x: wf.fold(wf.SUM, x)) == 100_000
    with pytest.warns(wf.WarpfoldWarning, match="WF231"):
        assert reduce(x, what=lambda x: wf.fold(wf.SUM, x * x)) == np.sum(x * x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert reduce(x, what=lambda x: wf.fold(wf.SUM, wf.cast(x, "uint64") * x)) == 10_000_000


def test_accumulate_in_another_type() -> None:
    x = f32(1e8, 1, -1e8)
    assert total(x) == 0
    assert total(x, accumulate="f64") == 1
    assert total(x, accumulate="f64").dtype == F32


def test_names_of_types() -> None:
    x = np.full(3, 100, np.uint8)
    for name, wanted in (("int64", 300), ("f32", 300), (np.int8, 44), ("bfloat16", 300), ("half", 300), (float, 300)):
        assert total(x, dtype=name) == wanted
        assert total(x, dtype=name).dtype == wf.dtype(name).numpy
    assert total(x, accumulate="float64") == 300


def test_names_with_two_readings() -> None:
    for name in ("i8", "f8", "u4", "f16", "c16"):
        refused("WF160", "sum", np.full(3, 100), dtype=name)
        refused("WF160", "sum", np.full(3, 100), accumulate=name)
    assert inputs.dtypes_of("i8,f16", 2) == (wf.dtype("int8"), wf.dtype("float16"))
    assert inputs.params_of(("dtype=i8",)) == {"dtype": wf.dtype("int8")}


def test_promotion() -> None:
    for a, b in ((np.int8, F16), (np.int32, F32), (np.uint8, np.int8), (np.uint64, np.int64), (F32, np.complex64)):
        x, y = np.array([1, 2], a), np.array([3, 4], b)
        got = on_emulator("vecdot")(x, y)
        assert got == 11
        assert got.dtype == np.result_type(a, b)


def test_promotion_of_bf16() -> None:
    for other, expected in (
        (np.int8, BF16), (np.uint8, BF16), (F16, F32), (np.int16, F32), (np.int32, F64), (np.int64, F64),
    ):  # fmt: skip
        got = on_emulator("vecdot")(np.array([1, 2], BF16), np.array([3, 4], other))
        assert got.dtype == np.dtype(expected)
        assert got == 11


@pytest.mark.parametrize("dtype", [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
def test_eight_bit_floats(dtype: Any) -> None:
    codes = np.arange(256, dtype=np.uint8).view(dtype)
    got = greatest(codes[:, None], 1)
    np.testing.assert_array_equal(got, codes.astype(F32))
    np.testing.assert_array_equal(np.signbit(got[got == 0]), np.signbit(codes.astype(F32)[got == 0]))


def test_eight_bit_results() -> None:
    x = np.ones(3, ml_dtypes.float8_e5m2)
    assert total(x).dtype == F32
    refused("WF206", "sum", f32(1), dtype="f8e5m2")


# --- complex numbers -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", ["sum", "prod", "mean", "norm", "dot", "vecdot", "any", "all", "count_nonzero",
                                  "allclose", "array_equal"])  # fmt: skip
def test_complex_functions(name: str, dtype: Any) -> None:
    x = np.array([3 + 4j, 1 - 2j, 0.5j], dtype)
    arrays = [x] * types_page.arrays_of(name)
    got, wanted = on_emulator(name)(*arrays), (np.linalg.norm if name == "norm" else getattr(np, name))(*arrays)
    assert np.asarray(got).dtype == np.asarray(wanted).dtype
    np.testing.assert_allclose(got, wanted, rtol=1e-6)
    for order in (0, 1, 3, INF, -INF):
        np.testing.assert_allclose(on_emulator("norm")(x, ord=order), np.linalg.norm(x, order), rtol=1e-6)


def test_vecdot_conjugates() -> None:
    x, y = np.array([1j, 2]), np.array([3, 1 + 1j])
    assert on_emulator("vecdot")(x, y) == np.vecdot(x, y) == 2 - 1j
    assert on_emulator("dot")(x, y) == np.dot(x, y) == 2 + 5j


@pytest.mark.parametrize("name", ["min", "max", "minmax", "ptp", "argmin", "argmax", "nanmin", "nanargmax"])
def test_complex_has_no_order(name: str) -> None:
    refused("WF225", name, np.array([1 + 1j]))
    assert np.max(np.array([1 + 9j, 2])) == 2


def test_complex_has_no_variance() -> None:
    for name in ("var", "std", "mean_var", "logsumexp", "describe"):
        refused("WF225", name, np.array([1 + 1j]))


def test_complex_zero() -> None:
    x = np.array([0, 1j, 1, complex(0, NAN), complex(-0.0, -0.0)])
    assert on_emulator("count_nonzero")(x) == np.count_nonzero(x) == 3


def test_complex_products() -> None:
    x = np.array([complex(INF, 0), complex(0, 1)])
    with np.errstate(invalid="ignore"):
        for got in (product(x), np.prod(x)):
            assert np.isnan(got.real)
            assert np.isnan(got.imag)
    assert product(np.array([1 + 2j, 3 - 1j])) == 5 + 5j


def test_complex_modulus() -> None:
    for scale in (1e30, 1e-30):
        x = (np.array([3 + 4j]) * scale).astype(np.complex64)
        assert on_emulator("norm")(x, ord=1) == pytest.approx(5 * scale, rel=1e-6)


def test_complex_infinity() -> None:
    for dtype, parts in itertools.product((np.complex64, np.complex128), ((INF, NAN), (NAN, -INF), (-INF, 2))):
        z = np.array([3 + 4j, complex(*parts)], dtype)
        assert reduce(z, what=lambda z: wf.fold(wf.MAX, abs(z))) == np.abs(z).max() == INF
        for how in ({"ord": 1}, {"ord": 2}, {"ord": 3}, {"ord": INF}, {"accumulate": "compensated"}):
            assert on_emulator("norm")(z, **how) == INF
            assert np.isnan(on_emulator("norm")(np.append(z, z.dtype.type(complex(NAN, 1))), **how))
        assert on_emulator("norm")(z, ord=-INF) == 5


def test_complex_to_real() -> None:
    refused("WF230", "sum", np.array([1 + 1j]), dtype="f64")


# --- indices -------------------------------------------------------------------------------------------------------
def test_indices_are_row_major() -> None:
    x = normal(7, 11)
    for v in (x, x.T, x[::-1, ::-2]):
        got = on_emulator("argmax")(v)
        assert got == v.argmax()
        assert got.dtype == np.int64


def test_indices_over_several_axes() -> None:
    x = normal(3, 5, 7)
    got = on_emulator("argmin")(x, (0, 2))
    np.testing.assert_array_equal(got, x.transpose(1, 0, 2).reshape(5, 21).argmin(1))
    with pytest.raises(TypeError):
        np.argmin(x, (0, 2))  # type: ignore[call-overload]


def test_indices_count_everything() -> None:
    assert on_emulator("nanargmin")(f32(NAN, 3, NAN, 1)) == 3
    assert on_emulator("argmax")(f32(NAN, 3, NAN, 1), nan="ignore") == 1


# --- comparisons and counts ----------------------------------------------------------------------------------------
def compared(a: Array, b: Any, what: Callable[..., Any]) -> Any:
    """``what`` of two arrays, or of an array and a Python number, for each element."""
    if isinstance(b, np.ndarray):
        return reduce(a, b, what=lambda x, y: wf.fold(wf.ANY, what(x, y)), axis=())
    return reduce(a, what=lambda x: wf.fold(wf.ANY, what(x, b)), axis=())


COMPARISONS = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)


@pytest.mark.parametrize("signed", [np.int8, np.int32, np.int64])
def test_integers_compare_exactly(signed: Any) -> None:
    info = np.iinfo(signed)
    u = np.array([0, 1, 127, 2**31, 2**63 - 1, 2**63, 2**64 - 1], np.uint64)
    i = np.array([0, 1, -1, info.max, info.min, info.max - 1, info.min + 1], signed)
    x, y = (np.ascontiguousarray(a) for a in np.broadcast_arrays(u[:, None], i))
    for compare in COMPARISONS:
        np.testing.assert_array_equal(compared(x, y, compare), compare(x, y))
        np.testing.assert_array_equal(compared(y, x, compare), compare(y, x))
        for number in (info.min - 1, info.max + 1, -(2**70), 2**70, 0, info.max):
            np.testing.assert_array_equal(compared(i, number, compare), compare(i, number))
    assert not on_emulator("array_equal")(np.uint64([2**63]), np.int64([2**63 - 1]))
    assert on_emulator("array_equal")(np.uint64([2**63 - 1]), np.int64([2**63 - 1]))


def test_integers_meet_floats() -> None:
    i, u, s = np.int64([2**53, 2**53 + 1]), np.uint64([2**64 - 1, 2**63]), np.int16([2049, -32768])
    for x, y in (
        (i, f64(2**53, 2**53)),
        (u, f64(2**64, 2**63)),
        (i, f32(2**53, 1)),
        (s, F16([2048, -32768])),
        (s, 0.5),
    ):
        for compare in COMPARISONS:
            np.testing.assert_array_equal(compared(x, y, compare), compare(x, y))
    for number in (2**24 + 1, 70000, 0.1):
        for x in (f32(2**24, 0.1), F16([INF, 0.1])):
            with np.errstate(over="ignore"):
                np.testing.assert_array_equal(compared(x, number, operator.eq), x == number)


def test_selections_of_two_types() -> None:
    u, i = np.uint64([2**63, 3]), np.int64([-1, 5])
    for ours, numpy in ((wf.maximum, np.maximum), (wf.minimum, np.minimum)):
        got = reduce(u, i, what=lambda x, y, f=ours: wf.fold(wf.MAX, f(x, y)), axis=())
        np.testing.assert_array_equal(got, numpy(u, i))
        assert got.dtype == np.maximum(u, i).dtype == F64
    chosen = reduce(u, i, what=lambda x, y: wf.fold(wf.MAX, wf.where(x > y, x, y)), axis=())
    np.testing.assert_array_equal(chosen, np.where(u > i, u, i))


def test_allclose_is_not_symmetric() -> None:
    x, y = f64(1.0), f64(1.1)
    close = partial(on_emulator("allclose"), atol=0.0, rtol=0.095)
    assert close(x, y)
    assert not close(y, x)
    assert on_emulator("allclose")(f64(1.0), f64(1.0 + 1e-9))
    assert not on_emulator("allclose")(f64(0.0), f64(1e-7))


def test_allclose_of_infinity() -> None:
    close = on_emulator("allclose")
    assert close(f32(INF, -INF), f32(INF, -INF))
    assert not any(close(f32(a), f32(b)) for a, b in ((INF, -INF), (INF, 1), (1, INF)))


def test_arrays_of_two_shapes() -> None:
    assert not on_emulator("array_equal")(np.ones(2), np.ones(3))
    assert not on_emulator("array_equal")(np.ones(2), np.ones((1, 2)))


def test_correction() -> None:
    x = f64(1, 2, 4)
    for correction in (0.0, 1.0, 1.5):
        divided = ((x - x.mean()) ** 2).sum() / (3 - correction)
        assert on_emulator("var")(x, correction=correction) == pytest.approx(divided)
        assert on_emulator("std")(x, correction=correction) == pytest.approx(math.sqrt(divided))
    assert np.isnan(on_emulator("var")(x, correction=3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.var(x, ddof=3) == INF


def test_unique_is_sorted() -> None:
    x = np.random.default_rng(0).integers(-128, 128, 100).astype(np.int8)
    np.testing.assert_array_equal(on_emulator("unique")(x), np.unique(x))


# --- segments ------------------------------------------------------------------------------------------------------
def segments(x: Any, offsets: Any, what: Any, **how: Any) -> Any:
    return wf.segment_reduce(x, offsets, what, device="emulator", **how)


def test_segments_are_slices() -> None:
    x, offsets = normal(400), [3, 3, 4, 10, 390]
    got = segments(x, offsets, "sum")
    pairs = itertools.pairwise(offsets)
    np.testing.assert_allclose(got, [x[a:b].sum(dtype=F64) for a, b in pairs], rtol=1e-5, atol=1e-5)


def test_empty_segments() -> None:
    assert segments(f32(1, 2), [0, 0, 2], "sum").tolist() == [0, 3]
    with pytest.raises(ValueError, match="WF144"):
        segments(f32(1, 2), [0, 0, 2], "max")


def test_segments_begin_at_zero() -> None:
    assert segments(f32(1, 5, 2, 9, 3), [0, 2, 5], "argmax").tolist() == [1, 1]
    assert segments(f32(1, 5, 2, 9, 4), [0, 2, 5], "mean").tolist() == [3, 5]


def test_segments_by_id() -> None:
    assert segments(f32(1, 2, 4), None, "sum", ids=[0, 0, 2]).tolist() == [3, 0, 4]
    assert segments(f32(1, 2, 4), None, "sum", ids=[1, 1, 1], num_segments=3).tolist() == [0, 7, 0]


def test_ids_rise() -> None:
    x, ids = normal(50), np.random.default_rng(2).integers(0, 4, 50)
    with pytest.raises(ValueError, match="WF180"):
        segments(x, None, "sum", ids=ids)
    order = np.argsort(ids, kind="stable")
    got = segments(x[order], None, "argmax", ids=ids[order])
    assert got.tolist() == [int(x[ids == k].argmax()) for k in range(4)]


def test_offsets_like_ids() -> None:
    with pytest.warns(wf.WarpfoldWarning, match="WF178"):
        assert segments(f32(1, 2, 4, 8), [0, 0, 1, 3], "sum").tolist() == [0, 1, 6]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert segments(f32(1, 2, 4, 8), [0, 0, 1, 4], "sum").tolist() == [0, 1, 14]


def test_several_at_once() -> None:
    x = normal(3, 500)
    got = reduce(x, what=("sum", "max", wf.ARGMIN, "mean_var"), axis=1)
    np.testing.assert_allclose(got[0], total(x, 1), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(got[1], x.max(1))
    np.testing.assert_array_equal(got[2], x.argmin(1))
    np.testing.assert_allclose(got[3].var, on_emulator("var")(x, 1), rtol=1e-5)


# --- accuracy ------------------------------------------------------------------------------------------------------
U32, U64 = 2.0**-24, 2.0**-53


def g(k: int, u: float) -> float:
    """Higham's gamma: a product of k factors 1 + e, with |e| <= u, is within it of 1."""
    return k * u / (1 - k * u)


def additions(n: int, **how: Any) -> int:
    """The most additions an element goes through in the plan for the sum of n elements."""
    ready = plan_for("sum", (n,), "f32", **how)
    return depth(ready.choice.plan, ready.choice.run)


def exact_sum(values: Array) -> Fraction:
    return sum(map(Fraction, values.astype(F64).tolist()), Fraction(0))


def cancelling(n: int, seed: int) -> Array:
    """Elements of very different sizes whose sum is small beside them."""
    rng = np.random.default_rng(seed)
    half = (rng.standard_normal(n // 2) * 10.0 ** rng.uniform(-6, 6, n // 2)).astype(F32)
    x = np.concatenate([half, -half + rng.standard_normal(n // 2).astype(F32) * F32(1e-3)])
    return rng.permutation(x)


def error_of_sum(x: Array, **how: Any) -> tuple[float, float, float]:
    """(error of the sum, sum of magnitudes, magnitude of the sum)."""
    exact = exact_sum(x)
    got = Fraction(float(total(x, **how)))
    return float(abs(got - exact)), float(np.abs(x.astype(F64)).sum()), float(abs(exact))


SIZES = (2, 30, 1000, 40_000)


def test_depth_of_the_tree() -> None:
    assert additions(1_000_000) < 200
    assert additions(2**24) < 1000


@pytest.mark.parametrize("times", [2, 3, 5, 64, 1000, 4095])
def test_repeated_elements(times: int) -> None:
    ready = plan_for("sum", (900,), "f32")
    d = depth(ready.choice.plan, ready.choice.run, times)
    assert d == additions(900) + math.ceil(math.log2(times))
    for seed in range(5):
        once = cancelling(900, seed)
        got = on_emulator("sum")(np.broadcast_to(once, (times, 900)))
        off = abs(Fraction(float(got)) - times * exact_sum(once))
        assert off <= g(d, U32) * times * float(np.abs(once.astype(F64)).sum())
        if times == 2 ** (times.bit_length() - 1):  # and doubling rounds nothing
            assert got == times * on_emulator("sum")(once)


def plain(n: int, magnitudes: float, size: float) -> float:
    return g(additions(n), U32) * magnitudes + U32 * size


def wide(n: int, magnitudes: float, size: float) -> float:
    return (1 + U32) * g(additions(n, accumulate="f64"), U64) * magnitudes + U32 * size


def compensated(n: int, magnitudes: float, size: float) -> float:
    d = additions(n, accumulate="compensated")
    return U32 * size + (1 + U32) * g(2 * d, U32) * g(d, U32) * magnitudes


def keeps(bound: Callable[[int, float, float], float], n: int, accumulate: Any) -> bool:
    """Whether sums that cancel stay within a bound."""
    found = [error_of_sum(cancelling(n, seed), accumulate=accumulate) for seed in range(5)]
    return all(error <= bound(n, magnitudes, size) for error, magnitudes, size in found)


@pytest.mark.parametrize("n", SIZES)
def test_plain_sum_bound(n: int) -> None:
    assert keeps(plain, n, None)


@pytest.mark.parametrize("n", SIZES)
def test_wide_sum_bound(n: int) -> None:
    assert keeps(wide, n, "f64")
    assert n < 1000 or not keeps(wide, n, None)


@pytest.mark.parametrize("n", SIZES)
def test_compensated_sum_bound(n: int) -> None:
    assert keeps(compensated, n, "compensated")
    assert n < 1000 or not keeps(compensated, n, None)


def test_two_sum_is_exact() -> None:
    """The monoid itself, on Python's floats: what it keeps beside the sum is all that the sum lost."""
    rng = np.random.default_rng(0)
    for a, b in rng.standard_normal((200, 2)) * 10.0 ** rng.integers(-20, 20, (200, 2)):
        s, lost = wf.COMPENSATED((float(a), 0.0), (float(b), 0.0))
        assert Fraction(s) + Fraction(lost) == Fraction(float(a)) + Fraction(float(b))


def test_compensated_dot() -> None:
    x, y = f32(4097, 1, 4097), f32(4097, 1, -4097)  # 4097^2 has 25 bits
    assert on_emulator("dot")(x, y, accumulate="compensated") == 1
    z = f32(4097, 4096)
    exact = math.sqrt(4097**2 + 4096**2)
    assert on_emulator("norm")(z, accumulate="compensated") == F32(exact)
    assert on_emulator("dot")(f32(4097, 4096), f32(4097, -4096), accumulate="compensated") == 8193
    assert on_emulator("dot")(f32(4097, 4096), f32(4097, -4096)) != 8193


def test_compensated_overflow() -> None:
    for x in (f32(3e38, 3e38, -3e38), f32(INF, 1), f32(-INF, 1)):
        assert total(x, accumulate="compensated") == total(x)


def test_not_compensated() -> None:
    for name in ("prod", "var", "std"):
        refused("WF137", name, f32(1, 2), accumulate="compensated")
    refused("WF127", "logsumexp", f32(1, 2), accumulate="compensated")


@pytest.mark.parametrize("t", [np.bool_, np.int8, np.uint8, np.int16, np.uint16])
def test_exact_means(t: type) -> None:
    """Of sums that f64, and f32, cannot hold on their way."""
    x = np.random.default_rng(3).integers(0, 1 << 8 * np.dtype(t).itemsize, 100_003).astype(t)
    exact = Fraction(int(x.sum(dtype=np.int64)), x.size)
    for options, bits in (({}, 53), ({"dtype": "f32"}, 24), ({"accumulate": "compensated"}, 53)):
        got = Fraction(float(on_emulator("mean")(x, **options)))
        assert abs(got - exact) <= 2 * Fraction(1, 1 << bits) * abs(exact)
    where = x > 1
    if where.any():
        exact = Fraction(int(x.sum(dtype=np.int64, where=where)), int(where.sum()))
        assert abs(Fraction(float(on_emulator("mean")(x, where=where))) - exact) <= abs(exact) / (1 << 52)
    assert on_emulator("mean")(x, dtype="f32").dtype == np.float32
    greatest = np.iinfo(t).max if t is not np.bool_ else 1
    for n in (2**46, 2**47 - 1, 2**47, 2**48 + 1, 2**60):
        got = on_emulator("mean")(np.broadcast_to(t(greatest), (n,)))
        assert got == pytest.approx(greatest, rel=1e-15)


@pytest.mark.parametrize("n", [2, 100, 3000])
def test_product_bound(n: int) -> None:
    x = (1 + normal(n, dtype=F64) / 1000).astype(F32)
    exact = math.prod(map(Fraction, x.astype(F64).tolist()))
    assert abs(Fraction(float(product(x))) - exact) <= g(n - 1, U32) * exact


@pytest.mark.parametrize("shift", [0, 10, 1000, 100_000])
def test_variance_far_from_zero(shift: int) -> None:
    x = (normal(2000, dtype=F64) + shift).astype(F32)
    wide = x.astype(F64)
    k = float(np.linalg.norm(wide) / np.linalg.norm(wide - wide.mean()))
    error = abs(float(on_emulator("var")(x)) / wide.var() - 1)
    assert error <= 4 * additions(2000) * k * U32


def test_roots_are_rounded_once() -> None:
    for value in (2.0, 3.0, 5.0, 1e30, 7e-20):
        x = np.array([math.sqrt(value)])
        assert on_emulator("norm")(x) == np.sqrt(x[0] * x[0])
    y = f64(1, 2, 4, 8)
    assert on_emulator("std")(y) == np.sqrt(on_emulator("var")(y))


# --- layout --------------------------------------------------------------------------------------------------------
def strides(result: Any) -> tuple[int, ...]:
    """In elements."""
    return tuple(s // result.itemsize for s in result.strides)


def test_results_lie_as_the_inputs() -> None:
    x = np.arange(60.0).reshape(3, 4, 5)
    turned = x.transpose(2, 0, 1)
    assert strides(total(turned, 1)) == (1, 5)
    assert strides(total(turned, 2)) == (1, 5)
    assert strides(total(turned, 0)) == (4, 1)
    assert strides(total(turned[::-1, :, ::-2], 1)) == (1, 5)
    assert strides(total(x[::-1, :, ::-1], 1)) == (5, 1)
    assert strides(on_emulator("argmax")(turned, 1)) == (1, 5)
    assert strides(total(turned * 1j, 1)) == (1, 5)
    assert strides(on_emulator("allclose")(turned, turned, axis=1)) == (1, 5)


def test_strides_of_numpy() -> None:
    x = np.broadcast_to(np.arange(60).reshape(3, 1, 4, 5), (3, 2, 4, 5))
    for order in itertools.permutations(range(4)):
        v = x.transpose(order)[::-1, :, 1:]
        for axis, keepdims in itertools.product((1, (0, 2), (), (3,)), (False, True)):
            assert total(v, axis, keepdims=keepdims).strides == v.sum(axis, keepdims=keepdims).strides


def test_axes_without_a_place() -> None:
    x = np.arange(12.0).reshape(3, 4)
    assert strides(total(x.T[:, :, None], ())) == (1, 4, 1)
    assert strides(total(np.broadcast_to(x.T[:, None], (4, 5, 3)), 0)) == (3, 1)
    assert strides(total(np.broadcast_to(x.T[:, None], (4, 5, 3)), 1)) == (1, 4)
    assert strides(total(np.lib.stride_tricks.as_strided(x, (4, 5), (8, 8)), ())) == (5, 1)


def test_layout_of_several_inputs() -> None:
    x = np.arange(60.0).reshape(3, 4, 5)
    y, z = x.transpose(2, 1, 0), np.ones((5, 4, 3))
    dot = on_emulator("vecdot")
    assert strides(dot(y, z)) == (1, 5)
    assert strides(dot(z, y)) == (4, 1)
    assert strides((z * y).sum(-1)) == (4, 1)
    assert strides(dot(np.broadcast_to(1.0, y.shape), y)) == (1, 5)
    assert strides(total(z, 2, where=y > 3)) == (4, 1)
    assert strides(total(np.broadcast_to(1.0, y.shape), 2, where=y > 3)) == (1, 5)


def test_results_lie_alike() -> None:
    x = np.arange(60.0).reshape(3, 4, 5).transpose(2, 0, 1)
    assert {strides(r) for r in on_emulator("describe")(x, 1)} == {(1, 5)}
    assert [strides(r) for r in reduce(x, what=("sum", "argmin", "any"), axis=1)] == [(1, 5)] * 3


def test_layout_of_segments() -> None:
    x = np.arange(60.0).reshape(3, 4, 5).transpose(2, 0, 1)
    for axis, expected in ((0, (1, 8, 2)), (1, (1, 20, 5)), (2, (1, 10, 5))):
        assert strides(wf.segment_reduce(x, [0, 1, 3], "sum", axis=axis, device="emulator")) == expected


def test_results_in_c_order() -> None:
    assert strides(total(np.zeros((3, 0, 4)).T, 1)) == (3, 1)
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    got = total(jax.numpy.ones((3, 4, 5)).transpose(2, 0, 1), 1)
    assert np.asarray(got).strides == np.ones((5, 4), got.dtype).strides


def test_layout_of_out() -> None:
    x = normal(64, 3, 40).transpose(2, 0, 1)
    out = np.zeros((40, 3), F32)
    total(x, 1, out=out)
    assert strides(out) == (3, 1)
    np.testing.assert_allclose(total(x, 1), out, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(greatest(x, 1), greatest(x, 1, out=out))


# --- out= ----------------------------------------------------------------------------------------------------------
def test_out_is_written() -> None:
    whole = np.full(6, 7, F32)
    out = whole[::3]
    assert total(np.ones((2, 5), F32), 1, out=out) is out
    assert whole.tolist() == [5, 7, 7, 5, 7, 7]


def test_out_must_fit() -> None:
    x = np.ones((2, 5), F32)
    refused("WF109", "sum", x, 1, out=np.zeros(2))
    refused("WF108", "sum", x, 1, out=np.zeros(3, F32))


def test_out_stands_apart() -> None:
    x = np.ones((2, 5), F32)
    refused("WF111", "sum", x, 1, out=x[:, 0])
    out = np.zeros(2, F32)
    refused("WF132", "minmax", x, 1, out=(out, out))
    refused("WF110", "sum", x, 1, out=np.lib.stride_tricks.as_strided(np.zeros(1, F32), (2,), (0,)))


def test_out_after_a_mistake() -> None:
    out = np.full(2, 7, F32)
    refused("WF133", "max", np.ones((2, 5), F32), 1, out=out, where=np.ones(5, bool))
    refused("WF127", "max", np.ones((2, 5), F32), 1, out=out, correction=1)
    assert out.tolist() == [7, 7]


def test_out_after_a_check() -> None:
    out = np.full(2, 7, F32)
    refused("WF135", "sum", np.array([[1, 2], [3, NAN]], F32), 1, out=out, nan="raise")
    assert out[0] == 3


# --- where PyTorch differs --------------------------------------------------------------------------------------------
def test_results_are_of_the_inputs_library() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    got = total(torch.ones(2, 3), 1)
    assert isinstance(got, torch.Tensor)
    assert got.tolist() == [3, 3]
    assert isinstance(total(np.ones((2, 3)), 1), np.ndarray)


def test_gradients() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x = torch.ones(3, requires_grad=True)
    total(x * 2).backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_no_gradients() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x = torch.ones(3, requires_grad=True)
    with pytest.raises(wf.WarpfoldError, match="WF165"):
        total(x, out=torch.zeros(()))
    with pytest.raises(wf.WarpfoldError, match="WF165"):
        wf.sum([1.0, 2.0], initial=x[0])
    assert total(x.detach()).item() == 3
    with torch.no_grad():
        assert total(x).item() == 3


@pytest.mark.filterwarnings("ignore")
def test_recorders() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    from torch.fx.experimental.proxy_tensor import make_fx

    with pytest.raises(wf.WarpfoldError, match=r"WF114.* records operations"):
        torch.jit.trace(lambda v: total(v), torch.ones(3))
    assert make_fx(total)(torch.ones(3))(torch.ones(4)) == 4


def test_torch_compile() -> None:
    for function in (wf.segment_reduce, wf.unique, wf.Compiled.__call__):
        assert function._torchdynamo_disable  # for real in ``runtime/arrays/test_torch_compile.py``
    for function in (wf.sum, wf.reduce, wf.dot):
        assert not hasattr(function, "_torchdynamo_disable")


def test_pytorch_correction() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x = torch.tensor([1.0, 2.0, 4.0])
    assert float(on_emulator("var")(x)) == pytest.approx(np.var(x.numpy()))
    assert float(on_emulator("var")(x, correction=1)) == pytest.approx(float(torch.var(x)))


def test_pytorch_layout() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x = torch.ones(3, 4, 5).permute(2, 0, 1)
    assert torch.sum(x, 1).stride() == (4, 1)
    assert total(x, 1).stride() == (1, 5)
    assert total(x, 1).contiguous().view(20).tolist() == [3] * 20


def test_pytorch_types() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x = torch.tensor([1, 2, 3], dtype=torch.uint8)
    assert total(x).dtype == torch.uint64
    assert torch.sum(x).dtype == torch.int64
    for name, theirs in (("mean", torch.mean), ("norm", torch.linalg.vector_norm)):
        assert on_emulator(name)(x).dtype == torch.float64
        with pytest.raises(RuntimeError):
            theirs(x)


def test_pytorch_extremes() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x = torch.tensor([[1.0, 5.0, 5.0]])
    assert greatest(x, 1).tolist() == [5]
    values, places = torch.max(x, 1)
    assert [g.tolist() for g in reduce(x, what=("max", "argmax"), axis=1)] == [values.tolist(), places.tolist()]


# --- programs of arrays --------------------------------------------------------------------------------------------
def run_program(function: Any, *arrays: Any) -> Any:
    return wf.program(function)(*arrays, device="emulator")


def test_programs_broadcast() -> None:
    x, row, column = normal(3, 4), normal(4), normal(3, 1)
    assert np.array_equal(run_program(lambda x, r, c: x * r + c, x, row, column), x * row + column)
    with pytest.raises(wf.WarpfoldError, match="WF254"):
        run_program(lambda x, c: x * c, x, column[:, 0])


def test_numbers_beside_arrays() -> None:
    x = normal(3, 4)
    assert run_program(lambda x: x * 2 / x.shape[0] + 0.5, x).dtype == F32
    assert run_program(lambda x, t: x * t, x, np.array(2.0)).dtype == F64
    assert run_program(lambda x: x * np.float64(2), x).dtype == F64


def test_halves_in_programs() -> None:
    x = f32(1, 2.0**-9, -1).astype(BF16)
    assert run_program(lambda x: wf.sum(x + 0) - wf.sum(x * 0 + 1) + 3, x) == 2.0**-9
    assert run_program(lambda x: wf.sum(wf.cast(x + 1, x.dtype) - 1), x) == 0
    assert run_program(lambda x: wf.sum((x + 1).astype(x.dtype) - 1), x) == 0


def test_8_bit_floats_as_results() -> None:
    x = f32(1, 1.0625, 1.1875, 1e9, -INF, NAN)
    found = run_program(lambda x: wf.cast(x, "float8_e4m3fn"), x)
    assert found.dtype == ml_dtypes.float8_e4m3fn
    assert [str(float(v)) for v in found] == ["1.0", "1.0", "1.25", "448.0", "-448.0", "nan"]
    assert run_program(lambda x: x + x, found[:2]).dtype == F32


def test_sizes_are_values() -> None:
    def by_value(x: Any) -> Any:
        return x / x.shape[0]

    def by_decision(x: Any) -> Any:
        return x / math.sqrt(x.shape[0]) if x.shape[0] > 2 else x

    value, decision = wf.program(by_value), wf.program(by_decision)
    for n in (2, 3, 4):
        x = normal(n)
        assert np.allclose(value(x), x / n)
        assert np.allclose(decision(x), x / math.sqrt(n) if n > 2 else x)
        specialised = [trace_arrays(f, [ArrayArg(wf.dtype(F32), (n,))], {}).sizes for f in (by_value, by_decision)]
        assert specialised == [(), ((0, 0, n),)]


def test_order_in_programs() -> None:
    @wf.monoid(identity=(1, 0), commutative=False)
    def digits(a: Any, b: Any) -> Any:
        return a[0] * b[0], a[1] * b[0] + b[1]

    def number(x: Any) -> Any:
        return wf.fold(digits, wf.cast(x * 0 + 10, "i64"), wf.cast(x, "i64"))[1]

    x = np.arange(6).reshape(2, 3)
    assert [int(v) for v in run_program(lambda x: (number(x), number(x.T)), x)] == [12345, 31425]


def test_assignment_in_programs() -> None:
    def clipped(x: Any) -> Any:
        y = x * 1
        y[y > 0] = 7
        return y

    x = normal(3, 4)
    assert np.array_equal(run_program(clipped, x), np.where(x > 0, 7, x))
    for array in (lambda x: x, lambda x: (-x).T):
        with pytest.raises(wf.WarpfoldError, match="WF259"):
            run_program(lambda x, array=array: array(x).__setitem__(array(x) > 0, 7), x)


def test_elements_at_positions() -> None:
    x, places = normal(3, 4), np.array([[1, 0], [-1, -4], [4, -5]])
    found = run_program(lambda x, i: x.__array_namespace__().take_along_axis(x, i, axis=1), x, places)
    assert found.tolist() == [[x[0, 1], x[0, 0]], [x[1, 3], x[1, 0]], [0, 0]]
    same = run_program(lambda x, i: x.__array_namespace__().take(x, i, axis=0), x, np.array([2, -3, 3]))
    assert same.tolist() == [x[2].tolist(), x[0].tolist(), [0] * 4]


def test_sums_of_one_element() -> None:
    def one(x: Any, t: Any) -> Any:
        numbers = x.__array_namespace__().arange(x.shape[1])
        return wf.sum(wf.where(numbers == t[:, None], wf.exp(x), 0), axis=1)

    x = normal(5, 4)
    x[:, 1], x[:, 2] = np.nan, np.inf
    found = run_program(one, x, np.array([0, 1, 2, -1, 4]))
    np.testing.assert_allclose(found, [np.exp(x[0, 0]), np.nan, np.inf, 0, 0], rtol=1e-6)


def test_constant_results() -> None:
    def constants(x: Any) -> Any:
        xp = x.__array_namespace__()
        return xp.ones_like(x), xp.arange(x.shape[1]), wf.argmax(x[None], axis=0)

    ones, places, first = run_program(constants, normal(2, 3))
    assert (ones.tolist(), places.tolist(), first.tolist()) == ([[1] * 3] * 2, [0, 1, 2], [[0] * 3] * 2)


def test_no_complex_programs() -> None:
    with pytest.raises(wf.WarpfoldError, match="WF268: z is of type c64"):
        run_program(lambda z: z, normal(3).astype(np.complex64))


# --- built-in programs ---------------------------------------------------------------------------------------------
softmax, log_softmax, layer_norm, rms_norm, batch_norm, cross_entropy, quantize = (
    on_emulator(n)
    for n in ("softmax", "log_softmax", "layer_norm", "rms_norm", "batch_norm", "cross_entropy", "quantize")
)
HALVES = (F16, BF16)


def test_types_of_built_in_programs() -> None:
    x, w = normal(2, 5), normal(5, dtype=F64)
    for kind in (*HALVES, F32, F64):
        for found in (softmax(x.astype(kind), w), layer_norm(x.astype(kind), w), rms_norm(x.astype(kind), w)):
            assert found.dtype == kind
        wide_kind = F64 if kind == F64 else F32
        assert cross_entropy(x.astype(kind), np.array([0, 1])).dtype == wide_kind
        output, mean, var = batch_norm(x.astype(kind), training=True)
        assert (output.dtype, mean.dtype, var.dtype) == (kind, wide_kind, wide_kind)
    assert softmax(np.arange(3)).dtype == F64


def test_one_rounding_of_halves() -> None:
    for kind in HALVES:
        x = normal(4, 40).astype(kind)
        for function in (softmax, layer_norm, rms_norm):
            exact = function(x.astype(F64)).astype(F32)
            np.testing.assert_allclose(function(x).astype(F32), exact.astype(kind).astype(F32), rtol=0.01, atol=1e-6)
            assert (function(x) == exact.astype(kind)).mean() > 0.99


def test_exponentials_of_halves() -> None:
    for kind in HALVES:
        x = (4 * normal(4, 400)).astype(kind)
        exact = np.exp(x.astype(F64) - x.astype(F64).max(1, keepdims=True)).sum(1)
        found = wf.cross_entropy(x, np.argmax(x, axis=1), reduction="none").astype(F64)
        np.testing.assert_allclose(np.exp(found), exact, rtol=2.0**-20)
        kernels = {how: wf.softmax.compile(x, determinism=how).artifact.kernels for how in ("run", "portable")}
        assert {how: "ex2.approx.ftz.f32" in k.ptx for how, (k,) in kernels.items()} == {"run": True, "portable": False}


def test_exponentials_of_halves_in_reductions() -> None:
    for kind in HALVES:
        x = (4 * normal(4, 400)).astype(kind)
        exact = np.log(np.exp(x.astype(F64)).sum(1)).astype(kind)
        for how in ("run", "portable"):
            assert (wf.logsumexp(x, axis=1, determinism=how) == exact).all()


def test_empty_rows_of_built_in_programs() -> None:
    for function in (softmax, layer_norm, rms_norm, on_emulator("standardize")):
        assert function(normal(3, 0)).shape == (3, 0)
        assert function(normal(0, 3)).shape == (0, 3)


def test_softmax_of_finite_elements() -> None:
    for row in ((3e38, -3e38, 3e38), (-3e38, -3e38), (88, 89, 90), (1e-45, 0, -1e-45)):
        found = softmax(f32(*row))
        assert np.isfinite(found).all()
        assert abs(found.sum() - 1) < 1e-6


def test_softmax_of_minus_infinity() -> None:
    np.testing.assert_array_equal(softmax(f32(-INF, 1, 1)), [0, 0.5, 0.5])
    assert log_softmax(f32(-INF, 1))[0] == -INF


def test_softmax_of_one_element() -> None:
    for x in (5, -3e38, 1e-45):
        assert softmax(f32(x)) == 1
        assert log_softmax(f32(x)) == 0
    assert len(set(softmax(f32(2, 2, 2)).tolist())) == 1


def test_softmax_without_a_value() -> None:
    for row in ((NAN, 1), (INF, 1), (INF, INF), (-INF, -INF)):
        assert np.isnan(softmax(f32(*row))).all()
        assert np.isnan(log_softmax(f32(*row))).all()


def test_softmax_under_a_mask() -> None:
    x, where = np.array([[1, NAN, 1, INF], [1, 2, 3, 4]], F32), np.array([[True, False, True, False], [False] * 4])
    found = softmax(x, where=where)
    assert found[0].tolist() == [0.5, 0, 0.5, 0]
    assert np.isnan(found[1]).all()


def test_norms_of_a_constant() -> None:
    x = np.full((2, 4, 3), 7, F32)
    norms = {n: on_emulator(n) for n in ("layer_norm", "instance_norm")}
    norms |= {"group_norm": lambda x, **how: on_emulator("group_norm")(x, 2, **how)}
    norms |= {"batch_norm": lambda x, **how: batch_norm(x, training=True, **how)[0]}
    for norm in norms.values():
        assert (norm(x) == 0).all()
        assert np.isnan(norm(x, eps=0.0)).all()


def test_norms_of_infinities() -> None:
    for norm in (layer_norm, rms_norm):
        assert np.isnan(norm(f32(NAN, 1, 2))).all()
    assert np.isnan(layer_norm(f32(INF, 1, 2))).all()
    np.testing.assert_array_equal(rms_norm(f32(INF, 1, 2)), [NAN, 0, 0])


def test_norms_of_great_elements() -> None:
    assert np.isfinite(layer_norm(np.array([65504, -65504, 1], np.float16))).all()
    assert np.isfinite(rms_norm(np.array([65504] * 100, np.float16))).all()
    assert np.isfinite(layer_norm(f32(1e18, -1e18, 1))).all()
    assert rms_norm(f32(1e20, 1)).tolist() == [0, 0]


def test_statistics_of_batch_norm() -> None:
    x = normal(5, 3, 4)
    _, mean, var = batch_norm(x, training=True)
    np.testing.assert_allclose(mean, x.mean((0, 2)), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(var, x.var((0, 2)), rtol=1e-5)


def test_normalize_of_zeros() -> None:
    assert on_emulator("normalize")(np.zeros((2, 3), F32)).tolist() == [[0] * 3] * 2


def test_ignored_targets() -> None:
    x, target = normal(3, 4), np.array([1, -100, 2])
    losses = cross_entropy(x, target, reduction="none")
    assert losses[1] == 0
    np.testing.assert_allclose(cross_entropy(x, target), losses.sum() / 2, rtol=1e-6)
    none = np.full(3, -100)
    assert np.isnan(cross_entropy(x, none))
    assert cross_entropy(x, none, reduction="sum") == 0


def test_targets_outside_of_the_classes() -> None:
    x, target, out = normal(3, 4), np.array([1, 4, -1]), np.zeros(3, F32)
    assert np.isnan(cross_entropy(x, target, reduction="none")).tolist() == [False, True, True]
    with pytest.raises(wf.WarpfoldError, match="WF189"):
        cross_entropy(x, target, reduction="none", check=True, out=out)
    assert out[0] != 0


def test_losses_of_far_logits() -> None:
    x, target = np.round(normal(4, 5) * 8) / 8, np.array([0, 1, 2, 3])
    far = x + F32(2.0**20)
    assert np.array_equal(cross_entropy(far, target, reduction="none"), cross_entropy(x, target, reduction="none"))


def test_z_loss_is_not_weighted() -> None:
    x, target, weight = normal(3, 4), np.array([0, 1, 2]), f32(2, 2, 2, 2)
    plain, both = (cross_entropy(x, target, weight, reduction="none", z_loss=z) for z in (0.0, 0.5))
    squares = on_emulator("logsumexp")(x, 1) ** 2
    np.testing.assert_allclose(both - plain, 0.5 * squares, rtol=1e-5)


def test_scales_of_finite_rows() -> None:
    x = np.array([[0, 0], [1e-45, 0], [3.4e38, 1], [1e-38, -1e-38], [-2, 1]], F32)
    for to in ("float8_e4m3fn", "float8_e5m2", "int8"):
        q, scale = quantize(x, to)
        assert scale[0] == 1
        assert (scale >= 2.0**-126).all()
        assert np.isfinite(scale).all()
        assert np.isfinite(q.astype(F32)).all()
        assert q[0].astype(F32).tolist() == [0, 0]


def test_scales_of_other_rows() -> None:
    for to in ("float8_e4m3fn", "int8"):
        _, scale = quantize(np.array([[NAN, 1], [INF, 1], [-INF, INF]], F32), to)
        assert np.isnan(scale[0])
        assert (scale[1:] == INF).all()


def test_nearest_8_bit_numbers() -> None:
    halves = np.arange(-127, 127, dtype=F32) + F32(0.5)
    q, scale = quantize(np.append(halves, F32(127)), "int8")
    assert scale == 1
    np.testing.assert_array_equal(q[:-1], np.rint(halves))
    assert quantize(f32(-300, 300), "int8")[0].tolist() == [-127, 127]
    x = np.append(normal(500, seed=2) * 100, F32(448))
    q, _ = quantize(x)
    np.testing.assert_array_equal(q, x.astype(q.dtype))


def test_factors_of_exponentials() -> None:
    logsumexp = on_emulator("logsumexp")
    assert logsumexp(f32(NAN, INF, 3), b=f32(0, 0, 1)) == 3
    assert np.isnan(logsumexp(f32(1, 2), b=f32(1, -1)))
    np.testing.assert_allclose(logsumexp(f32(1, 2), b=f32(-1, 1)), np.log(np.e**2 - np.e), rtol=1e-6)


def test_out_in_place() -> None:
    x = normal(3, 40)
    expected = softmax(x)
    assert softmax(x, out=x) is x
    assert np.array_equal(x, expected)
    memory = normal(3, 41)
    with pytest.raises(wf.WarpfoldError, match="WF186"):
        softmax(memory[:, 1:], out=memory[:, :-1])


# --- what is not promised ------------------------------------------------------------------------------------------
def test_another_order_rounds_differently() -> None:
    x = normal(4096)
    assert len({total(x[::step], plan=p).tobytes() for step in (1, -1) for p in ("", "warps=1", "lanes=1,warps=1")}) > 1


def test_sums_by_the_tensor_cores() -> None:
    plan = "meet=mma,lanes=4"
    x = normal(8, 1000, dtype=BF16).astype(F64)
    found = total(x.astype(BF16), axis=1, dtype="f32", plan=plan)
    assert np.all(np.abs(found - x.sum(1)) <= 15.2 * 2.0**-24 * np.abs(x).sum(1))
    ints = np.random.default_rng(1).integers(-128, 128, (8, 1024)).astype(np.int8)
    assert np.array_equal(total(ints, axis=1, plan=plan), ints.sum(1, dtype=np.int64))
    refused("WF435", "sum", x.astype(BF16), axis=1, plan=plan, determinism="portable")


def test_turned_tiles() -> None:
    x, extents = normal(100, 40, dtype=BF16), "lanes=4,vector=8,warps=2,warps_kept=2"
    same = f"fragments=words,fast=reduced,resident=shared,{extents}"
    found, expected = (
        wf.softmax(x, axis=0, device="emulator", plan=plan) for plan in (f"fragments=matrix,{extents}", same)
    )
    assert np.array_equal(found.view(np.uint16), expected.view(np.uint16))


def test_nan_is_some_nan() -> None:
    payload = np.array([0xFFC01234, 0x3F800000], np.uint32).view(F32)
    assert np.isnan(total(payload))
    assert np.isnan(greatest(payload))


def test_a_combine_is_trusted() -> None:
    @wf.monoid(identity=0.0)
    def difference(a: Any, b: Any) -> Any:
        return a - b

    x = f64(8, 4, 2, 1)
    with pytest.warns(UserWarning, match="WF221: difference breaks laws that it claims"):
        got = reduce(x, what=difference)
    assert got != x[0] - x[1:].sum()
