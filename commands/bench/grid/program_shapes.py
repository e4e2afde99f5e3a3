"""The layouts of ``warpfold grid`` for programs: softmax and norms over rows, other axes and views; masks of bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ....compiler.dtypes import DType
from .cells import ProgramCell, dense
from .sizes import BIG

DTYPES = ("f32", "bf16")
Cells = Iterator[ProgramCell]
SOFTMAX_ROWS = (
    1, 2, 3, 5, 7, 8, 10, 16, 21, 32, 33, 50, 64, 77, 100, 128, 197, 256, 257, 333, 509, 512, 577, 768, 1000, 1001,
    1024, 1025, 1536, 2047, 2048, 3000, 4095, 4096, 4097, 5000, 8191, 8192, 10_000, 16_383, 16_384, 16_385, 32_000,
    32_768, 50_257, 65_536, 65_537, 100_000, 131_071, 131_072,
)  # fmt: skip
"""Lengths of rows: short, odd, powers of two and their neighbours, sizes of models and vocabularies."""
LAYER_NORM_ROWS = (
    3, 16, 64, 96, 128, 257, 768, 769, 1000, 1024, 2560, 4096, 4097, 5120, 8191, 8192, 12_288, 32_768, 65_536, 131_071,
    131_072,
)  # fmt: skip
RMS_NORM_ROWS = (64, 128, 512, 1000, 2048, 4095, 4096, 5120, 8192, 16_384, 16_385, 65_536, 131_072)


@dataclass(frozen=True)
class Maker:
    """Makes the cells of one element type.

    Attributes:
        dtype: the type.
        big: bytes that a large cell moves.
    """

    dtype: DType
    big: int = BIG

    def cell(
        self, name: str, op: str, shape: Sequence[int], axes: tuple[int, ...], strides: Sequence[int] | None = None,
        offset: int = 0,
    ) -> ProgramCell:  # fmt: skip
        """A cell; contiguous without ``strides``."""
        strides = dense(shape) if strides is None else strides
        kind = name.partition(".")[0]
        return ProgramCell(kind, name, op, self.dtype, tuple(shape), tuple(strides), offset, axes)

    @property
    def whole(self) -> int:
        """Elements of a large array: each is read and written."""
        return self.big // (2 * self.dtype.itemsize)

    def count(self, length: int) -> int:
        """The number of rows of ``length`` elements in a large array."""
        return max(1, self.whole // length)


def _rows(m: Maker, kind: str, op: str, lengths: Sequence[int]) -> Cells:
    for n in lengths:
        yield m.cell(f"{kind}.{n}", op, (m.count(n), n), (1,))


def softmax(m: Maker) -> Cells:
    """Softmax of rows by length, and of few long rows."""
    yield from _rows(m, "softmax", "softmax", SOFTMAX_ROWS)
    for rows in (1, 2, 7, 16, 64, 132, 264):
        yield m.cell(f"softmax.{rows}rows", "softmax", (rows, m.count(rows)), (1,))
        yield m.cell(f"softmax.{rows}rows.odd", "softmax", (rows, m.count(rows) - 1 | 1), (1,))


def layer_norm(m: Maker) -> Cells:
    """Layer norms of rows, with weight and bias."""
    yield from _rows(m, "layer_norm", "layernorm", LAYER_NORM_ROWS)
    for rows in (4, 64):
        yield m.cell(f"layer_norm.{rows}rows", "layernorm", (rows, m.count(rows)), (1,))


def rms_norm(m: Maker) -> Cells:
    """Root mean square norms of rows, with weight."""
    return _rows(m, "rms_norm", "rmsnorm", RMS_NORM_ROWS)


def softmax_axes(m: Maker) -> Cells:
    """Softmax over the first axis, a middle one, and several."""
    for n in (3, 16, 64, 100, 1000, 1024, 8191):
        yield m.cell(f"softmax_axes.first.{n}", "softmax", (n, m.count(n)), (0,))
        yield m.cell(f"softmax_axes.columns.{n}", "softmax", (m.count(n), n), (0,))
    for n in (4, 21, 64, 1000):
        for inner in (3, 49, 196, 1024):
            yield m.cell(f"softmax_axes.middle.{n}x{inner}", "softmax", (m.count(n * inner), n, inner), (1,))
    for side in (7, 56):
        shape = (m.count(256 * side * side), 256, side, side)
        for axes in ((1,), (2, 3), (1, 2, 3), (0, 2, 3)):
            yield m.cell(f"softmax_axes.nchw{side}.{''.join(map(str, axes))}", "softmax", shape, axes)
    for n in (64, 1000):
        yield m.cell(f"softmax_axes.norm.{n}", "layernorm", (m.count(n * 196), n, 196), (1,))


def softmax_views(m: Maker) -> Cells:
    """Softmax of misaligned, sliced, strided, transposed, permuted and expanded arrays, and of heads of a batch."""
    for n in (33, 1000, 1024, 4096, 8191):
        yield m.cell(f"softmax_views.misaligned.{n}", "softmax", (m.count(n), n), (1,), offset=1)
        for more in (1, 16):
            pitch = n + more
            yield m.cell(
                f"softmax_views.sliced.{n}+{more}", "softmax", (m.count(n), n), (1,), (pitch, 1), 3 * pitch + 1
            )
    for n in (1000, 1024):
        yield m.cell(f"softmax_views.rows2.{n}", "softmax", (m.count(n), n), (1,), (2 * n, 1))
        yield m.cell(f"softmax_views.elements2.{n}", "softmax", (m.count(n), n), (1,), (2 * n, 2))
        yield m.cell(f"softmax_views.transposed.{n}", "softmax", (m.count(n), n), (1,), (1, m.count(n)))
        yield m.cell(f"softmax_views.expanded.{n}", "softmax", (m.count(4 * n), 4, n), (2,), (n, 0, 1))
        yield m.cell(f"softmax_views.norm.{n}", "layernorm", (m.count(n), n), (1,), (n + 1, 1), 1)
    for n in (77, 128):
        batch = m.count(16 * 64 * n)
        strides = (64 * 16 * n, n, 16 * n, 1)  # stored as batch, place, head, element
        yield m.cell(f"softmax_views.heads.{n}", "softmax", (batch, 16, 64, n), (3,), strides)
        yield m.cell(f"softmax_views.places.{n}", "softmax", (batch, 16, 64, n), (2,), strides)


def masks(m: Maker) -> Cells:
    """A ReLU with its mask as bits and alone, its gradient from bits, and a sum: of rows by length, and of views."""
    for op in ("relu", "relu_bits", "relu_backward", "add"):
        for n in (33, 100, 1000, 1024, 8191):
            yield m.cell(f"masks.{op}.{n}", op, (m.count(n), n), ())
        yield m.cell(f"masks.{op}.misaligned.1024", op, (m.count(1024), 1024), (), offset=1)
        for n in (1000, 1024):
            yield m.cell(f"masks.{op}.sliced.{n}+1", op, (m.count(n), n), (), (n + 1, 1), n + 2)
        yield m.cell(f"masks.{op}.transposed.1000", op, (m.count(1000), 1000), (), (1, m.count(1000)))


def scans(m: Maker) -> Cells:
    """Cumulative sums of one row and of rows by length and number, over other axes, and of views."""
    for n in (m.whole, m.whole - 1 | 1):
        yield m.cell(f"scans.one.{n}", "cumsum", (1, n), (1,))
    for rows in (2, 16, 64, 264):
        yield m.cell(f"scans.{rows}rows", "cumsum", (rows, m.count(rows)), (1,))
    yield from _rows(m, "scans", "cumsum", (3, 33, 64, 197, 1000, 1024, 4096, 4097, 8191, 32_768, 100_000))
    for n in (8, 64, 513, 8192):
        yield m.cell(f"scans.columns.{n}", "cumsum", (m.count(n), n), (0,))
    for n, inner in ((21, 1024), (64, 196), (1000, 49)):
        yield m.cell(f"scans.middle.{n}x{inner}", "cumsum", (m.count(n * inner), n, inner), (1,))
    yield m.cell("scans.misaligned.1024", "cumsum", (m.count(1024), 1024), (1,), offset=1)
    yield m.cell("scans.sliced.1000+1", "cumsum", (m.count(1000), 1000), (1,), (1001, 1), 1002)
    yield m.cell("scans.maxima.4096", "cummax", (m.count(4096), 4096), (1,))
    yield m.cell("scans.recurrence.4096", "recurrence", (m.count(4096), 4096), (1,))


def small_programs(m: Maker) -> Cells:
    """What fits one CTA."""
    for rows, n in ((1, 1), (1, 1000), (4, 1024), (32, 128), (100, 40)):
        yield m.cell(f"small_programs.{rows}x{n}", "softmax", (rows, n), (1,))
    yield m.cell("small_programs.norm.4x1024", "layernorm", (4, 1024), (1,))


KINDS: tuple[Callable[[Maker], Cells], ...] = (
    softmax, layer_norm, rms_norm, softmax_axes, softmax_views, masks, scans, small_programs,
)  # fmt: skip
"""The kinds of layout, in the order in which they are measured and shown."""


def cells(dtype: DType, big: int = BIG) -> list[ProgramCell]:
    """All cells of programs of an element type, kind by kind; none for a type without programs."""
    maker = Maker(dtype, big)
    return [cell for kind in KINDS for cell in kind(maker)] if dtype.name in DTYPES else []
