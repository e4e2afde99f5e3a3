"""Rows and middle axes reduced from a copy in shared memory: every element once, and no access outside the array.

An array here ends where its memory ends, so the emulator refuses (WF710) a load beyond it.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from arrays import accesses, placed
from covering import covering, some
from hypothesis import given, settings
from hypothesis import strategies as st

import warpfold as wf
from warpfold.compiler.driver.artifact import Artifact
from warpfold.compiler.errors import PlanError
from warpfold.compiler.planner import choose as planner
from warpfold.compiler.planner.alignment import WIDEST
from warpfold.runtime.backends.emulator_backend import emulator
from warpfold.runtime.emulator.sanitizer import Sanitizer
from warpfold.runtime.emulator.sanitizer.findings import Findings

TYPES = [np.int8, ml_dtypes.bfloat16, np.float32, np.float64]
LENGTHS = range(1, 41)
PLANS = [f"tile_bytes=1024,lanes={lanes},unroll={u},warps_kept={w}" for lanes, u, w in (
    (1, 1, 1), (2, 4, 2), (8, 2, 1), (32, 1, 2), (4, 4, 4), (1, 4, 8),
)]  # fmt: skip
"""With fewer places for results than a copy has, and with more; the first three have 1, 2 and 8 lanes."""
NARROW = [np.int8, np.bool_, np.float16, ml_dtypes.bfloat16]
"""The types that are narrower than a word."""
VECTORS = [4, 8, 16]
"""Bytes that are taken out of a copy at once."""
WHAT = ("sum", "any", "max", "all", "count_nonzero")


@wf.monoid(identity=(1, 0), commutative=False)
def affine(a: Any, b: Any) -> Any:
    """First x -> s x + t, then x -> u x + v."""
    (s, t), (u, v) = a, b
    return s * u, t * u + v


def digits(x: Any) -> Any:
    """The elements as digits of a number in base 3, modulo 2^32, which shows their order."""
    one = wf.cast(x, "i32")
    return wf.fold(affine, one * 0 + 3, one)[1]


def whole(shape: tuple[int, ...], t: Any, seed: int = 5) -> Any:
    """Small numbers, whose sums are exact."""
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(t)


def as_base_3(values: Any) -> Any:
    """The meaning of ``digits``, along the last axis."""
    total = np.zeros(values.shape[:-1], np.int64)
    for k in range(values.shape[-1]):
        total = (total * 3 + values[..., k].astype(np.int64)) % 2**32
    return total.astype(np.uint32).astype(np.int32)


def summed(values: Any, axis: Any) -> Any:
    return values.astype(np.float64).sum(axis=axis)


def striped(shape: tuple[int, ...], t: Any, seed: int = 5) -> Any:
    """Small numbers; every other row has no zero, so a read beside a row shows in its maximum, any and all."""
    source = np.random.default_rng(seed)
    values = source.integers(1, 4, shape) * source.choice([-1, 1], shape)
    values[::2] = 0
    return values.astype(t)


def plainly(what: str, values: Any) -> Any:
    """NumPy's answer for each row, of numbers of any type."""
    return getattr(np, what)(values.astype(np.float64), axis=1).astype(np.float64)


@pytest.fixture
def findings(monkeypatch: pytest.MonkeyPatch) -> Findings:
    """What the sanitizer finds in the kernels that run here."""
    tool = Sanitizer()
    monkeypatch.setattr(emulator(), "tool", tool)
    return tool.findings


def run(x: Any, what: Any = "sum", axis: Any = 1, plan: str = PLANS[0], **how: Any) -> Any:
    return wf.reduce(x, what, axis=axis, plan=plan, device="emulator", **how)


# --- rows ---
@pytest.mark.parametrize("t", TYPES)
def test_every_row_is_read_and_nothing_outside_the_array(t: type[Any], artifacts: list[Artifact]) -> None:
    """Every offset, length and plan; of three offsets each has a third of the lengths. The last CTA has fewer rows."""
    item = np.dtype(t).itemsize
    for at, offset in enumerate(range(0, WIDEST, item)):
        for length in LENGTHS[at % 3 :: 3] if item < 8 else LENGTHS:
            values = whole((1 + 7 * (at + length) % 61, length), t)
            plan = PLANS[(at + length) % len(PLANS)]
            found = run(placed(values, offset), plan=plan)
            np.testing.assert_array_equal(found.astype(np.float64), summed(values, 1), f"{offset} {length} {plan}")
    assert accesses(artifacts) <= {"tile", "tile_strided"}  # the latter of rows of one element


@pytest.mark.parametrize(
    ("t", "nbytes"),
    some([(np.int8, 4), (np.int8, 16), (np.bool_, 8), (ml_dtypes.bfloat16, 4), (np.float16, 8), (np.float16, 16)], 3),
)
def test_words_of_rows_that_begin_anywhere(t: type[Any], nbytes: int, artifacts: list[Artifact]) -> None:
    """Vectors are extracted from words, wherever they begin: every offset and length, of seven offsets each a seventh.

    The planner treats a row of one element as no row, and gives it no vector.
    """
    item = np.dtype(t).itemsize
    for at, offset in enumerate(range(0, WIDEST, item)):
        for length in range(2 + at % 7, 42, 7):
            values = striped((1 + 7 * (at + length) % 61, length), t)
            what = WHAT[(at + length // 3) % len(WHAT)]
            plan = f"{PLANS[(at + length) % 3]},vector={nbytes // item}"
            found = run(placed(values, offset), what, plan=plan).astype(np.float64)
            np.testing.assert_array_equal(found, plainly(what, values), f"{what} {offset} {length} {plan}")
    assert accesses(artifacts) == {"tile"}


@covering(("nbytes", VECTORS), ("t", NARROW))
def test_words_are_read_where_something_was_written(t: type[Any], nbytes: int, findings: Findings) -> None:
    """Words reach beyond the elements into the zeros of the copy: no thread reads what no thread wrote."""
    item = np.dtype(t).itemsize
    for at, length in enumerate((2, 3, 5, 15, 16, 17, 31, 33, 41)):
        for rows in (1, 23):  # one row ends in the copy where it ends in the array
            values, plan = striped((rows, length), t), f"{PLANS[at % 3]},vector={nbytes // item}"
            found = run(placed(values, 5 * at * item % WIDEST), "max", plan=plan).astype(np.float64)
            np.testing.assert_array_equal(found, plainly("max", values), f"{length} {plan}")
    assert list(findings) == []


@covering(("t", TYPES), ("gap", [1, 2, 5]))
def test_sliced_rows(t: type[Any], gap: int) -> None:
    """Gaps between rows are copied but not reduced; nothing is read beyond the last row."""
    item, rows = np.dtype(t).itemsize, 23
    for at, length in enumerate(n for n in LENGTHS if 3 * (n + gap) <= 4 * n):
        values = whole((rows * (length + gap) - gap,), t)
        line = placed(values, at * item % WIDEST)
        x = np.lib.stride_tricks.as_strided(line, (rows, length), ((length + gap) * item, item))
        np.testing.assert_array_equal(run(x, plan=PLANS[at % len(PLANS)]).astype(np.float64), summed(x, 1))


def test_rows_that_end_with_their_copy() -> None:
    """One row that fills all 1024 bytes but the 32 that boundaries take, and one that is an element longer."""
    for offset in range(0, WIDEST, 4):
        values = whole((9, 248), np.float32)
        np.testing.assert_array_equal(run(placed(values, offset), plan=PLANS[3]), summed(values, 1))
    with pytest.raises(PlanError, match="WF418: tile_bytes=1024 cannot hold the elements of a result"):
        run(whole((9, 249), np.float32))


def test_backward_rows_and_rows_read_backward() -> None:
    values = whole((50, 9), np.float32)
    for x in (values[::-1], values[::-1, ::-1], values[:, ::-1]):
        np.testing.assert_array_equal(run(x), summed(x, 1))
        np.testing.assert_array_equal(run(x, "argmax"), np.argmax(x, axis=1))


def test_one_row_one_element_and_nothing() -> None:
    for shape in ((1, 9), (1, 1), (50, 1), (9,), (1,)):
        values = whole(shape, np.float32)
        np.testing.assert_array_equal(run(placed(values, 4), axis=-1), summed(values, -1))
    for shape in ((50, 0), (1, 0), (0, 9), (0, 0), (0,)):
        values = np.zeros(shape, np.float32)
        np.testing.assert_array_equal(run(values, axis=-1), summed(values, -1))
    beside = placed(whole((50, 9), np.float32), 4)
    np.testing.assert_array_equal(run(beside[:, 9:]), np.zeros(50))


# --- middle axes, and others ---
@pytest.mark.parametrize("t", TYPES)
def test_middle_axes(t: type[Any], artifacts: list[Artifact]) -> None:
    item = np.dtype(t).itemsize
    for at, (n, inner) in enumerate((n, inner) for n in (1, 2, 3, 7, 12) for inner in (1, 2, 3, 5, 9)):
        values = whole((11, n, inner), t)
        found = run(placed(values, at * item % WIDEST), plan=PLANS[at % len(PLANS)])
        np.testing.assert_array_equal(found.astype(np.float64), summed(values, 1), f"{n} {inner}")
    assert accesses(artifacts) == {"tile", "tile_strided"}


def test_several_dims_of_each_kind() -> None:
    values = whole((5, 3, 2, 4, 3), np.float32)
    for axes in ((1, 3), (2,), (1, 4), (3,), (1, 2, 3, 4), (2, 4)):
        found = run(placed(values, 4), axis=axes, plan="tile_bytes=4096,lanes=2")
        np.testing.assert_array_equal(found, summed(values, axes), str(axes))
    sliced = placed(whole((9, 5, 4), np.float32), 4)[:, :4, :]
    np.testing.assert_array_equal(run(sliced), summed(sliced, 1))


# --- other inputs ---
@pytest.mark.parametrize("t", TYPES)
def test_a_mask_is_copied_as_well(t: type[Any]) -> None:
    item = np.dtype(t).itemsize
    for at, length in enumerate(LENGTHS):
        values, mask = whole((29, length), t), whole((29, length), np.int8, 6) > 0
        x, where = placed(values, at * item % WIDEST), placed(mask, at % WIDEST)
        found = run(x, plan=PLANS[at % len(PLANS)], where=where)
        np.testing.assert_array_equal(found.astype(np.float64), np.where(mask, values.astype(np.float64), 0).sum(1))


def test_a_mask_that_all_rows_share_is_read_where_it_is(artifacts: list[Artifact]) -> None:
    values, mask = whole((29, 7), np.float32), np.arange(7) % 2 == 0
    np.testing.assert_array_equal(run(values, where=mask), summed(values[:, mask], 1))
    assert accesses(artifacts) == {"tile", "strided"}


def test_a_mask_of_a_value_a_row_is_copied_too() -> None:
    values, mask = whole((29, 7), np.float32), np.arange(29)[:, None] % 3 == 0
    np.testing.assert_array_equal(run(values, where=mask), np.where(mask, values, 0).sum(1))


def test_two_arrays_one_of_which_is_a_row() -> None:
    values, weights = whole((29, 7), np.float32), whole((7,), np.float64, 8)
    for a, b in ((values, weights), (values, whole((29, 7), np.int8, 8))):
        found = wf.vecdot(placed(a, 4), b, axis=-1, plan="tile_bytes=1024", device="emulator")
        np.testing.assert_array_equal(found, (a.astype(np.float64) * b).sum(-1))


@pytest.mark.parametrize("nbytes", VECTORS)
@pytest.mark.parametrize("t", [np.float16, ml_dtypes.bfloat16])
def test_words_of_two_arrays(t: type[Any], nbytes: int, artifacts: list[Artifact], findings: Findings) -> None:
    """The rows of one array begin elsewhere between words than those of the other."""
    for at, length in enumerate(range(2, 42, 3)):
        a, b = whole((29, length), t), whole((29, length), t, 8)
        plan = f"{PLANS[at % 3]},vector={nbytes // 2}"
        found = wf.vecdot(placed(a, 2 * at % WIDEST), placed(b, 6 * at % WIDEST), axis=-1, plan=plan, device="emulator")
        expected = (a.astype(np.float64) * b.astype(np.float64)).sum(-1)
        np.testing.assert_array_equal(found.astype(np.float64), expected, f"{length} {plan}")
    assert accesses(artifacts) == {"tile"}
    assert list(findings) == []


def test_words_of_an_array_and_a_row_that_is_read_where_it_is(artifacts: list[Artifact]) -> None:
    for length in (2, 3, 7, 8, 9, 31):
        values, weights = whole((29, length), np.float16), whole((length,), np.float16, 8)
        plan = "tile_bytes=1024,vector=4,lanes=2"
        found = wf.vecdot(placed(values, 6), placed(weights, 2), axis=-1, plan=plan, device="emulator")
        np.testing.assert_array_equal(found.astype(np.float64), (values.astype(np.float64) * weights).sum(-1))
    assert accesses(artifacts) == {"tile", "strided"}


@pytest.mark.parametrize(("t", "vector"), [(np.int8, 4), (np.int8, 16), (np.float16, 4), (np.float16, 8)])
def test_words_of_an_array_and_its_mask(t: type[Any], vector: int, findings: Findings) -> None:
    """The mask has as many bytes as there are elements, and so half as many words for 2-byte elements."""
    for at, length in enumerate(range(2, 42, 3)):
        values, mask = whole((29, length), t), whole((29, length), np.int8, 6) > 0
        x, where = placed(values, 2 * at % WIDEST), placed(mask, 3 * at % WIDEST)
        found = run(x, plan=f"{PLANS[at % 3]},vector={vector}", where=where)
        np.testing.assert_array_equal(found.astype(np.float64), np.where(mask, values.astype(np.float64), 0).sum(1))
    assert list(findings) == []


def test_a_transposed_second_array_has_no_tile() -> None:
    values, across = whole((29, 7), np.float32), whole((7, 29), np.float32).T
    with pytest.raises(PlanError, match="WF418"):
        wf.vecdot(values, across, axis=-1, plan="tile_bytes=16384", device="emulator")


def test_complex_numbers_have_no_tile() -> None:
    """Their parts are inputs with a gap after every element."""
    with pytest.raises(PlanError, match="WF418"):
        run(whole((29, 7), np.complex64))


# --- functions ---
@pytest.mark.parametrize("what", ["argmax", "argmin", "prod", "any", "minmax"])
def test_states_of_all_kinds(what: str) -> None:
    values = whole((53, 11), np.float32)
    found = run(placed(values, 4), what, plan=PLANS[1])
    expected: Any = (values.min(1), values.max(1)) if what == "minmax" else getattr(np, what)(values, axis=1)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("plan", PLANS)
def test_moments(plan: str) -> None:
    values = np.random.default_rng(3).standard_normal((53, 11))
    np.testing.assert_allclose(run(placed(values, 8), "var", plan=plan), values.var(axis=1), rtol=1e-12)
    np.testing.assert_allclose(
        run(placed(values, 8), "logsumexp", plan=plan), np.log(np.exp(values).sum(1)), rtol=1e-12
    )


@covering(("plan", PLANS), ("length", [1, 2, 5, 31, 32, 33, 40]))
def test_the_order_of_the_elements_is_kept(plan: str, length: int) -> None:
    values = whole((53, length), np.int8)
    np.testing.assert_array_equal(run(placed(values, 3), digits, plan=plan), as_base_3(values))
    middle = whole((17, length, 3), np.int8)
    found = run(placed(middle, 3), digits, plan=plan)
    np.testing.assert_array_equal(found, as_base_3(middle.transpose(0, 2, 1)))


# --- the same bits ---
@pytest.mark.parametrize("determinism", ["run", "portable"])
@pytest.mark.parametrize("how", ["lanes=1,unroll=1", "lanes=4,unroll=2", "lanes=32,unroll=4", "lanes=8,walk=blocked"])
def test_a_tile_does_not_change_the_tree(determinism: str, how: str) -> None:
    """Elements of very different magnitudes, so nearly every other order gives other bits."""
    source = np.random.default_rng(9)
    for shape in ((40, 31), (40, 7), (9, 13, 5)):
        values = (source.standard_normal(shape) * 10.0 ** source.integers(-3, 4, shape)).astype(np.float32)
        plans = [f"{how},vector=1,warps=1,warps_kept=2,fast=reduced,tile_bytes={size}" for size in (0, 1024, 4096)]
        plain, *others = [run(placed(values, 4), plan=plan, determinism=determinism) for plan in plans]
        for found in others:
            assert found.tobytes() == plain.tobytes()


def test_portable_bits_do_not_depend_on_where_rows_begin() -> None:
    values = np.random.default_rng(9).standard_normal((40, 33)).astype(np.float16)
    found = {run(placed(values, offset), plan=PLANS[1], determinism="portable").tobytes() for offset in (0, 2, 6, 14)}
    assert len(found) == 1


@pytest.mark.parametrize("t", [np.float16, ml_dtypes.bfloat16])
def test_portable_bits_of_words_do_not_depend_on_where_rows_begin(t: type[Any]) -> None:
    """Nor on the rows of a copy: vectors begin with their row, and so does the tree."""
    source = np.random.default_rng(9)
    values = (source.standard_normal((40, 33)) * 10.0 ** source.integers(-2, 3, (40, 33))).astype(t)
    for how in ("lanes=1,unroll=1", "lanes=2,unroll=4", "lanes=8,unroll=2"):
        found = {
            run(placed(values, offset), plan=f"{how},vector=2,tile_bytes={size}", determinism="portable").tobytes()
            for offset in (0, 2, 6, 14)
            for size in (1024, 4096)
        }
        assert len(found) == 1


# --- where results go, and large arrays ---
def test_results_with_strides() -> None:
    values, room = whole((53, 11), np.float32), np.full((53, 3), -99, np.float32)
    run(placed(values, 4), out=room[:, 1])
    np.testing.assert_array_equal(room[:, 1], summed(values, 1))
    assert (room[:, ::2] == -99).all()
    back = np.zeros(53, np.float32)
    run(placed(values, 4), out=back[::-1])
    np.testing.assert_array_equal(back[::-1], summed(values, 1))


@pytest.mark.parametrize("t", TYPES)
def test_64_bit_offsets(t: type[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """As if arrays of a few elements were too large for 32 bits."""
    monkeypatch.setattr(planner, "INDEX_LIMIT", 5)
    item = np.dtype(t).itemsize
    for at, length in enumerate((1, 3, 16, 37)):
        values = whole((31, length), t)
        kernel = wf.compile("sum", values.shape, values.dtype, axis=1, plan=PLANS[at])
        assert kernel.artifact.kernels[0].main.facts.index_bits == 64
        np.testing.assert_array_equal(
            kernel(placed(values, item * at), device="emulator").astype(float), summed(values, 1)
        )


@pytest.mark.parametrize("t", NARROW)
def test_words_with_64_bit_offsets(t: type[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Places in shared memory still have 32 bits."""
    monkeypatch.setattr(planner, "INDEX_LIMIT", 5)
    item = np.dtype(t).itemsize
    for at, length in enumerate((2, 9, 37)):
        values = whole((31, length), t)
        plan = f"{PLANS[at]},vector={VECTORS[at] // item}"
        kernel = wf.compile("sum", values.shape, values.dtype, axis=1, plan=plan)
        assert kernel.artifact.kernels[0].main.facts.index_bits == 64
        found = kernel(placed(values, item * at), device="emulator")
        np.testing.assert_array_equal(found.astype(float), summed(values, 1))


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(TYPES), st.lists(st.integers(1, 12), min_size=1, max_size=4), st.data(),
    st.sampled_from([512, 1024, 4096]), st.sampled_from(PLANS), st.integers(0, 15), st.sampled_from([0, *VECTORS]),
)  # fmt: skip
def test_any_layout(
    t: type[Any], shape: list[int], data: st.DataObject, size: int, plan: str, offset: int, nbytes: int
) -> None:
    """Any axes of any array, sliced and backward: a tile asked for gives the right result, or there is no tile.

    The same holds for vectors of these bytes, which rows of unit stride have.
    """
    values = placed(whole(tuple(shape), t), offset * np.dtype(t).itemsize % WIDEST)
    cuts = tuple(
        slice(None, None, data.draw(st.sampled_from([1, 1, 1, -1])))
        if data.draw(st.booleans())
        else slice(0, max(1, n - 1))
        for n in shape
    )
    x = values[cuts]
    axes = tuple(a for a in range(len(shape)) if data.draw(st.booleans()))
    vector = max(1, nbytes // x.itemsize) if t in NARROW else 1
    options = plan.replace("tile_bytes=1024", f"tile_bytes={size},vector={vector}")
    try:
        found = run(x, axis=axes, plan=options)
    except PlanError as e:
        assert e.code == "WF418" or (vector > 1 and e.code == "WF407")  # noqa: PT017 (an error is a right answer, too)
    else:
        np.testing.assert_array_equal(np.asarray(found).astype(np.float64), summed(x, axes))
