"""The layouts of ``warpfold grid``: made by rules, one function a kind, for every element type.

What is large moves about ``BIG`` bytes whatever the type: rows of 4-byte elements are half as many as rows of 2-byte
ones. Sizes that a report of users names stay as they were reported (``reported_shapes.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations

from ....compiler.dtypes import DType
from .cells import SECTOR, Cell, dense
from .reported_shapes import REPORTS
from .sizes import BIG, Maker, around_powers, next_prime

SPAN = 6 << 30
"""Bytes over which the elements of a far layout lie: farther than 32 bits reach."""
DTYPES = ("f32", "bf16", "i8", "f64", "bool")

Cells = Iterator[Cell]


# --- rows ----------------------------------------------------------------------------------------------------------
def _rows(m: Maker, kind: str, lengths: Sequence[int]) -> Cells:
    for n in lengths:
        yield m.cell(f"{kind}.{n}", (m.count(n), n), (1,))


def short(m: Maker) -> Cells:
    """Rows of 1 to 64 elements."""
    return _rows(m, "short", range(1, 65))


def many(m: Maker) -> Cells:
    """Many rows of some hundred elements."""
    return _rows(m, "many", range(72, 1024, 40))


def odd(m: Maker) -> Cells:
    """Rows of odd lengths, each half as long again as the one before."""
    return _rows(m, "odd", [int(65 * 1.5**k) | 1 for k in range(24)])


def prime(m: Maker) -> Cells:
    """Rows of prime lengths."""
    return _rows(m, "prime", [next_prime(3 << k) for k in range(5, 20)])


def power(m: Maker) -> Cells:
    """Rows as long as a power of two, one more and one less."""
    return _rows(m, "power", around_powers(7, 18))


def long(m: Maker) -> Cells:
    """Few long rows; ``odd`` ones begin where no vector does."""
    for rows in (2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64, 100, 128, 132, 200, 256, 264, 512, 1000):
        length = max(16, m.whole // rows // 16 * 16)
        yield m.cell(f"long.{rows}", (rows, length), (1,))
        if rows <= 132:
            yield m.cell(f"long.{rows}.odd", (rows, length | 1), (1,))


def full(m: Maker) -> Cells:
    """Whole arrays, from some thousand bytes to twice the large size."""
    for k in range(-14, 2):
        yield m.cell(f"full.2^{k:+}", (max(1, int(m.big * 2.0**k) // m.dtype.itemsize),), (0,))
    for k in range(4, 8):
        yield m.cell(f"full.10^{k}", (10**k,), (0,))


# --- axes ----------------------------------------------------------------------------------------------------------
def outer(m: Maker) -> Cells:
    """Columns: side by side by the number named, or few rows of very many."""
    for n in (*range(2, 17), *around_powers(5, 12), 1000, 10_000, 100_000, 1 << 18, 1 << 20):
        yield m.cell(f"outer.{n}", (max(2, m.whole // n), n), (0,))
    for rows in (2, 3, 4, 8, 16, 32, 64, 128):
        yield m.cell(f"outer.{rows}rows", (rows, m.count(rows)), (0,))
    for rows in (3, 6, 12, 24, 100):
        yield m.cell(f"outer.{rows}rows.odd", (rows, m.count(rows) | 1), (0,))


def middle(m: Maker) -> Cells:
    """The middle axis of three: so many elements, so many results side by side; and images, by channel."""
    for n in (4, 64, 1000):
        for inner in (2, 3, 7, 16, 32, 33, 64, 100, 128, 577, 1000, 1001, 5001):
            yield m.cell(f"middle.{n}x{inner}", (max(1, m.count(n) // inner), n, inner), (1,))
    for side in (7, 14, 28, 56, 112):
        for channels in (64, 256):
            shape = (m.whole // (channels * side * side) or 1, channels, side, side)
            yield m.cell(f"middle.nchw.{channels}x{side}", shape, (0, 2, 3))


def around(m: Maker) -> Cells:
    """The first and the last of three axes, around one that is kept: so many runs, and so many elements in each."""
    for runs in (3, 32, 1000):
        for inner in (33, 250, 777, 5001):
            yield m.cell(f"around.{runs}x{inner}", (runs, m.count(runs * inner), inner), (0, 2))


def batched(m: Maker) -> Cells:
    """Batches of channels of an odd number of pixels, by channel: so many batches and channels."""
    for batches, channels in ((2, 3), (4, 64), (32, 3), (32, 300), (300, 20)):
        shape = (batches, channels, max(1, m.whole // (batches * channels)) | 1)
        yield m.cell(f"batched.{batches}x{channels}", shape, (0, 2))


def cropped(m: Maker) -> Cells:
    """Images of so many rows and columns, cut out of others that have one more on each side."""
    for side in (14, 30, 62, 126, 222, 510, 1022):
        pitch = side + 2
        shape, strides = (m.count(pitch * pitch), side, side), (pitch * pitch, pitch, 1)
        yield m.cell(f"cropped.{side}", shape, (1, 2), strides, pitch + 1)


def transposed(m: Maker) -> Cells:
    """A transposed matrix, and transposed matrices one after another, along either axis."""
    for n in (64, 1000, 4096, 8191):
        for axis in (0, 1):
            yield m.cell(f"transposed.{n}.axis{axis}", (n, m.count(n)), (axis,), (1, n))
    for n in (48, 1000):
        for axis in (1, 2):
            yield m.cell(f"transposed.batch.{n}.axis{axis}", (m.count(n) // 64 or 1, n, 64), (axis,), (64 * n, 1, n))


def permuted(m: Maker) -> Cells:
    """Three dims in every other order, along one axis and two."""
    sizes = (100, 64, m.count(6400))
    for order in list(permutations(range(3)))[1:]:
        stored = dense([sizes[i] for i in order])
        strides = [stored[order.index(i)] for i in range(3)]
        for axes in ((0,), (1,), (2,), (0, 2)):
            name = f"permuted.{''.join(map(str, order))}.axis{''.join(map(str, axes))}"
            yield m.cell(name, sizes, axes, strides)


# --- strides -------------------------------------------------------------------------------------------------------
def expanded(m: Maker) -> Cells:
    """Elements that are there several times, with stride 0: twice, four times and, of a small array, a thousand."""
    for times, share in ((2, 1), (4, 1), (1000, 1000)):
        n, front = m.count(1000) // share or 1, m.count(1) // share or 1
        yield m.cell(f"expanded.{times}.kept", (times, n, 1000), (2,), (0, 1000, 1))
        yield m.cell(f"expanded.{times}.front", (times, front), (0,), (0, 1))
        yield m.cell(f"expanded.{times}.rows", (n, times, 1000), (1, 2), (1000, 0, 1))
        yield m.cell(f"expanded.{times}.inner", (n, 1000, times), (1, 2), (1000, 1, 0))
        yield m.cell(f"expanded.{times}.last", (n, 1000, times), (1,), (1000, 1, 0))
    yield m.cell("expanded.number", (1 << 24,), (0,), (0,))


def sliced(m: Maker) -> Cells:
    """Some columns of a wider matrix: one more, sixteen more, as many more; and all but one of few."""
    for n in (3, 5, 9, 15, 35):
        yield m.cell(f"sliced.{n}+1.columns", (m.whole // (n + 1), n), (0,), (n + 1, 1), 3 * (n + 1) + 1)
    for n in (33, 64, 100, 1000, 1024, 4097):
        for more in (1, 16, n):
            name, pitch = f"sliced.{n}+{more}", n + more
            yield m.cell(f"{name}.rows", (m.count(pitch), n), (1,), (pitch, 1), 3 * pitch + 1)
            if n in (100, 1000, 1024):
                yield m.cell(f"{name}.columns", (m.count(pitch), n), (0,), (pitch, 1), 3 * pitch + 1)


def strided(m: Maker) -> Cells:
    """Every so manieth element, or row."""
    for step in (2, 3, 4, 5, 8, 16, 32):
        rows = m.count(1000 * min(step, SECTOR // m.dtype.itemsize))
        yield m.cell(f"strided.elements.{step}", (rows, 1000), (1,), (1000 * step, step))
    for step in (2, 3, 8):
        yield m.cell(f"strided.rows.{step}", (m.count(1000), 1000), (1,), (1000 * step, 1))
        yield m.cell(f"strided.columns.{step}", (m.count(1000), 1000), (0,), (1000 * step, 1))
    for step in (2, 4):
        yield m.cell(f"strided.whole.{step}", (m.whole // step,), (0,), (step,))


def backward(m: Maker) -> Cells:
    """Negative strides, along what is reduced, along what is kept, and with steps."""
    for n in (1000, 1024):
        rows = m.count(n)
        last = rows * n - 1
        yield m.cell(f"backward.{n}.elements", (rows, n), (1,), (n, -1), n - 1)
        yield m.cell(f"backward.{n}.rows", (rows, n), (1,), (-n, 1), last + 1 - n)
        yield m.cell(f"backward.{n}.columns", (rows, n), (0,), (-n, 1), last + 1 - n)
        yield m.cell(f"backward.{n}.both", (rows, n), (0,), (-n, -1), last)
    yield m.cell("backward.whole", (m.whole,), (0,), (-1,), m.whole - 1)
    yield m.cell("backward.step2", (m.whole // 2,), (0,), (-2,), m.whole - 1)


def misaligned(m: Maker) -> Cells:
    """Arrays that begin at every byte offset that the type allows."""
    for byte in range(m.dtype.itemsize, 16, m.dtype.itemsize):
        at = byte // m.dtype.itemsize
        yield m.cell(f"misaligned.full+{byte}", (m.whole,), (0,), offset=at)
        yield m.cell(f"misaligned.rows1000+{byte}", (m.count(1000), 1000), (1,), offset=at)
        yield m.cell(f"misaligned.rows1024+{byte}", (m.count(1024), 1024), (1,), offset=at)
        yield m.cell(f"misaligned.columns1024+{byte}", (m.count(1024), 1024), (0,), offset=at)


# --- sizes ---------------------------------------------------------------------------------------------------------
def tiny(m: Maker) -> Cells:
    """What fits one CTA: whole arrays, rows and columns."""
    for n in sorted({1, 2, 3, 5, 7, 100, 1000, 3000, 4095, 4096, *around_powers(3, 11)}):
        yield m.cell(f"tiny.{n}", (n,), (0,))
    for n, k in ((2, 3), (7, 9), (16, 16), (32, 32), (64, 64), (128, 32), (4, 1024), (1, 4096), (4096, 1), (100, 40)):
        yield m.cell(f"tiny.{n}x{k}.rows", (n, k), (1,))
        yield m.cell(f"tiny.{n}x{k}.columns", (n, k), (0,))


def huge(m: Maker) -> Cells:
    """More than 2^31 elements, of types small enough."""
    if m.dtype.itemsize > 2:
        return
    most = m.big << 4  # 2^31 for the large size that is usual
    root = int(most**0.5)
    yield m.cell("huge.full", (most + 11,), (0,))
    for axis in (0, 1):
        yield m.cell(f"huge.square.axis{axis}", (root + 3, root + 1), (axis,))
    yield m.cell("huge.long", (3, most // 2), (1,))
    yield m.cell("huge.middle", (2, root // 2 + 1, root + 1), (1,))


def far(m: Maker) -> Cells:
    """Few elements, farther apart than 32 bits reach."""
    item = m.dtype.itemsize
    for rows in (3, 64):
        pitch = SPAN // item // rows
        n = m.big // item // rows
        yield m.cell(f"far.{rows}.rows", (rows, n), (1,), (pitch, 1))
        yield m.cell(f"far.{rows}.columns", (rows, m.count(rows)), (0,), (pitch, 1))


# --- operations ----------------------------------------------------------------------------------------------------
def operations(m: Maker) -> Cells:
    """Reductions with larger states, over the main kinds."""
    for op in ("argmax", "var") if m.dtype.is_float else ("argmax", "max"):
        yield m.cell(f"operations.{op}.full", (m.whole,), (0,), op=op)
        for n in (7, 1000, 4096):
            yield m.cell(f"operations.{op}.rows{n}", (m.count(n), n), (1,), op=op)
        yield m.cell(f"operations.{op}.long", (16, m.whole // 16), (1,), op=op)
        for n in (7, 1000):
            yield m.cell(f"operations.{op}.columns{n}", (m.whole // n or 1, n), (0,), op=op)
        yield m.cell(f"operations.{op}.middle", (m.count(64 * 1000) or 1, 64, 1000), (1,), op=op)
        yield m.cell(f"operations.{op}.tiny", (1000,), (0,), op=op)
    if m.dtype.is_float:
        for n in (2, 4, 8, 33, 129):
            yield m.cell(f"operations.var.rows{n}", (m.count(n), n), (1,), op="var")
        for n in (8, 65):
            yield m.cell(f"operations.logsumexp.rows{n}", (m.count(n), n), (1,), op="logsumexp")


def reported(m: Maker) -> Cells:
    """What users of other libraries reported as slow, in the shapes that they named or that stand for their report."""
    for r in REPORTS:
        yield m.cell(f"reported.{r.name}", r.shape, r.axes, r.strides, op=r.op, issue=r.issue)


KINDS: tuple[Callable[[Maker], Cells], ...] = (
    short, many, odd, prime, power, long, full, outer, middle, around, batched, cropped, transposed, permuted, expanded,
    sliced, strided, backward, misaligned, tiny, huge, far, operations, reported,
)  # fmt: skip
"""The kinds of layout, in the order in which they are measured and shown."""


def cells(dtype: DType, big: int = BIG) -> list[Cell]:
    """All cells of an element type, kind by kind."""
    maker = Maker(dtype, big)
    return [cell for kind in KINDS for cell in kind(maker)]
