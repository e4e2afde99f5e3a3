"""Arrays of bits: packed and unpacked, as results and inputs of programs, beside NumPy's ``packbits``."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold.compiler.errors import ArgumentError, PlanError, TraceError

RNG = np.random.default_rng(26)
SHAPES = [(64,), (4, 128), (3, 100), (5, 7), (2, 3, 40), (1000,), (2, 1500), (33, 1), (0, 5), (4, 0)]


def packed(mask: Any, *, flat: bool = False) -> Any:
    """The words of ``mask`` by NumPy."""
    mask = mask.reshape(-1) if flat else mask
    found = np.packbits(mask, axis=-1, bitorder="little")
    words = np.zeros((*mask.shape[:-1], -(-mask.shape[-1] // 32) * 4), np.uint8)
    words[..., : found.shape[-1]] = found
    return words.view("<u4")


def dirty(words: Any, n: int) -> Any:
    """``words`` with the bits beyond the ``n`` elements of a row set."""
    found = words.copy()
    if n % 32:
        found[..., -1] |= np.uint32(0xFFFFFFFF << n % 32 & 0xFFFFFFFF)
    return found


@wf.program
def relu(x: Any) -> Any:
    return wf.maximum(x, 0), wf.pack(x > 0)


@wf.program
def relu_of_all(x: Any, w: Any) -> Any:
    return wf.maximum(x * w, 0), wf.pack(x * w > 0, flat=True)


@wf.program
def chosen(dy: Any, bits: Any) -> Any:
    return wf.where(wf.unpack(bits, dy.shape), dy, 0)


@wf.program
def chosen_of_all(dy: Any, bits: Any) -> Any:
    return wf.where(wf.unpack(bits, dy.shape, flat=True), dy, 0)


@wf.program
def likely_rows(x: Any) -> Any:
    return wf.pack(x > 0)


@wf.program
def likely(x: Any) -> Any:
    s = wf.softmax(x, axis=-1)
    return s, wf.pack(s > 0.01)


@wf.program
def masked_softmax(x: Any, bits: Any) -> Any:
    return wf.softmax(wf.where(wf.unpack(bits, x.shape), x, -np.inf), axis=-1)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("flat", [False, True])
def test_packs_as_numpy_and_unpacks(shape: tuple[int, ...], flat: bool) -> None:
    mask = RNG.random(shape) < 0.5
    words = wf.pack(mask, flat=flat)
    assert words.dtype == np.uint32
    assert np.array_equal(words, packed(mask, flat=flat))
    elements = mask.size if flat else shape[-1]
    found = wf.unpack(dirty(words, elements), shape, flat=flat)
    assert found.dtype == np.bool_
    assert np.array_equal(found, mask)


@pytest.mark.parametrize("t", ["float64", "float32", "float16", "int8"])
@pytest.mark.parametrize("shape", [(96,), (3, 100), (2, 2056)])
def test_bits_of_a_map_and_back(t: str, shape: tuple[int, ...]) -> None:
    x = (4 * RNG.standard_normal(shape)).astype(t)
    y, words = relu(x)
    assert np.array_equal(y, np.maximum(x, 0))
    assert np.array_equal(words, packed(x > 0))
    expected = np.where(x > 0, x, 0)
    assert np.array_equal(chosen(x, dirty(words, shape[-1])), expected)
    assert np.array_equal(chosen(x, words.view(np.int32)), expected)


@pytest.mark.parametrize("layout", ["transposed", "reversed", "strided"])
def test_arrays_that_lie_otherwise(layout: str) -> None:
    of = {"transposed": lambda a: a.T, "reversed": lambda a: a[:, ::-1], "strided": lambda a: a[::-2, ::3]}[layout]
    x = of(RNG.standard_normal((44, 150)).astype(np.float32))
    y, words = relu(x)
    assert np.array_equal(y, np.maximum(x, 0))
    assert np.array_equal(words, packed(x > 0))
    assert np.array_equal(chosen(x, words[::-1]), np.where((x > 0)[::-1], x, 0))


def lying(shape: tuple[int, ...], t: Any, first: int, gap: int = 0) -> Any:
    """An array that begins ``first`` elements after a boundary of 16 bytes, with ``gap`` elements after each row."""
    n, item = int(np.prod((*shape[:-1], shape[-1] + gap))), np.dtype(t).itemsize
    buffer = RNG.standard_normal(n + 64).astype(t)
    start = -buffer.ctypes.data // item % (16 // item) + first
    return buffer[start : start + n].reshape(*shape[:-1], shape[-1] + gap)[..., : shape[-1]]


@pytest.mark.parametrize("t", [np.float32, np.float16])
@pytest.mark.parametrize(
    ("shape", "first", "gap"),
    [((333,), 0, 0), ((333,), 1, 0), ((7, 99), 0, 0), ((8, 320), 3, 0), ((9, 328), 2, 3), ((3, 512), 1, 1)],
)
def test_arrays_that_begin_and_end_anywhere_are_accessed_at_once(
    t: Any, shape: tuple[int, ...], first: int, gap: int
) -> None:
    x = lying(shape, t, first, gap)
    vector = 16 // np.dtype(t).itemsize
    y, bits = wf.relu(x, keep="bits", device="emulator")
    np.testing.assert_array_equal(y, np.maximum(x, 0))
    np.testing.assert_array_equal(bits, packed(x > 0, flat=True))
    assert wf.relu.compile(x, keep="bits").plans[0].vector == vector
    last = bits.copy()
    last[-1] |= np.uint32(2**32 - 2 ** ((x.size - 1) % 32 + 1))  # ones behind the last element
    np.testing.assert_array_equal(wf.relu_backward(x, last, device="emulator"), np.maximum(x, 0))
    assert wf.relu_backward.compile(x, last).plans[0].vector == vector


GAPPED = {  # the array, what is kept of it, and the elements of a part
    "rows of an access and more": ((40, 21), (40, 20), 16),
    "parts of eight": ((2, 19, 14), (2, 18, 13), 8),
    "parts of four, in three dims": ((3, 9, 4, 9), (3, 8, 3, 7), 4),
}


@pytest.mark.parametrize("case", GAPPED)
@pytest.mark.parametrize("t", ["int8", "uint8"])
def test_bytes_of_rows_with_gaps_are_read_in_words(case: str, t: str) -> None:
    """Accesses go on from one row into the next; the first and the last ones have single elements."""
    shape, kept, part = GAPPED[case]
    x, z = (RNG.integers(0, 256, (shape[0] * 4, *shape[1:])).astype(t) for _ in range(2))
    x, z = (a[tuple(slice(n) for n in (a.shape[0], *kept[1:]))] for a in (x, z))
    y, bits = wf.add_relu(x, z, keep="bits", device="emulator")
    np.testing.assert_array_equal(y, np.maximum(x + z, 0))
    np.testing.assert_array_equal(bits, packed((x + z) > 0, flat=True))
    np.testing.assert_array_equal(wf.relu_backward(x, bits, device="emulator"), np.where((x + z) > 0, x, 0))
    facts = wf.add_relu.compile(x, z, keep="bits").artifact.kernels[0].main.facts
    assert (facts.access, facts.part, facts.runs) == (("split", "split"), part, (2, 3))


@pytest.mark.parametrize("t", ["int8", "uint8"])
def test_bytes_are_compared_selected_and_added_in_words(t: str) -> None:
    """Every pair of bytes, its sum or its difference by every comparison, beside its bits."""
    x, y = (a.ravel().astype(t) for a in np.meshgrid(np.arange(256), np.arange(256)))
    for holds in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne):
        both = wf.program(lambda a, b, holds=holds: (wf.where(m := holds(a, b), a + b, a - b), wf.pack(m)))
        found, bits = both(x, y, device="emulator")
        np.testing.assert_array_equal(found, np.where(holds(x, y), x + y, x - y), holds.__name__)
        np.testing.assert_array_equal(bits, packed(holds(x, y)), holds.__name__)


@pytest.mark.parametrize("first", [0, 3])
def test_rows_of_words_that_begin_anywhere_are_written_at_once(first: int) -> None:
    x, y = (lying((2, 3, 811), np.float16, first) for _ in range(2))
    made, bits = relu(x, out=(y, np.empty((2, 3, 26), np.uint32)), device="emulator")
    np.testing.assert_array_equal(made, np.maximum(x, 0))
    np.testing.assert_array_equal(bits, packed(x > 0))
    assert relu.compile(x).plans[0].vector == 8
    np.testing.assert_array_equal(relu(x, out=(x, bits), device="emulator")[0], y)


@pytest.mark.parametrize("t", [np.float32, np.float16])
@pytest.mark.parametrize(("n", "m"), [(77, 104), (64, 64), (66, 48), (5, 1000), (3, 40)])
def test_bits_across_other_arrays_are_bytes_of_blocks(t: Any, n: int, m: int) -> None:
    x = RNG.standard_normal((m, n)).astype(t).T
    out = np.empty_like(x), np.full(-(-n * m // 32), 2**32 - 1, np.uint32)
    y, bits = wf.relu(x, keep="bits", out=out, device="emulator")
    np.testing.assert_array_equal(y, np.maximum(x, 0))
    np.testing.assert_array_equal(bits, packed(x > 0, flat=True))
    np.testing.assert_array_equal(wf.relu_backward(x, bits, device="emulator"), np.maximum(x, 0))
    rows = likely_rows(x, out=np.full((n, -(-m // 32)), 2**32 - 1, np.uint32), device="emulator")
    np.testing.assert_array_equal(rows, packed(x > 0))
    for made in (wf.relu.compile(x, keep="bits"), wf.relu_backward.compile(x, bits), likely_rows.compile(x)):
        assert made.plans[0].walk == "blocked"


def test_bits_beside_a_weight_of_channels_are_no_blocks() -> None:
    x, w = RNG.standard_normal((2, 8, 6, 16)).astype(np.float32), np.ones(8, np.float32)
    made = wf.batch_norm.compile(x, weight=w, bias=w, residual=x, training=True, activation="relu", keep="bits")
    assert {plan.walk for plan in made.plans} == {"interleaved"}


def test_bits_of_images_whose_channels_lie_innermost_are_bytes_of_blocks() -> None:
    x = RNG.standard_normal((2, 8, 6, 16)).astype(np.float32).transpose(0, 3, 1, 2)
    _, bits = wf.relu(x, keep="bits", device="emulator")
    np.testing.assert_array_equal(bits, packed(x > 0, flat=True))
    np.testing.assert_array_equal(wf.relu_backward(x, bits, device="emulator"), np.maximum(x, 0))
    assert wf.relu.compile(x, keep="bits").plans[0].walk == "blocked"
    assert wf.relu_backward.compile(x, bits).plans[0].walk == "blocked"
    with pytest.raises(PlanError, match=r"WF430: .*word=shuffle is for other programs, expected byte"):
        wf.relu(x, keep="bits", plan="word=shuffle", device="emulator")


@pytest.mark.parametrize("shape", [(6, 4, 33), (2, 8, 64)])
def test_bits_of_a_whole_array_beside_a_weight(shape: tuple[int, ...]) -> None:
    x = RNG.standard_normal(shape).astype(np.float32)
    w = RNG.standard_normal((shape[1], 1)).astype(np.float32)
    y, words = relu_of_all(x, w)
    assert np.array_equal(y, np.maximum(x * w, 0))
    assert np.array_equal(words, packed(x * w > 0, flat=True))
    assert np.array_equal(chosen_of_all(x, dirty(words, x.size)), np.where(x * w > 0, x, 0))


@pytest.mark.parametrize("n", [24, 100, 2048, 5000])
@pytest.mark.parametrize("determinism", ["run", "portable"])
def test_bits_beside_folds(n: int, determinism: str) -> None:
    x = (3 * RNG.standard_normal((3, n))).astype(np.float32)
    s, words = likely(x, determinism=determinism)
    assert np.array_equal(words, packed(s > 0.01))
    assert np.array_equal(s, wf.softmax(x, axis=-1, determinism=determinism))
    keep = RNG.random((3, n)) < 0.7
    expected = wf.softmax(np.where(keep, x, np.float32(-np.inf)), axis=-1, determinism=determinism)
    assert np.array_equal(masked_softmax(x, dirty(packed(keep), n), determinism=determinism), expected)


@pytest.mark.parametrize(
    "index", [np.s_[1:], np.s_[::-2], np.s_[2], np.s_[..., 32:], np.s_[..., :50], np.s_[1:3, 32:64:3], np.s_[..., 32]]
)
@pytest.mark.parametrize("flat", [False, True])
def test_slices_of_bits_that_begin_at_words(index: Any, flat: bool) -> None:
    @wf.program
    def sliced(x: Any, bits: Any) -> Any:
        own = wf.unpack(bits, x.shape, flat=flat)[index]
        return wf.where(own, x[index], 0), wf.count_nonzero(own), wf.sum(x[index], where=own)

    x, mask = RNG.standard_normal((6, 128)).astype(np.float32), RNG.random((6, 128)) < 0.5
    chosen, count, total = sliced(x, packed(mask, flat=flat))
    assert np.array_equal(chosen, np.where(mask, x, 0)[index])
    assert count == mask[index].sum()
    assert np.isclose(total, x[index].sum(where=mask[index]), atol=1e-5)


@pytest.mark.parametrize(("shape", "steps"), [((2, 3, 8, 8), 1), ((3, 2, 4, 24), 1), ((2, 3, 5, 7), 2)])
def test_bits_of_images_are_written_where_a_channel_waits_if_they_fill_its_words(shape: Any, steps: int) -> None:
    norm = wf.program(lambda x, z: wf.batch_norm(x, residual=z, training=True, activation="relu", keep="bits"))
    x, z = (RNG.standard_normal(shape).astype(np.float32) for _ in range(2))
    for plan in ("", "resident=l2", "resident=shared,cluster=2"):
        found = norm(x, z, plan=plan)
        assert np.array_equal(found.bits, packed(found.output > 0, flat=True))
    assert len(norm.compile(x, z).artifact.steps.steps) == steps
    across = [np.ascontiguousarray(a.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2) for a in (x, z)]
    assert len(norm.compile(*across).artifact.steps.steps) > 1  # bits lie across the elements


def test_bits_along_another_axis_than_the_fold() -> None:
    @wf.program
    def over_columns(x: Any) -> Any:
        s = wf.softmax(x, axis=0)
        return s, wf.pack(s > 0.2), wf.pack(wf.max(x, axis=1) > 1), wf.pack(x.T > 0, flat=True)

    x = RNG.standard_normal((7, 45)).astype(np.float32)
    s, words, rows, other = over_columns(x)
    assert np.array_equal(words, packed(s > 0.2))
    assert np.array_equal(rows, packed(x.max(1) > 1))
    assert np.array_equal(other, packed(x.T > 0, flat=True))


@pytest.mark.parametrize("plan", ["", "resident=none"])
def test_reductions_of_bits(plan: str) -> None:
    mask = RNG.random((5, 300)) < 0.4
    words = dirty(packed(mask), 300)
    x = RNG.standard_normal((5, 300)).astype(np.float32)

    @wf.program
    def counted(x: Any, bits: Any) -> Any:
        own = wf.unpack(bits, x.shape)
        return wf.count_nonzero(own, axis=-1), wf.any(own), wf.all(own, axis=0), wf.sum(x, axis=-1, where=own)

    count, some, every, total = counted(x, words, plan=plan)
    assert np.array_equal(count, np.count_nonzero(mask, axis=-1))
    assert some
    assert np.array_equal(every, mask.all(axis=0))
    assert np.allclose(total, x.sum(axis=-1, where=mask, dtype=np.float64), atol=1e-4)
    found = masked_softmax(x, words, plan=plan)
    assert np.allclose(found, wf.softmax(np.where(mask, x, np.float32(-np.inf)), axis=-1), rtol=1e-5)


@pytest.mark.parametrize("n", [64, 300, 9001, 20])
def test_counts_and_quantifiers_by_words(n: int) -> None:
    @wf.program
    def found(x: Any, a: Any, b: Any) -> Any:
        p, q = wf.unpack(a, x.shape), wf.unpack(b, x.shape)
        counts = wf.count_nonzero(p, axis=-1), wf.count_nonzero(p ^ q)
        return *counts, wf.any(p & ~q), wf.all(p | q, axis=-1), wf.array_equal(p, q), wf.all(p == p)

    p, q = (RNG.random((3, n)) < 0.5 for _ in range(2))
    p[1] |= ~q[1]
    x, a, b = np.empty((3, n), np.int8), dirty(packed(p), n), packed(q).view(np.int32)
    expected = p.sum(1), (p ^ q).sum(), (p & ~q).any(), (p | q).all(1), False, True
    assert all(map(np.array_equal, found(x, a, b), expected))
    ptx = found.compile(x, a, b).ptx
    assert "popc.b32" in ptx
    assert "ld.global.nc.u8" not in ptx, "bits are unpacked"


def test_a_flat_array_of_bits_is_counted_by_words() -> None:
    @wf.program
    def count(x: Any, bits: Any) -> Any:
        return wf.count_nonzero(wf.unpack(bits, x.shape, flat=True))

    mask = RNG.random((7, 33)) < 0.5
    assert count(mask, dirty(packed(mask, flat=True), mask.size)) == mask.sum()


def test_a_program_unpacks_what_it_packs() -> None:
    @wf.program
    def both(x: Any) -> Any:
        bits = wf.pack(x > 0)
        return wf.where(wf.unpack(bits, x.shape), x, -x), bits

    x = RNG.standard_normal((2, 40)).astype(np.float32)
    y, words = both(x)
    assert np.array_equal(y, abs(x))
    assert np.array_equal(words, packed(x > 0))


def test_out_may_be_of_i32_and_a_saved_program_runs(tmp_path: Any) -> None:
    x = RNG.standard_normal((3, 70)).astype(np.float32)
    y, words = np.empty_like(x), np.empty((3, 3), np.int32)
    relu(x, out=(y, words))
    assert np.array_equal(words.view(np.uint32), packed(x > 0))
    for name, made in (("relu", relu.compile(x)), ("chosen", chosen.compile(x, words))):
        made.save(tmp_path / name)
    assert np.array_equal(wf.load(tmp_path / "relu")(x)[1], packed(x > 0))
    assert np.array_equal(wf.load(tmp_path / "chosen")(x, words), np.where(x > 0, x, 0))


@pytest.mark.parametrize("library", ["torch", "jax.numpy"])
def test_arrays_of_other_libraries(library: str) -> None:
    xp: Any = pytest.importorskip(library)
    mask = RNG.random((3, 100)) < 0.5
    words = wf.pack(xp.asarray(mask))
    assert type(words) is type(xp.asarray(mask))
    assert np.array_equal(np.asarray(words).view(np.uint32), packed(mask))
    assert np.array_equal(np.asarray(wf.unpack(words, mask.shape)), mask)


def test_rows_that_fill_words_are_one() -> None:
    x = RNG.standard_normal((6, 4, 64)).astype(np.float32)
    made = relu.compile(x)
    assert made.artifact.steps.steps[0].kept == ()
    assert np.array_equal(made(-x)[1], packed(-x > 0))
    assert np.array_equal(relu(x[:, ::-1])[1], packed(x[:, ::-1] > 0))
    with pytest.raises(ArgumentError, match="WF123"):
        made(x[..., :60].copy())


@pytest.mark.parametrize("t", [np.float32, np.float16, np.int8])
@pytest.mark.parametrize(
    ("shape", "first"), [((91, 8), 1), ((80, 8), 0), ((53, 21), 0), ((3, 11, 22), 1), ((700, 3), 0)]
)
def test_accesses_go_on_from_one_short_row_into_the_next(t: Any, shape: tuple[int, ...], first: int) -> None:
    both = wf.program(lambda x: wf.relu(x, keep="bits"))
    x = (4 * RNG.standard_normal(shape)).astype(t)[..., first : first + shape[-1] - 1]
    x = x[:, 1:] if len(shape) > 2 else x
    made = both.compile(x)(x)
    assert both.compile(x).plans[0].vector == 16 // x.itemsize
    assert np.array_equal(made.output, np.maximum(x, 0))
    assert np.array_equal(made.bits, packed(x > 0, flat=True))
    assert np.array_equal(wf.relu_backward(x, dirty(made.bits, x.size)), np.maximum(x, 0))


@pytest.mark.parametrize("first", [0, 1])
def test_bools_whose_ends_cut_accesses_are_packed_and_unpacked_as_words(first: int) -> None:
    pack, unpack = wf.program(lambda m: wf.pack(m, flat=True)), wf.program(lambda w: wf.unpack(w, (1027,), flat=True))
    mask = (RNG.random(1027 + first) > 0.5)[first:]
    words = packed(mask, flat=True)
    assert np.array_equal(pack(mask), words)
    assert np.array_equal(unpack(words), mask)
    for made in (pack.compile(mask), unpack.compile(words)):  # four elements by one multiplication
        assert made.ptx.count(", 2113665;") >= 4


@pytest.mark.parametrize("t", [np.float32, np.float16])
@pytest.mark.parametrize(
    ("n", "pitch", "lanes"), [(1, 3, 1), (3, 4, 1), (7, 9, 1), (20, 21, 0), (33, 40, 0), (300, 303, 0)]
)
def test_the_lanes_of_a_word_share_a_short_row(t: Any, n: int, pitch: int, lanes: int) -> None:
    pack = wf.program(lambda x: wf.pack(x > 0))
    x = RNG.standard_normal((19, pitch)).astype(t)[:, :n]
    assert np.array_equal(pack(x), packed(x > 0))
    plan = pack.compile(x).plans[0]
    if n < 300:
        assert plan.lanes == (lanes or 32 // plan.vector)
    for word in ("ballot", "redux", "shuffle"):
        assert np.array_equal(pack(x, plan=f"word={word}"), packed(x > 0))


def test_fewer_lanes_than_a_word_needs_are_refused() -> None:
    pack = wf.program(lambda x: wf.pack(x > 0))
    assert np.array_equal(pack(X[:, :16], plan="vector=8,lanes=2,held=1"), packed(X[:, :16] > 0))
    with pytest.raises(
        PlanError, match=r"WF430: .* lanes=2 is for other programs, expected at least 4, which have the"
    ):
        pack(X[:, :17], plan="vector=8,lanes=2,held=1")


def test_bits_of_bits_are_made_word_by_word() -> None:
    both = wf.program(lambda a, b, x: wf.pack((wf.unpack(a, x.shape) & ~wf.unpack(b, x.shape)) | (x > 1)))
    x, a, b = (RNG.standard_normal(200).astype(np.float32) for _ in range(3))
    assert np.array_equal(both(packed(a > 0), packed(b > 0), x), packed((a > 0) & (b <= 0) | (x > 1)))


def test_rows_that_share_words_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warpfold.runtime.programs.row_cuts.WORD", 4)
    with pytest.raises(
        PlanError, match=r"WF431: rows of relu do not begin at words of bits: their bits are \[128, 100"
    ):
        relu(RNG.standard_normal((5, 100)).astype(np.float64))


X = RNG.standard_normal((3, 100)).astype(np.float32)
WORDS = packed(X > 0)


def _sum_of_bits(x: Any) -> Any:
    return wf.sum(wf.pack(x > 0))


def test_a_slice_of_bits_alone_has_sizes_of_its_own() -> None:
    mask = np.random.default_rng(4).random((6, 40)) < 0.5

    def counted(w: Any, bits: Any) -> Any:
        held = wf.unpack(bits, mask.shape)[::-1]
        return wf.where(held, w, 0.0), wf.count_nonzero(held[1:], axis=0)

    found, counts = wf.program(counted)(np.float32([[2]]), packed(mask, flat=False))
    assert np.array_equal(found, np.where(mask[::-1], 2, 0))
    assert np.array_equal(counts, mask[4::-1].sum(axis=0))


def _slice_of_bits(x: Any, bits: Any) -> Any:
    return wf.where(wf.unpack(bits, x.shape), x, 0)[:, 1:]


def _computed_bits(x: Any, bits: Any) -> Any:
    return wf.where(wf.unpack(~bits, x.shape), x, 0)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: wf.pack(X), TraceError, "WF287: pack was given mask, an array of f32 of rank 2: expected an array of"),
        (lambda: wf.pack(WORDS), TraceError, "WF287: pack was given mask, an array of u32"),
        (lambda: wf.unpack(X > 0, (3, 100)), TraceError, "WF288: bits, an array of bool of rank 2 stands where"),
        (lambda: wf.unpack(WORDS.astype(np.uint64), (3, 100)), TraceError, "WF288: bits, an array of u64"),
        (lambda: wf.unpack(WORDS, (3, 129)), TraceError, r"WF289: bits have shape \(3, 4\): expected \(3, 5\) for"),
        (lambda: chosen(X, WORDS[:, :3]), TraceError, r"WF289: bits have shape \(3, 3\): expected \(3, 4\) for truth"),
        (lambda: chosen_of_all(X, WORDS), TraceError, r"WF289: bits have shape \(3, 4\): expected \(10,\) for truth"),
        (lambda: wf.program(_sum_of_bits)(X), TraceError, "WF288: bits stands where an array of bools"),
        (
            lambda: wf.program(_slice_of_bits)(X, WORDS),
            ArgumentError,
            "WF196: a slice of the bits in argument 1 begins at bit 1, inside of a word",
        ),
        (lambda: wf.program(_computed_bits)(X, WORDS), TraceError, "WF288: a computed array stands where"),
        (
            lambda: chosen(X, np.repeat(WORDS, 2, axis=1)[:, ::2]),
            ArgumentError,
            "WF192: the words of bits in argument 1 are 2 elements apart along their last axis",
        ),
        (
            lambda: relu(X, out=(X.copy(), np.empty((3, 8), np.uint32)[:, ::2])),
            ArgumentError,
            "WF192: the words of bits in out are 2 elements apart",
        ),
        (
            lambda: relu(X, out=(X.copy(), np.empty((3, 4), np.uint64))),
            Exception,
            "WF109: out has elements of type u64",
        ),
        (lambda: relu(X, plan="lanes=4"), PlanError, "WF430: lanes of relu put words of bits together: lanes=4"),
        (
            lambda: relu(X, plan="word=byte", device="emulator"),
            PlanError,
            "WF430: lanes of relu put words of bits together: vector=4 is for other programs, expected at least 8",
        ),
        (
            lambda: wf.relu(X, plan="word=ballot"),
            PlanError,
            "WF432: no result of relu is one of bits, so that no lanes",
        ),
        (lambda: wf.sum(X, plan="word=ballot"), PlanError, "WF427: sum reads each element once"),
        (
            lambda: likely(X, plan="fast=kept"),
            PlanError,
            "WF430: lanes of likely put words of bits together: fast=kept",
        ),
    ],
)
def test_mistakes(call: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        call()


WAYS = ("word=shuffle", "word=ballot", "word=redux", "word=byte,vector=8", "word=byte,vector=16,accesses=single")


@pytest.mark.parametrize("way", [*WAYS, *(f"{way},vector=1,lanes=32" for way in WAYS[:3]), "accesses=single"])
@pytest.mark.parametrize(("shape", "t"), [((2055,), "f4"), ((3, 100), "f2"), ((7, 33), "f4"), ((5, 512), "f2")])
def test_every_way_makes_the_same_words(way: str, shape: tuple[int, ...], t: str) -> None:
    x = RNG.standard_normal(shape).astype(t)
    y, bits = relu(x, plan=way, device="emulator")
    assert np.array_equal(bits, packed(x > 0))
    assert np.array_equal(y, np.maximum(x, 0))


def test_bytes_behind_a_row_are_zero() -> None:
    x = np.ones((3, 40), np.float32)
    bits = np.full((3, 2), 0xFFFFFFFF, np.uint32)
    relu(x, out=(np.empty_like(x), bits), plan="byte-per-thread", device="emulator")
    assert np.array_equal(bits, packed(x > 0))


def test_a_portable_plan_has_the_bits_of_any_other() -> None:
    x = RNG.standard_normal((2, 77)).astype(np.float16)
    assert np.array_equal(relu(x, determinism="portable")[1], packed(x > 0))


def test_bits_across_arrays_of_three_dims_that_lie_backwards() -> None:
    """A thread has a byte of a row of bits; along the other dims its rows go on, and none of them is left out."""
    x = RNG.standard_normal((48, 5, 3)).astype(np.float32).T
    doubled, bits = wf.program(lambda x: (x * 2, wf.pack(x > 0)))(x)
    assert np.array_equal(doubled, x * 2)
    assert np.array_equal(bits, packed(x > 0))


@pytest.mark.parametrize(("order", "fast"), [("C", "reduced"), ("F", "kept")])
def test_arrays_that_are_repeated_along_an_axis_decide_no_order_of_bits(order: Any, fast: str) -> None:
    """A walk goes along the array of all elements, whatever the shape of one beside it."""
    program = wf.program(lambda x, w: (wf.maximum(x + w, 0), wf.pack(x + w > 0, flat=True)))
    x = np.zeros((256, 512), np.float32, order=order)
    for w in ((256, 1), (512,), (1, 1)):
        assert program.compile(x, np.zeros(w, np.float32)).plans[0].fast == fast
