"""The cells of ``warpfold grid``: which exist, the bytes they move, and that every layout gives the right answer."""

from __future__ import annotations

import grid_numpy
import numpy as np
import pytest

from warpfold.commands.bench.grid.buffer import kinds
from warpfold.commands.bench.grid.cells import FETCHED, Cell, dense, touched
from warpfold.commands.bench.grid.reported_shapes import FLOATS_ONLY
from warpfold.commands.bench.grid.run import MOST_BYTES
from warpfold.commands.bench.grid.shapes import DTYPES, KINDS, cells
from warpfold.commands.bench.grid.sizes import BIG, next_prime
from warpfold.compiler.dtypes import dtype

SLOW_SHAPES = {
    "cupy#8092", "cupy#10076", "cccl#6171", "cccl#11027", "pytorch#18807", "awkward#3814", "awkward#4143",
    "cccl#2738", "pytorch#9661", "iree#20650", "TileOPs#2026", "TileOPs#921",
    "pytorch#181442", "pytorch#196341", "pytorch#167893", "pytorch#93718", "cupy#2822", "cupy#2757",
    "iree#13050", "llm.c#143", "ColossalAI#5488", "flaggems#4657", "triton#1966", "sglang#34727",
    "flash-attention#144", "apex#1199", "LeetCUDA#390", "Megatron-LM#191", "tokenspeed#310",
    "pytorch#36706", "pytorch#55366", "pytorch#23907", "pytorch#31837", "pytorch#8817", "onnxruntime#32092",
    "pytorch#188578", "jax#18424", "triton#3766",
}  # fmt: skip
"""Every report in section 3E, "Slow shapes", of the study of what users of the peers ask for."""
ALL = {name: cells(dtype(name)) for name in DTYPES}
EVERY = [c for found in ALL.values() for c in found]
FREE = ("full", "tiny", "huge", "far", "reported")
"""Kinds whose sizes are not the large one's."""


@pytest.mark.parametrize("name", DTYPES)
def test_at_least_400_layouts_of_each_type_with_a_name_each(name: str) -> None:
    names = [c.name for c in ALL[name]]
    assert len(names) == len(set(names)) >= 500
    assert all(c.dtype.name == name for c in ALL[name])


def test_at_least_400_layouts_are_crossed_with_all_types() -> None:
    assert len(set.intersection(*({c.name for c in found} for found in ALL.values()))) >= 500
    assert len(DTYPES) == 5


def test_every_kind_occurs_and_names_tell_it() -> None:
    made = {kind.__name__ for kind in KINDS}
    for name, found in ALL.items():
        lacking = {"huge"} if dtype(name).itemsize > 2 else set()
        assert {c.kind for c in found} == made - lacking
    assert all(c.name.startswith(f"{c.kind}.") for c in EVERY)


def test_every_reported_shape_occurs_in_every_type() -> None:
    for found in ALL.values():
        names = {c.name for c in found}
        assert {f"reported.{issue}" for issue in SLOW_SHAPES} <= names
        assert {c.issue for c in found if c.issue} == SLOW_SHAPES


def test_short_rows_have_every_length_from_1_to_64() -> None:
    for found in ALL.values():
        assert [c.shape[1] for c in found if c.kind == "short"] == list(range(1, 65))


@pytest.mark.parametrize("name", DTYPES)
def test_every_offset_that_a_type_allows_occurs(name: str) -> None:
    size = dtype(name).itemsize
    found = [c for c in ALL[name] if c.kind == "misaligned"]
    for form in ("full", "rows1000", "rows1024", "columns1024"):
        own = [c for c in found if c.name.startswith(f"misaligned.{form}+")]
        assert [c.offset * size for c in own] == list(range(size, 16, size))
        assert all(c.name.endswith(f"+{c.offset * size}") for c in own)


def test_large_cells_move_64_to_256_megabytes_in_every_type() -> None:
    off = [c for c in EVERY if c.kind not in FREE and not c.name.startswith("expanded.1000")]
    off = [c for c in off if not 64e6 <= c.nbytes <= 256e6 and not c.fits_one_cta]
    assert {c.name for c in off} <= {"expanded.number"}
    assert max(c.nbytes for c in EVERY if c.kind == "full") == pytest.approx(2 * BIG, rel=1e-6)


def test_views_lie_in_the_buffer() -> None:
    assert all(c.span[0] >= 0 for c in EVERY)
    assert all(c.span[1] * c.dtype.itemsize <= MOST_BYTES for c in EVERY)
    assert all(len(c.shape) == len(c.strides) and set(c.axes) <= set(range(len(c.shape))) for c in EVERY)
    assert all(n >= 1 for c in EVERY for n in c.shape)


def test_sizes_and_offsets_past_32_bits() -> None:
    assert {c.dtype.name for c in EVERY if c.elements > 2**31} == {"bf16", "i8", "bool"}
    assert all(c.elements > 2**31 for c in EVERY if c.kind == "huge")
    assert all(c.span[1] * c.dtype.itemsize > 2**32 for c in EVERY if c.kind == "far")


def test_operations_fit_the_types() -> None:
    """Means and logarithms of whole numbers would be made in f64, and say nothing about memory."""
    assert {c.op for c in EVERY if not c.dtype.is_float}.isdisjoint(FLOATS_ONLY)
    assert {c.op for c in EVERY if c.dtype.name == "bool" and c.kind == "short"} == {"any"}
    assert {c.op for c in EVERY if c.dtype.name == "i8" and c.kind == "short"} == {"sum"}
    assert {"argmax", "var"} <= {c.op for c in EVERY if c.kind == "operations"}
    assert next(c.op for c in ALL["bool"] if c.issue == "pytorch#55366") == "sum"


def test_cells_that_fit_one_cta() -> None:
    found = {c.name: c.fits_one_cta for c in ALL["f32"]}
    assert all(found[c.name] for c in ALL["f32"] if c.kind == "tiny")
    assert not found["full.10^4"]


def test_next_prime() -> None:
    assert [next_prime(n) for n in (2, 8, 96, 192)] == [2, 11, 97, 193]


# --- the bytes that must move -----------------------------------------------------------------------------------------
def brute(cell: Cell) -> int:
    """Bytes of all pieces that hold an element, counted one by one."""
    at = np.array([cell.offset])
    for n, s in zip(cell.shape, cell.strides, strict=True):
        at = np.unique((at[:, None] + np.arange(n) * s).ravel()) if s else at
    return np.unique(at * cell.dtype.itemsize // FETCHED).size * FETCHED


def test_bytes_count_each_piece_with_an_element_once() -> None:
    for cell in (c for c in grid_numpy.clones() if c.kind not in ("strided", "sliced")):
        assert abs(touched(cell) - brute(cell)) <= max(2 * FETCHED, 0.01 * brute(cell)), cell


def test_bytes_of_views_with_gaps() -> None:
    """Gaps start at different places in each dim, so the mean is right within a few percent."""
    small = [c for name in ("f32", "i8") for c in cells(dtype(name), 1 << 16) if c.kind in ("strided", "sliced")]
    for cell in small:
        assert touched(cell) == pytest.approx(brute(cell), rel=0.03), cell


def one(shape: tuple[int, ...], axes: tuple[int, ...], strides: tuple[int, ...] | None = None, op: str = "sum") -> Cell:
    return Cell("x", "x.y", op, dtype("f32"), shape, strides or dense(shape), 0, axes)


def test_bytes_of_cells_worked_out_by_hand() -> None:
    assert one((1024, 8), (1,)).nbytes == 1024 * 32 + 1024 * 4
    assert one((1024, 8), (1,), (8, 1), "argmax").nbytes == 1024 * 32 + 1024 * 8  # positions have 64 bits
    assert one((4, 1024), (0,), (0, 1)).nbytes == 1024 * 4 + 1024 * 4  # expanded: once
    assert one((1024, 8), (0, 1), (16, 1)).nbytes == 1024 * 64 + 4  # a sector of two: memory fetches both
    assert one((1024, 8), (0, 1), (32, 1)).nbytes == 1024 * 64 + 4  # one sector of four: two of them
    assert one((1024, 4), (0, 1), (8, 1)).nbytes == 1024 * 32 + 4  # half of each sector: all of it
    assert one((1024,), (0,), (2,)).nbytes == 2048 * 4 + 4
    assert one((), ()).nbytes == 64 + 4


# --- answers ----------------------------------------------------------------------------------------------------------
def test_small_clones_of_all_kinds_of_layouts_are_reduced_correctly() -> None:
    """A fifth of the layouts in i8, whose sums are exact, and a few of each kind in every other type."""
    found = grid_numpy.clones()
    exact = {c.name for c in found if c.dtype.name == "i8"}
    chosen = [c for i, c in enumerate(found) if i % (5 if c.dtype.name == "i8" else 41) == 0 or c.name not in exact]
    assert {c.name.partition(".")[0] for c in chosen} == {c.name.partition(".")[0] for c in found}
    bed, truth = grid_numpy.bed(chosen)
    for kind in kinds(chosen):
        truth.fill(kind)
        for cell in (c for c in chosen if c.dtype == kind):
            assert bed.holds(cell)
            with bed.work(cell) as work:
                work.launch()
            assert truth.error(cell, work.result()) == 0, cell


def test_clones_keep_the_strides_and_gaps_of_a_layout() -> None:
    by_name = {c.name: grid_numpy.clone(c) for c in ALL["f32"]}
    assert by_name["expanded.4.front"].strides[0] == 0
    assert by_name["backward.1000.both"].strides[1] == -1
    assert by_name["strided.elements.3"].strides[1] == 3
    assert by_name["transposed.1000.axis0"].strides[0] == 1
    assert by_name["sliced.1000+1.rows"].strides[0] == by_name["sliced.1000+1.rows"].shape[1] + 1
