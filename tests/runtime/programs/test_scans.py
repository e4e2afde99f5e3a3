"""Scans: cumulative sums and their like against NumPy, of any layout, direction, type and monoid, on the emulator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from covering import covering, some

import warpfold as wf
from warpfold.cli import cli
from warpfold.compiler.errors import ArgumentError, PlanError, TraceError, WarpfoldError
from warpfold.compiler.planner.resident import scans
from warpfold.runtime.backends.emulator_backend import emulator

RNG = np.random.default_rng(29)
CHUNKS = "warps=2,held=2"
"""A plan by which rows of a few hundred elements have several chunks."""


def numbers(*shape: int, dtype: Any = np.float32) -> Any:
    """Small whole numbers, whose sums are exact."""
    return RNG.integers(-9, 10, shape).astype(dtype)


def cumsum(x: Any, axis: int, *, exclusive: bool = False, reverse: bool = False) -> Any:
    """NumPy's sums of the elements up to each."""
    x = np.flip(x, axis) if reverse else x
    found = np.cumsum(x, axis=axis)
    found = found - x if exclusive else found
    return np.flip(found, axis) if reverse else found


@wf.monoid(identity=(1.0, 0.0), commutative=False)
def affine(f: Any, g: Any) -> Any:
    """The composition of ``h -> a h + b``, the left one first."""
    (a, b), (c, d) = f, g
    return a * c, b * c + d


@wf.monoid(has_identity=False, commutative=False)
def second(a: Any, b: Any) -> Any:  # noqa: ARG001 - the last element so far
    return b


@wf.monoid(identity=1.0, vjp=lambda x, z, g: g * z / x)
def product(a: Any, b: Any) -> Any:
    """A product, of several operations."""
    return (a + 0.0) * b


# --- layouts ---
@pytest.mark.parametrize("n", [1, 2, 33, 128, 1001, 4100])
@pytest.mark.parametrize("plan", ["", CHUNKS])
def test_rows_of_any_length(n: int, plan: str) -> None:
    x = numbers(2, n)
    np.testing.assert_array_equal(wf.cumulative_sum(x, axis=1, plan=plan), cumsum(x, 1))


LAYOUTS = {
    "rows": lambda: (numbers(3, 600), 1),
    "columns": lambda: (numbers(600, 40), 0),
    "odd columns": lambda: (numbers(300, 37), 0),
    "few columns": lambda: (numbers(900, 3), 0),
    "between": lambda: (numbers(2, 150, 20), 1),
    "turned": lambda: (numbers(2, 90, 30).transpose(2, 0, 1), 2),
    "apart": lambda: (numbers(3, 700)[:, ::2], 1),
    "backwards": lambda: (numbers(3, 300)[:, ::-1], 1),
    "broadcast": lambda: (np.broadcast_to(numbers(300), (4, 300)), 0),
    "off": lambda: (numbers(1205)[1:].reshape(4, 301), 1),
}


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("reverse", [False, True])
def test_any_layout_in_both_directions(name: str, reverse: bool) -> None:
    x, axis = LAYOUTS[name]()
    for plan in ("", CHUNKS):
        for exclusive in (False, True):
            found = wf.scan(x, wf.SUM, axis, exclusive=exclusive, reverse=reverse, plan=plan)
            np.testing.assert_array_equal(found, cumsum(x, axis, exclusive=exclusive, reverse=reverse))


@pytest.mark.parametrize(
    "plan",
    ["lanes=1,warps=4,held=2", "lanes=8,warps=1,held=1,vector=1", "warps=1,held=1,vector=1", "warps=4,held=3",
     "fast=kept,vector=1,lanes=8,warps=2,held=3"],
)  # fmt: skip
def test_any_plan(plan: str) -> None:
    x = numbers(5, 2100)
    np.testing.assert_array_equal(wf.cumulative_sum(x, axis=1, plan=plan), cumsum(x, 1))


def test_random_shapes_and_plans() -> None:
    for _ in range(12):
        shape = tuple(int(n) for n in RNG.integers(1, 40, 3))
        axis, lanes = int(RNG.integers(3)), int(2 ** RNG.integers(6))
        plan = f"fast={RNG.choice(['reduced', 'kept'])},vector=1,lanes={lanes},warps={2 ** RNG.integers(3)},held=2"
        x = numbers(*shape)
        np.testing.assert_array_equal(wf.cumulative_sum(x, axis=axis, plan=plan), cumsum(x, axis), f"{shape} {plan}")


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_empty_arrays(shape: tuple[int, ...]) -> None:
    x = np.zeros(shape, np.float32)
    assert wf.cumulative_sum(x, axis=0).shape == shape
    assert wf.cummax(x, axis=-1).shape == shape


def test_an_axis_of_one() -> None:
    x = numbers(4, 1)
    np.testing.assert_array_equal(wf.cumulative_sum(x, axis=1), x)
    np.testing.assert_array_equal(wf.scan(x, wf.SUM, 1, exclusive=True), np.zeros_like(x))


TILE = "fast=kept,vector=1,warps=1,warps_kept=2"
SHORT = {
    "alone": lambda: (numbers(150, 3), 1, "lanes=1,held=3,tile_bytes=4096"),
    "halves": lambda: (numbers(70, 33, dtype=np.float16), 1, "lanes=4,held=9,tile_bytes=8192"),
    "sliced": lambda: (numbers(40, 34)[:, 1:], 1, "lanes=2,held=17,tile_bytes=16384"),
    "between": lambda: (numbers(12, 5, 7), 1, "lanes=1,held=5,tile_bytes=16384"),
    "in place": lambda: (numbers(8, 21, 7), 1, "lanes=4,held=7,tile_bytes=65536"),
}


@pytest.mark.parametrize("name", SHORT)
def test_short_rows_go_through_a_tile(name: str) -> None:
    x, axis, plan = SHORT[name]()
    for how in ({}, {"exclusive": True, "reverse": True}):
        found = wf.scan(x, wf.SUM, axis, plan=f"{TILE},{plan}", **how)
        np.testing.assert_array_equal(found, cumsum(x, axis, **how))


def test_many_short_rows_go_through_a_tile_by_default() -> None:
    short = wf.cumulative_sum.compile(np.broadcast_to(np.float32(0), (1 << 20, 33)).copy(), axis=1).plans[0]
    assert short.tile_bytes
    assert short.lanes * short.held >= 33


KEPT = "fast=kept,vector=1,warps=1,persistent=2"
WALKS = {
    "columns": (lambda: numbers(3, 70, 49), "lanes=4,warps_kept=8,held=5,tile_bytes=8192"),
    "halves": (lambda: numbers(3, 50, 49, dtype=np.float16), "lanes=4,warps_kept=8,held=5,tile_bytes=4096"),
    "wider sums": (lambda: numbers(4, 61, 33, dtype=np.int16), "lanes=1,warps_kept=2,held=9,tile_bytes=8192"),
    "few": (lambda: numbers(3, 100, 7), "lanes=32,warps_kept=7,held=1,tile_bytes=4096"),
    "many": (lambda: numbers(270, 14, 5), "lanes=2,warps_kept=1,held=3,tile_bytes=1024"),
}


@pytest.mark.parametrize("name", WALKS)
def test_a_cta_walks_along_columns(name: str) -> None:
    x, plan = WALKS[name][0](), f"{KEPT},{WALKS[name][1]}"
    for how in ({}, {"exclusive": True, "reverse": True}):
        np.testing.assert_array_equal(wf.scan(x, wf.SUM, 1, plan=plan, **how), cumsum(x, 1, **how))
    np.testing.assert_array_equal(wf.scan(x, second, 1, plan=plan), x)


@covering(("name", WALKS), ("tiles", [2, 4]))
def test_tiles_are_copied_while_others_are_scanned(name: str, tiles: int) -> None:
    x, plan = WALKS[name][0](), f"{KEPT},{WALKS[name][1]},unroll={tiles}"
    for how in ({}, {"exclusive": True, "reverse": True}):
        np.testing.assert_array_equal(wf.scan(x, wf.SUM, 1, plan=plan, **how), cumsum(x, 1, **how))
    np.testing.assert_array_equal(wf.scan(x, second, 1, plan=plan), x)


@pytest.mark.parametrize("tiles", [2, 8])
@pytest.mark.parametrize("t", [np.float32, np.int16])
def test_a_part_that_was_walked_back_begins_in_shared_memory(tiles: int, t: Any) -> None:
    x = numbers(4003, 13, dtype=t)
    plan = f"fast=kept,lanes=2,warps=1,warps_kept=1,held=1,tile_bytes=1024,persistent=1,unroll={tiles}"
    for how in ({}, {"reverse": True}):
        np.testing.assert_array_equal(wf.scan(x, wf.SUM, 0, plan=plan, **how), cumsum(x, 0, **how))


def test_many_arrays_of_odd_columns_are_walked_by_default() -> None:
    x = np.broadcast_to(np.float32(0), (400, 1000, 49)).copy()
    assert wf.cumulative_sum.compile(x, axis=1).plans[0].keeps_columns
    assert not wf.cumulative_sum.compile(x[:40], axis=1).plans[0].keeps_columns
    assert not wf.cumulative_sum.compile(x[:, :, :48].copy(), axis=1).plans[0].keeps_columns


@pytest.mark.parametrize(
    ("shape", "t", "parts"),
    [((300_000, 33), "f32", True), ((70_000, 101), "bf16", False), ((140_000, 101), "bf16", True),
     ((2, 600_000, 34), "bf16", True), ((300_000, 64), "bf16", False), ((100_000, 129), "f32", False)],
)  # fmt: skip
def test_few_odd_columns_of_long_arrays_have_parts(shape: tuple[int, ...], t: str, parts: bool) -> None:
    made = wf.cumulative_sum.compile((shape, t), axis=len(shape) - 2)
    assert made.plans[0].keeps_columns == parts


@pytest.mark.parametrize(
    ("shape", "t", "expected"),
    [((87_152, 385), "bf16", (1, 24, 1, 4)), ((130_560, 257), "bf16", (2, 24, 1, 4)),
     ((508_400, 33), "f32", (4, 24, 2, 8)), ((684, 1000, 49), "bf16", (2, 20, 8, 4)),
     ((2000, 300, 63), "bf16", (2, 15, 8, 2))],
)  # fmt: skip
def test_tiles_begin_at_whole_accesses_where_they_can(
    shape: tuple[int, ...], t: str, expected: tuple[int, ...]
) -> None:
    plan = wf.cumulative_sum.compile((shape, t), axis=len(shape) - 2).plans[0]
    assert (plan.lanes, plan.held, plan.persistent, plan.tiles) == expected


@pytest.mark.parametrize(
    ("shape", "t", "expected"),
    [((63, 511, 513), "bf16", (1, 4, 63)), ((63, 511, 513), "f32", (2, 2, 32)), ((100, 321, 513), "f32", (4, 4, 25)),
     ((300, 107, 513), "f32", (16, 1, 19)), ((100, 41, 101), "bf16", (4, 1, 25)),
     ((400, 161, 513), "bf16", (8, 1, 32))],
)  # fmt: skip
def test_strips_of_single_elements(shape: tuple[int, ...], t: str, expected: tuple[int, ...]) -> None:
    plan = wf.cumulative_sum.compile((shape, t), axis=0).plans[0]
    assert (plan.warps, plan.warps_kept, plan.held) == expected


@pytest.mark.parametrize(("shape", "strips"), [((2674, 64, 196), 4), ((300, 64, 196), 1), ((2674, 64, 200), 1)])
def test_strips_that_begin_between_sectors_are_wide(shape: tuple[int, ...], strips: int) -> None:
    assert wf.cumulative_sum.compile((shape, "bf16"), axis=1).plans[0].warps_kept == strips


# --- the identity before the first element ---
def one_more(x: Any, axis: int, *, reverse: bool = False) -> Any:
    """NumPy's sums of the elements up to each, and of none."""
    own = np.flip(x, axis) if reverse else x
    found = np.concatenate([np.zeros_like(own.sum(axis, keepdims=True)), np.cumsum(own, axis)], axis)
    return np.flip(found, axis) if reverse else found


@pytest.mark.parametrize("shape", some([(7,), (1,), (0,), (4, 1), (0, 3), (2, 150, 3), (3, 700)], 6))
def test_the_identity_before_the_first_element(shape: tuple[int, ...]) -> None:
    x = numbers(*shape)
    for axis in range(len(shape)):
        for reverse in (False, True):
            found = wf.cumulative_sum(x, axis=axis, include_initial=True, reverse=reverse)
            np.testing.assert_array_equal(found, one_more(x, axis, reverse=reverse))


def test_any_scan_may_begin_with_the_identity() -> None:
    x, out = numbers(3, 40, dtype=np.int8), np.zeros((3, 41), np.int64)
    assert wf.cumulative_sum(x, axis=1, include_initial=True, out=out) is out
    np.testing.assert_array_equal(out, np.cumulative_sum(x, axis=1, include_initial=True))
    assert wf.cumulative_prod(x, axis=0, include_initial=True, dtype="f64").dtype == np.float64
    pair = RNG.choice([-1.0, 1.0], (3, 40)), x[:1] * 2.0
    a, b = wf.scan(pair, affine, 1, include_initial=True)
    assert (a[:, 0].tolist(), b[:, 0].tolist()) == ([1] * 3, [0] * 3)
    np.testing.assert_array_equal(np.stack([a, b])[..., 1:], np.stack(wf.scan(pair, affine, 1)))


def test_a_program_computes_with_one_element_more() -> None:
    @wf.program
    def widths(x: Any, w: Any) -> Any:
        edges = wf.cumulative_sum(wf.exp(x - wf.max(x, axis=1, keepdims=True)), axis=1, include_initial=True)
        return edges * w, wf.sum(edges, axis=1)

    x, w = RNG.normal(size=(3, 50)), RNG.normal(size=51)
    e = np.exp(x - x.max(1, keepdims=True))
    edges = np.cumulative_sum(e, axis=1, include_initial=True)
    scaled, total = widths(x, w)
    np.testing.assert_allclose(scaled, edges * w, 1e-12)
    np.testing.assert_allclose(total, edges.sum(1), 1e-12)
    found = wf.vjp(lambda v: wf.cumulative_sum(v, include_initial=True))(np.arange(51.0), x[0])
    np.testing.assert_allclose(found, np.cumsum(np.arange(51.0)[::-1])[::-1][1:])


# --- types ---
TYPES = ("bool", "int8", "uint8", "int16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64")


@pytest.mark.parametrize("t", TYPES)
def test_types_are_those_of_numpy(t: str) -> None:
    x = RNG.integers(0, 2 if t == "bool" else 5, (2, 140)).astype(t)
    small = x[:, :20]
    wanted = np.cumsum(small, axis=1)
    found = wf.cumulative_sum(small, axis=1)
    assert found.dtype == (t if t.startswith("float") else wanted.dtype)
    np.testing.assert_array_equal(found, wanted)
    found = wf.cummax(x, axis=1, plan="warps=1,held=1,vector=1,lanes=16")
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found, np.maximum.accumulate(x, axis=1))


def test_products_and_extremes() -> None:
    x = numbers(3, 200, dtype=np.float64)
    np.testing.assert_array_equal(wf.cummin(x, axis=1), np.minimum.accumulate(x, 1))
    y = RNG.choice([0.5, 1.0, 2.0], (3, 60))
    np.testing.assert_array_equal(wf.cumulative_prod(y, axis=1), np.cumprod(y, 1))
    assert wf.cumulative_prod(numbers(4, dtype=np.int32), dtype="f64").dtype == np.float64


def test_logcumsumexp() -> None:
    x = RNG.normal(0, 300, (3, 400))
    np.testing.assert_allclose(wf.logcumsumexp(x, axis=1, plan=CHUNKS), np.logaddexp.accumulate(x, 1), 1e-13)


def test_sums_of_floats_are_as_exact_as_a_tree() -> None:
    x = RNG.uniform(0, 1, 20000).astype(np.float32)
    exact = np.cumsum(x.astype(np.float64))
    error = np.abs(wf.cumulative_sum(x) - exact) / exact
    assert error.max() < 16 * np.finfo(np.float32).eps


def test_the_sign_of_zero_stays() -> None:
    assert np.signbit(wf.cumulative_sum(np.full(300, -0.0, np.float32), plan=CHUNKS)).all()


# --- monoids ---
@pytest.mark.parametrize("plan", ["", "warps=2,held=1", "warps=1,held=1,vector=1"])
def test_a_linear_recurrence(plan: str) -> None:
    a, b = RNG.uniform(0.5, 1, (2, 700)), RNG.normal(size=(2, 700))
    wanted, h = [], np.zeros(2)
    for k in range(700):
        h = a[:, k] * h + b[:, k]
        wanted.append(h)
    _, found = wf.scan((a, b), affine, axis=1, plan=plan)
    np.testing.assert_allclose(found, np.stack(wanted, 1), 1e-11)


def test_elements_stay_in_order() -> None:
    x = numbers(2, 900, dtype=np.int32)
    np.testing.assert_array_equal(wf.scan(x, second, 1, plan=CHUNKS), x)
    np.testing.assert_array_equal(wf.scan(x, second, 1, plan=CHUNKS, reverse=True), x)


def test_what_a_reduction_names() -> None:
    x = numbers(2, 300, dtype=np.int32)
    np.testing.assert_array_equal(wf.scan(x, "max", 1), np.maximum.accumulate(x, 1))
    least, greatest = wf.scan(x, (wf.MIN, wf.MAX), 1)
    np.testing.assert_array_equal(greatest - least, np.maximum.accumulate(x, 1) - np.minimum.accumulate(x, 1))
    at = wf.scan(x, "argmax", 1)
    np.testing.assert_array_equal(at, [[np.argmax(row[: k + 1]) for k in range(300)] for row in x])
    np.testing.assert_array_equal(
        wf.scan(x, lambda v: wf.fold(wf.SUM, v) / (wf.index() + 1), 1), np.cumsum(x, 1) / np.arange(1, 301)
    )


# --- programs ---
def test_a_scan_in_a_program() -> None:
    @wf.program
    def share(x: Any) -> Any:
        so_far = wf.cumulative_sum(wf.exp(x), axis=1)
        return so_far / wf.sum(wf.exp(x), axis=1, keepdims=True), wf.max(so_far, axis=0), 2 * so_far + x

    x = RNG.normal(size=(4, 200))
    e = np.cumsum(np.exp(x), 1)
    parts, greatest, own = share(x)
    np.testing.assert_allclose(parts, e / np.exp(x).sum(1, keepdims=True), 1e-13)
    np.testing.assert_allclose(greatest, e.max(0), 1e-13)
    np.testing.assert_allclose(own, 2 * e + x, 1e-13)


def test_two_scans_of_one_array_are_one_kernel() -> None:
    @wf.program
    def both(x: Any) -> Any:
        return wf.cummax(x, axis=1), wf.cumulative_sum(x, axis=1)

    x = numbers(3, 200)
    greatest, total = both(x)
    np.testing.assert_array_equal(greatest, np.maximum.accumulate(x, 1))
    np.testing.assert_array_equal(total, np.cumsum(x, 1))
    assert len(both.compile(x).plans) == 1


@pytest.mark.parametrize("exclusive", [False, True])
def test_the_gradient_of_a_sum_is_summed_from_the_other_end(exclusive: bool) -> None:
    x, g = RNG.normal(size=(2, 60)), RNG.normal(size=(2, 60))
    backward = wf.vjp(lambda v: wf.scan(v * v, wf.SUM, 1, exclusive=exclusive))
    np.testing.assert_allclose(backward(g, x), 2 * x * cumsum(g, 1, reverse=True, exclusive=exclusive), 1e-11, 1e-12)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("exclusive", [False, True])
def test_the_gradient_of_a_product_needs_no_quotients(exclusive: bool, reverse: bool) -> None:
    x, g = RNG.uniform(0.5, 1.5, (2, 40)), RNG.normal(size=(2, 40))
    x[0, 7] = x[1, 3] = x[1, 30] = 0
    place = np.arange(40) if not reverse else -np.arange(40)
    earlier = place[:, None] > place if exclusive else place[:, None] >= place  # [k, i]: result k has factor i
    wanted = np.zeros_like(x)
    for r in range(2):
        for k in range(40):
            for i in np.flatnonzero(earlier[k]):
                wanted[r, i] += g[r, k] * np.prod(np.delete(x[r], i), where=np.delete(earlier[k], i))
    backward = wf.vjp(lambda v: wf.scan(v, wf.PROD, 1, exclusive=exclusive, reverse=reverse))
    np.testing.assert_allclose(backward(g, x, plan="warps=1,held=1,vector=1"), wanted, 1e-11, 1e-12)


def test_the_gradient_of_extremes_goes_to_the_last_of_equals_or_to_the_place() -> None:
    x, g = np.array([[1.0, 2, 2, 0, 3, 3]]), np.array([[1.0, 10, 100, 1000, 1e4, 1e5]])
    last = wf.vjp(lambda v: wf.cummax(v, axis=1))
    np.testing.assert_array_equal(last(g, x), [[1, 10, 1100, 0, 1e4, 1e5]])
    first = wf.vjp(lambda v: wf.scan(v, lambda e: wf.fold(wf.ARGMAX, e, wf.index())[0], 1))
    np.testing.assert_array_equal(first(g, x), [[1, 1110, 0, 0, 1.1e5, 0]])


def test_the_gradient_of_logarithms_of_sums_does_not_overflow() -> None:
    x, g = np.array([-np.inf, 1000.0, 1000.0, 2000.0]), np.array([5.0, 1, 1, 1])
    np.testing.assert_allclose(wf.vjp(wf.logcumsumexp)(g, x), [0, 1.5, 0.5, 1], atol=1e-300)


def test_bits_in_both_directions() -> None:
    @wf.program
    def masked(x: Any, bits: Any, reverse: bool = False) -> Any:
        mask = wf.unpack(bits, x.shape, flat=True)
        return wf.where(mask, wf.scan(wf.where(mask, x, 0.0), wf.SUM, 1, reverse=reverse), -1.0)

    x = numbers(3, 261)
    for reverse in (False, True):
        wanted = np.where(x > 0, cumsum(np.where(x > 0, x, 0), 1, reverse=reverse), -1)
        np.testing.assert_array_equal(masked(x, wf.pack(x > 0, flat=True), reverse=reverse), wanted)


def test_a_saved_scan_serves_other_sizes(tmp_path: Any) -> None:
    made = wf.cumulative_sum.compile(numbers(3, 3000), axis=1, plan=CHUNKS)
    made.save(tmp_path / "scan.warpfold")
    loaded = wf.load(tmp_path / "scan.warpfold")
    x = numbers(5, 3000)
    np.testing.assert_array_equal(loaded(x), np.cumsum(x, 1))


# --- bits ---
def test_a_row_has_the_same_bits_wherever_it_lies() -> None:
    x = RNG.normal(size=(6, 5000)).astype(np.float32)
    whole = wf.cumulative_sum(x, axis=1, determinism="portable")
    across = wf.cumulative_sum(x.T.copy(), axis=0, determinism="portable")
    off = np.concatenate([np.zeros(1, np.float32), x[2]])[1:]
    np.testing.assert_array_equal(whole, across.T)
    np.testing.assert_array_equal(whole[2], wf.cumulative_sum(off, determinism="portable"))


ROLES = "persistent=1,warps=8,held=1"
X_ROLES = RNG.choice([-1.0, 1.0], (2, 5000))
"""Sums and products of these are exact in any order: with roles groups of chunks are larger."""


@pytest.mark.parametrize(
    "scan",
    [
        lambda x, p: wf.cumulative_sum(x.astype(np.float32), axis=1, plan=p),
        lambda x, p: wf.scan(x.reshape(-1), wf.SUM, exclusive=True, reverse=True, plan=p),
        lambda x, p: wf.scan((x[:, :4099].copy(),) * 2, affine, 1, plan=p),
        lambda x, p: wf.cumulative_sum((9 * x[:, :4096]).astype(np.int8), axis=1, plan=p),
        lambda x, p: wf.program(lambda v, w: wf.cummax(v * w[:, None], axis=1) + v)(x, x[:, 0], plan=p),
    ],
    ids=["f32", "reverse", "odd pairs", "bytes", "program"],
)
def test_roles_of_warps_leave_the_results(scan: Any) -> None:
    plain = "warps=8,held=1"
    for found, wanted in zip(np.atleast_1d(scan(X_ROLES, ROLES)), np.atleast_1d(scan(X_ROLES, plain)), strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(("shape", "t"), [((500, 8), np.float32), ((3, 300, 16), np.float32), ((120, 64), np.float16)])
def test_roles_of_warps_along_columns_leave_the_bits(shape: tuple[int, ...], t: Any) -> None:
    x = RNG.normal(size=shape).astype(t)
    plan = f"fast=kept,vector={16 // x.itemsize},lanes={512 // (x.itemsize * shape[-1])},warps=16,warps_kept=1,held=1"
    found, wanted = (wf.cumulative_sum(x, axis=-2, plan=f"{plan},persistent={k}") for k in (1, 0))
    np.testing.assert_array_equal(found, wanted)


COLUMN_ROLES = "fast=kept,vector=4,lanes=16,warps=16,warps_kept=1,held=1,persistent=1"


@pytest.mark.parametrize(("shape", "plan"), [((4000,), ROLES), ((1000, 8), COLUMN_ROLES)])
def test_roles_of_warps_under_any_schedule(shape: tuple[int, ...], plan: str) -> None:
    x, found = numbers(*shape), []
    try:
        emulator().seed = 1
        found.append(wf.cumulative_sum(x, axis=0, out=x.copy(), plan=plan))
    finally:
        emulator().seed = None
    for own in found:
        np.testing.assert_array_equal(own, np.cumsum(x, axis=0))


@pytest.mark.parametrize(("shape", "plan"), [("9000", ROLES), ("1500x8", COLUMN_ROLES)])
def test_nothing_is_overwritten_while_others_read_it(shape: str, plan: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One CTA has more chunks than places."""
    planned = scans._launch
    monkeypatch.setattr(scans, "_launch", lambda *a: planned(*a)._replace(ctas=1))
    arguments = ["sanitize", "cumulative_sum", "--shape", shape, "--axis", "0", "--plan", plan]
    assert "no findings" in CliRunner().invoke(cli, arguments).output


@pytest.mark.parametrize("shape", [(1 << 24,), (1 << 21, 8)])
def test_a_long_axis_has_roles_by_default(shape: tuple[int, ...]) -> None:
    made = wf.cumulative_sum.compile(np.broadcast_to(np.float32(0), shape).copy(), axis=0)
    assert made.plans[0].has_roles


# --- out= ---
def test_results_take_the_place_of_the_array() -> None:
    x = numbers(3, 900)
    wanted = np.cumsum(x, 1)
    assert wf.cumulative_sum(x, axis=1, out=x, plan=CHUNKS) is x
    np.testing.assert_array_equal(x, wanted)


# --- what is refused ---
X, Y = np.ones((2, 8), np.float32), np.zeros(4096, np.float32)


def begun(made: Any) -> Any:
    """A scan that begins with the identity, of what a function makes of an array."""
    return wf.program(lambda x: wf.cumulative_sum(made(x), axis=0, include_initial=True))(X)


WALK = f"{KEPT},lanes=1,warps_kept=1,held=2,tile_bytes=4096"
WIDE = "vector=16,fast=kept,lanes=1,warps=1,held=1"
REFUSED = {
    "several axes": ("WF292", TraceError, lambda: wf.cumulative_sum(X), "goes along one axis: got axis=None"),
    "two axes": ("WF292", TraceError, lambda: wf.scan(X, wf.SUM, (0, 1)), "for an array of rank 2"),
    "a number": ("WF292", TraceError, lambda: wf.cumulative_sum(np.float32(3)), r"(?s)rank 0.*pass x.reshape\(1\)"),
    "both begin": ("WF291", TraceError, lambda: wf.scan(X, wf.SUM, 1, exclusive=True, include_initial=True), "begins"),
    "one flag": ("WF138", ArgumentError, lambda: wf.cumulative_sum(X, axis=1, include_initial=1), "cannot be 1"),
    "no identity before": ("WF293", TraceError, lambda: wf.scan(X, wf.MAX, 1, include_initial=True), "which MAX lacks"),
    "a joined axis": ("WF291", TraceError, lambda: begun(lambda x: x.reshape(-1)), "no array has its axis"),
    "a folded axis": ("WF291", TraceError, lambda: begun(lambda x: wf.sum(x, axis=1)), "are results of folds"),
    "no such axis": ("WF256", TraceError, lambda: wf.scan(X, wf.SUM, 2), "an axis of .*: expected an integer"),
    "no identity": ("WF293", TraceError, lambda: wf.scan(X, wf.MAX, 1, exclusive=True), "identity, which MAX lacks"),
    "a count": ("WF294", TraceError, lambda: wf.scan(X, "mean", 1), "a scan does not count elements"),
    "no flag": ("WF138", ArgumentError, lambda: wf.scan(X, wf.SUM, 1, reverse=1), "reverse cannot be 1"),
    "no monoid": ("WF130", ArgumentError, lambda: wf.scan(X, 3, 1), "3"),
    "overlap": ("WF186", ArgumentError, lambda: wf.scan(X, wf.SUM, 1, out=X[:, ::-1]), "shares memory with input 0"),
    "cluster": ("WF443", PlanError, lambda: wf.cumulative_sum(X, axis=1, plan="cluster=2"), "has cluster=1, and not 2"),
    "rows": ("WF443", PlanError, lambda: wf.cumulative_sum(X, axis=1, plan=WIDE), "has vector=at most 1"),
    "roles": ("WF443", PlanError, lambda: wf.cumulative_sum(Y[::2], plan=ROLES), "persistent=0, and not 1"),
    "no columns": ("WF443", PlanError, lambda: wf.cumulative_sum(X, axis=1, plan=WALK), "has tile_bytes=0"),
    "a long tile": ("WF443", PlanError, lambda: wf.cumulative_sum(Y, plan="tile_bytes=4096"), "has tile_bytes=0"),
    "two tiles": ("WF443", PlanError, lambda: wf.cumulative_sum(X, axis=1, plan="unroll=2"), "has unroll=1"),
    "few warps": ("WF443", PlanError, lambda: wf.cumulative_sum(Y, plan=ROLES + ",warps=4"), "warps=at least 8"),
    "residency": ("WF443", PlanError, lambda: wf.cumulative_sum(X, axis=1, plan="resident=l2"), "has resident=chain"),
    "gradient": ("WF901", TraceError, lambda: wf.vjp(lambda v: wf.scan(v, product))(X[0], X[0]), "scan with product"),
    "options": ("WF188", WarpfoldError, lambda: wf.program(lambda x: wf.scan(x, wf.SUM, 1, plan="held=1"))(X), "out"),
    "slice": ("WF290", TraceError, lambda: wf.program(lambda x: wf.cumulative_sum(x, axis=1)[:, 1:])(X), "slice 1:"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    code, kind, call, text = REFUSED[name]
    with pytest.raises(kind, match=code) as caught:
        call()
    assert text in str(caught.value)


def test_the_gradient_of_a_slice_beside_a_scan_comes_after_the_scan() -> None:
    """The fold of the slice's gradient reads what the scan leaves, and is made before the folds of rows."""

    def product(x: Any) -> Any:
        return wf.cumulative_sum(x, axis=0) * (x[:, ::-1] - wf.mean(x))

    x = np.random.default_rng(3).standard_normal((6, 5))
    found = wf.vjp(product)(1.0, x)
    scanned, centred = np.cumsum(x, axis=0), x[:, ::-1] - x.mean()
    expected = np.cumsum(centred[::-1], axis=0)[::-1] + scanned[:, ::-1] - scanned.mean()
    np.testing.assert_allclose(found, expected, rtol=1e-12)
