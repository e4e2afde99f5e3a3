"""Which layouts are reduced from a copy in shared memory, and by how many lanes."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layouts import Layout, offsets_of, strides_of
from tasks import simple, task_of, traced

from warpfold.compiler.dtypes import dtype
from warpfold.compiler.plan import tiles
from warpfold.compiler.plan.ladder import expand
from warpfold.compiler.planner.alignment import HALF, WIDEST
from warpfold.compiler.planner.choose import choose
from warpfold.compiler.planner.layouts import tiled
from warpfold.compiler.planner.task import LONG_COMBINE, VERY_LONG_COMBINE, Choice, Task
from warpfold.compiler.program.analysis.cost import operations
from warpfold.compiler.program.rewrites.narrowing import narrowed
from warpfold.compiler.space.geometry import collapse
from warpfold.compiler.target import DEFAULT, WARP
from warpfold.runtime.emulator.traffic import wavefronts

MANY = 2 * tiled.COPIES_PER_SM * DEFAULT.sms * tiled.COPY_BYTES
"""Bytes of an array that gives every SM copies enough."""
TYPES = ("i8", "bf16", "f32", "f64")


def item(t: str) -> int:
    return dtype(t).itemsize


def rows(n: int, t: str = "f32", what: str = "sum") -> Task:
    """The task of reducing very many rows of ``n`` elements."""
    return simple(what, (MANY // (n * item(t)), n), (1,), t)


def middle(n: int, inner: int, t: str = "f32", what: str = "sum") -> Task:
    return simple(what, (MANY // (n * inner * item(t)), n, inner), (1,), t)


def in_few_lines(n: int, t: str) -> bool:
    """Whether a warp's single elements are in few cache lines."""
    low, high = tiled.SINGLE_ROW_BYTES.get(item(t), (1, 0))
    return low <= n * item(t) <= high


def longest(t: str) -> int:
    """Bytes of the longest row that is copied."""
    return tiled.ROW_BYTES_OF_WORDS if item(t) < tiled.WORD else tiled.ROW_BYTES


def copies(task: Task) -> bool:
    return choose(task).plan.tile_bytes > 0


def is_whole(task: Task) -> bool:
    """Whether rows are so short that a thread reads several at once."""
    return choose(task).plan.walk == "whole"


# --- which ---
@pytest.mark.parametrize("t", TYPES)
def test_rows_that_begin_anywhere_are_reduced_from_a_copy(t: str) -> None:
    """Odd lengths up to those that fill vectors, except where the elements are in few lines anyway."""
    for n in (3, 5, 7, 9, 15, 17, 31, 33, 63, 65, 129, 255, longest(t) // item(t) - 9 | 1):
        assert copies(rows(n, t)) == (
            n * item(t) <= longest(t) and not in_few_lines(n, t) and not is_whole(rows(n, t))
        ), n
    for n in (longest(t) // item(t) + 1 | 1, 5 * tiled.ROW_BYTES // item(t) | 1):
        assert not copies(rows(n, t)), n


@pytest.mark.parametrize("t", TYPES)
def test_rows_of_whole_lines_are_read_where_they_are(t: str) -> None:
    """Aligned vectors read memory in order; rows of one line or less and long rows are not copied either."""
    short, long = tiled.SHORT_ROW_BYTES.get(item(t), tiled.LINE_BYTES), tiled.LONG_ROW_BYTES[item(t)]
    for nbytes in (*range(WIDEST, short + 1, WIDEST), 2 * tiled.LINE_BYTES, 8 * tiled.LINE_BYTES):
        assert not copies(rows(nbytes // item(t), t)), nbytes
    first = short // WIDEST * WIDEST + WIDEST
    first += WIDEST * (first % tiled.LINE_BYTES == 0)
    last = (long - 1) // WIDEST * WIDEST
    for nbytes in (first, last):  # aligned, but rows share lines
        assert copies(rows(nbytes // item(t), t)) == (nbytes % tiled.LINE_BYTES > 0), nbytes
    assert not copies(rows((long + 2 * WIDEST) // WIDEST * WIDEST // item(t), t))


@pytest.mark.parametrize("t", ["i8", "bf16"])
def test_short_rows_aligned_for_half_an_access_are_read_where_they_are(t: str) -> None:
    for nbytes in range(WIDEST + HALF, tiled.HALF_ROW_BYTES + 1, WIDEST):
        assert not copies(rows(nbytes // item(t), t)), nbytes
    assert copies(rows((tiled.HALF_ROW_BYTES + WIDEST) // item(t), t))


def test_rows_with_bank_conflicts_are_not_copied() -> None:
    """Shorter and longer rows; those between are faster from a copy in spite of bank conflicts."""
    for n in (51, 57, 511, 513, 1025):
        task = rows(n, "i8")
        assert tiled._bank_words(task, 16, 8 if n > 760 else 1) > tiled.BANK_WORDS[1 + (n > 760)], n
        assert not copies(task), n
    for n in (53, 59, 127, 129, 257, 389, 1111):
        assert copies(rows(n, "i8")), n


def test_aligned_rows_that_do_not_begin_at_a_boundary_are_copied() -> None:
    n = tiled.LINE_BYTES // 4
    assert copies(simple("sum", (MANY // tiled.LINE_BYTES, n), (1,), "f32", start=1))


@pytest.mark.parametrize(("n", "inner"), [(5, 7), (5, 33), (31, 33), (100, 7), (2, 3)])
def test_small_middle_axes_are_reduced_from_a_copy(n: int, inner: int) -> None:
    choice = choose(middle(n, inner))
    assert choice.plan.tile_bytes == tiled.COPY_BYTES
    assert choice.facts.access == ("tile_strided",)
    assert choice.run.units * n * inner * 4 <= tiled.COPY_BYTES


def test_other_middle_axes_are_not() -> None:
    assert not copies(middle(5, 32))  # vectors along the kept axis are aligned,
    assert not copies(middle(5, 2 * WIDEST // 4))
    assert not copies(middle(15, WIDEST // 4))  # though lanes lie along the rows where there are few of them,
    assert not copies(middle(tiled.MIDDLE_BYTES // (4 * 7) + 1, 7))  # the rows of one index are too many bytes
    assert copies(middle(tiled.MIDDLE_BYTES // (4 * 7) - 1, 7))


@pytest.mark.parametrize(
    ("what", "t", "n", "inner", "copied"),
    [
        ("sum", "bf16", 2, 6, False), ("sum", "bf16", 8, 6, False), ("sum", "bf16", 9, 18, True),
        ("sum", "bf16", 9, 20, False), ("sum", "bf16", 8, 7, True), ("max", "bf16", 4, 50, False),
        ("any", "bool", 2, 12, False), ("any", "bool", 16, 12, False), ("any", "bool", 17, 28, True),
        ("any", "bool", 17, 36, False), ("any", "bool", 4, 6, True),
        ("sum", "i8", 4, 100, True), ("sum", "i8", 17, 36, False), ("sum", "i8", 17, 28, True),
        ("max", "i8", 4, 100, False), ("max", "i8", 17, 28, True), ("max", "i8", 17, 36, False),
        ("prod", "i8", 4, 100, True), ("argmax", "bf16", 4, 50, True),
    ],
)  # fmt: skip
def test_middle_axes_aligned_to_words_are_read_where_they_are(
    what: str, t: str, n: int, inner: int, copied: bool
) -> None:
    """A thread then has the results of a word or more, and reads no single elements."""
    count = MANY // (n * inner * item(t))
    task = simple(what, (count, n, inner), (1,), t)
    found = choose(replace(task, program=narrowed(task.program)[0]))
    assert (found.plan.tile_bytes > 0) == copied
    if not copied:
        assert found.plan.fast == "kept"
        assert found.plan.vector * item(t) >= tiled.WORD
        assert found.facts.access == ("aligned",)


@pytest.mark.parametrize("t", TYPES)
def test_results_of_one_element_are_not_copied(t: str) -> None:
    """Neighbouring results are neighbouring elements."""
    assert not copies(rows(1, t))


def test_arrays_of_few_copies_are_not_copied() -> None:
    """Each SM would get too few copies, one after another."""
    n = 31
    each = choose(rows(n)).run.units
    most = each * tiled.COPIES_PER_SM * DEFAULT.sms
    assert copies(simple("sum", (most, n), (1,)))
    assert not copies(simple("sum", (most - each, n), (1,)))


@pytest.mark.parametrize(
    ("shape", "axes", "strides", "copied"),
    [
        ((10**6, 31), (1,), (33, 1), True),  # sliced rows with a small gap
        ((10**6, 31), (1,), (64, 1), False),  # with a wide one
        ((10**6, 31), (1,), (62, 2), False),  # every other element: half of what is read
        ((10**6, 31), (1,), (-31, 1), True),  # rows from the last to the first
        ((10**6, 31), (1,), (1, 10**6), False),  # columns
        ((10**6, 31), (1,), (0, 1), False),  # one row again and again
        ((10**6, 31), (1,), (1, 0), False),  # aligned vectors hold several results' only elements
        ((10**6, 3, 5, 7), (1, 3), (105, 35, 7, 1), False),  # two reduced dims cost a division an element
    ],
)
def test_layouts(shape: tuple[int, ...], axes: tuple[int, ...], strides: tuple[int, ...], copied: bool) -> None:
    t = "i8" if strides == (1, 0) else "f32"
    kept = [n for a, n in enumerate(shape) if a not in axes]
    layout = Layout(shape, axes, (strides,), (strides_of(kept, range(len(kept)), [1] * len(kept)),))
    assert copies(task_of(traced("sum", dtype(t)), layout, (0, 0), DEFAULT, DEFAULT.sms)) == copied


def test_one_thread_combines_a_row_of_long_combines() -> None:
    """Short rows in a copy; longer rows, depending on the number of operations, where they are."""
    for what in ("var", "mean_var", "logsumexp"):
        code = combine(what)
        table = tiled.ROW_BYTES_OF_VERY_LONG if code >= VERY_LONG_COMBINE else tiled.ROW_BYTES_OF_LONG
        assert code >= LONG_COMBINE
        for t in ("bf16", "f32", "f64"):
            most = table[item(t)] // item(t)
            for n in (21 if item(t) < 8 else 7, most - 1 | 1):
                plan = choose(rows(n, t, what)).plan
                if n <= most and plan.walk != "whole":
                    assert (plan.tile_bytes, plan.lanes, plan.vector) == (tiled.COPY_BYTES, 1, 1), (what, t, n)
                    assert plan.unroll == min(tiled.UNROLL_OF_LONG, 1 << n.bit_length() - 1)
            assert not copies(rows(most + 2 | 1, t, what))
    assert not copies(rows(32, "f32", "var"))  # aligned vectors
    assert not copies(rows(3 * 8 * 4 + 8, "f64", "var"))
    assert copies(rows(65, "f32", "sum"))
    assert copies(rows(65, "f32", "argmax"))


def combine(what: str) -> int:
    return operations(rows(65, "f32", what).monoid)


@pytest.mark.parametrize("determinism", ["run", "portable", "none"])
def test_portable_tiles_are_those_of_the_portable_machine(determinism: str) -> None:
    task = replace(rows(31), determinism=determinism)
    assert copies(task)
    few = replace(task, sms=10**6)
    assert copies(few) == (determinism == "portable")


# --- accesses ---
@pytest.mark.parametrize("t", ["i8", "bf16"])
def test_narrow_elements_are_read_by_the_word(t: str) -> None:
    """A few words are read exactly or nearly as many as there are."""
    for n in range(3, 200, 2):
        if not in_few_lines(n, t) and copies(rows(n, t)):
            table = tiled.WIDTHS_OF_BYTES if t == "i8" else tiled.WIDTHS_OF_PAIRS
            width = table.at(n * item(t)) or WIDEST
            assert choose(rows(n, t)).plan.vector * item(t) == width, n


def test_bytes_that_words_do_not_combine_are_read_one_by_one_in_short_rows() -> None:
    for n, vector in ((tiled.WORD_ROW_BYTES - 1, 1), (tiled.WORD_ROW_BYTES + 1, tiled.WORD)):
        assert choose(rows(n, "i8", "prod")).plan.vector == vector
        assert choose(rows(n, "i8", "max")).plan.vector == vector


def test_bytes_that_are_compared_are_read_by_words_where_rows_have_some() -> None:
    found = [choose(rows(n, "i8", "max")).plan for n in (tiled.COMPARED_ROW_BYTES - 1, tiled.COMPARED_ROW_BYTES + 1)]
    assert [plan.vector for plan in found] == [tiled.WORD, WIDEST]
    assert all(plan.tile_bytes for plan in found)


@pytest.mark.parametrize("what", ["sum", "max"])
def test_aligned_rows_of_bytes_are_read_where_they_are_if_they_are_long(what: str) -> None:
    """From tiled.LONG_ROW_BYTES bytes on, also where only HALF an access is aligned."""
    for n in range(tiled.LONG_ROW_BYTES[1] // HALF * HALF - 3 * HALF, tiled.LONG_ROW_BYTES[1] + 4 * HALF, HALF):
        assert copies(rows(n, "i8", what)) == (n < tiled.LONG_ROW_BYTES[1] and n % tiled.LINE_BYTES != 0), n


def test_rows_whole_accesses_apart_are_read_half_an_access_at_a_time() -> None:
    task = simple("sum", (MANY // 400, 400), (1,), "i8")
    assert choose(task).plan.vector == HALF
    assert choose(rows(401, "i8")).plan.vector == WIDEST


def test_words_are_read_from_rows_wherever_they_begin() -> None:
    """So portable results and several inputs have them, too."""
    task = rows(65, "i8")
    assert choose(replace(task, determinism="portable")).plan.vector == choose(task).plan.vector == WIDEST
    assert choose(rows(65, "i8", "affine")).plan.vector == 1
    assert choose(middle(65, 3, "i8")).plan.vector == 1
    layout = Layout((MANY // 65, 65), (1,), ((65, 1), (65, 1)), ((1,),))
    two = task_of(traced("dot", dtype("f16"), dtype("f16")), layout, (0, 0, 0), DEFAULT, DEFAULT.sms)
    assert choose(two).plan.tile_bytes == tiled.COPY_BYTES
    assert choose(two).plan.vector == WIDEST // 2
    assert choose(two).facts.access == ("tile", "tile")


@pytest.mark.parametrize("t", TYPES)
def test_the_number_of_accesses_in_flight(t: str) -> None:
    """It depends on the accesses that a thread completes; words have one in flight."""
    found = set()
    for n in (9, 21, 31, 65, 129, 255, 317):
        plan = choose(rows(n, t)).plan
        each = max(1, n // (plan.lanes * plan.vector))
        if plan.tile_bytes:
            unroll = max(unroll for least, unroll in tiled.UNROLL_OF_ROWS if each >= least)
            assert plan.unroll == (1 if plan.vector > 1 else unroll), (n, each)
            found.add(plan.unroll)
    assert found


# --- lanes ---
@pytest.mark.parametrize("t", ["i8", "bf16"])
def test_rows_of_words_get_lanes_by_their_bytes(t: str) -> None:
    table = tiled.LANES_OF_BYTES if t == "i8" else tiled.LANES_OF_PAIRS
    for most, lanes in (*table.rows, (tiled.ROW_BYTES_OF_WORDS, 8)):
        n = min(int(most), tiled.ROW_BYTES_OF_WORDS - 41) // item(t) - 2 | 1
        assert choose(rows(n, t)).plan.lanes == lanes, n
    for most, lanes in (*tiled.LANES_OF_ALIGNED.rows, (1100, 4)):
        n = int(most) // WIDEST * WIDEST - WIDEST
        layout = Layout((MANY // n, n // item(t)), (1,), (((n + WIDEST) // item(t), 1),), ((1,),))
        plan = choose(task_of(traced("sum", dtype(t)), layout, (1, 0), DEFAULT, DEFAULT.sms)).plan
        assert plan.tile_bytes
        assert plan.lanes == max(lanes, ((n + WIDEST) & -(n + WIDEST)) // HALF)


def test_enough_threads_read_a_copy() -> None:
    """Few long rows get several lanes each: a single thread would make its accesses one after another."""
    for t in ("f32", "f64"):
        for n in (3, 31, 65, 129, 257, tiled.ROW_BYTES // item(t) - 1 | 1):
            choice = choose(rows(n, t))
            enough = choice.run.units * choice.plan.lanes >= WARP // 2 or choice.plan.lanes == WARP
            assert enough or in_few_lines(n, t) or is_whole(rows(n, t))


def test_lanes_take_turns_where_rows_would_conflict_at_a_bank() -> None:
    """Rows of 32 words all begin at one bank; neighbouring lanes of one row do not conflict."""
    task = simple("sum", (MANY // 160, 40), (1,))
    assert tiled._bank_words(task, 1, 1) == 8  # 40 words: every fourth row begins at the same bank
    assert tiled._bank_words(task, 1, 8) == 1
    assert tiled._bank_words(task, 1, choose(task).plan.lanes) < 4


def banked(task: Task, lanes: int) -> int:
    """Wavefronts of a warp's first accesses, counted as the profiler does; of half a warp for elements of 8 bytes."""
    g, size = task.geometry, task.itemsize
    threads = np.arange(WARP if size <= tiled.WORD else WARP // 2)
    step = offsets_of(g.reduced, 0)[1] if g.n_reduced > 1 else 0
    own = offsets_of(g.kept, 0)[: len(threads)]
    at = (own[threads // lanes] + threads % lanes * step) * size
    return wavefronts(at, threads, size, "load").wavefronts


@settings(max_examples=300)
@given(st.sampled_from(TYPES), st.sampled_from([1, 2, 4, 8, 16, 32]), st.integers(1, 80), st.integers(1, 9))
def test_bank_conflicts(t: str, lanes: int, n: int, inner: int) -> None:
    """The planner's count is that of the addresses, result by result and lane by lane."""
    task = simple("sum", (64, n, inner) if inner > 1 else (64, n), (1,), t)
    assert tiled._bank_words(task, 1, lanes) == banked(task, lanes)


@settings(max_examples=200)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=3), st.integers(1, 9), st.data())
def test_where_the_elements_of_a_result_begin(kept: list[int], n: int, data: st.DataObject) -> None:
    shape = (*kept, n)
    order = data.draw(st.permutations(range(len(shape))))
    strides = strides_of(shape, order, [1] * len(shape))
    g = collapse(shape, (len(kept),), (strides,), (strides_of(kept, range(len(kept)), [1] * len(kept)),))
    assert [tiled._offset(g, i) for i in range(prod(kept))] == offsets_of(g.kept, 0).tolist()


# --- the words of explain ---
def test_the_reasons_name_the_copy() -> None:
    choice = choose(rows(31))
    results = choice.run.units * tiles.results(rows(31).geometry)
    assert choice.reasons[0] == (
        f"a CTA copies the elements of {results} results into {tiled.COPY_BYTES} bytes of shared memory: "
        "it does not matter there where rows begin"
    )


def of_options(options: str) -> Choice:
    return choose(rows(31), options)


@pytest.mark.parametrize(
    "options", ["tile_bytes=0", "warps=4", "vector=4", "cta=serial", "finish=last_block", "simple"]
)
def test_a_tile_gives_way_to_other_options(options: str) -> None:
    """The plan is then what it would be without tiles."""
    found = of_options(options)
    assert found.plan.tile_bytes == 0
    assert not any("copies" in reason for reason in found.reasons)
    rest = options if "tile_bytes" in expand(options) else f"tile_bytes=0,{options}"
    assert found.plan == choose(rows(31), rest).plan


def test_a_tile_gives_way_to_a_walk() -> None:
    small = middle(10, 9)
    assert choose(small).plan.tile_bytes == tiled.COPY_BYTES
    assert choose(small, "walk=period").plan.tile_bytes == 0


def test_other_fields_give_way_to_a_tile_on_request() -> None:
    assert of_options("unroll=2").plan.tile_bytes == tiled.COPY_BYTES
    assert of_options("tile_bytes=2048").plan.tile_bytes == 2048
    wide = choose(simple("sum", (7, 301), (1,)), "tile_bytes=2048")
    assert wide.plan.lies_in_warps
    inner = choose(simple("sum", (3, 5, 700), (1,)), "tile_bytes=16384")
    assert (inner.plan.fast, inner.run.tiles) == ("reduced", 3)
    narrow = simple("sum", (40_000, 300, 9), (1,))
    assert [choose(narrow, options).plan.walk for options in ("", "tile_bytes=16384")] == ["period", "interleaved"]


@pytest.mark.parametrize(("t", "gap", "copied"), [("f64", 7, True), ("f64", 8, False), ("f32", 16, True)])
def test_rows_with_gaps_are_copied_unless_elements_are_wide(t: str, gap: int, copied: bool) -> None:
    """Rows of 64 elements: a copy holds the gaps as well, and single elements of 8 bytes fill sectors without one."""
    count = MANY // ((64 + gap) * item(t))
    task = simple("sum", (count, 64), (1,), t)
    geometry = collapse((count, 64), (1,), [(64 + gap, 1)], [(1,)])
    found = choose(replace(task, geometry=geometry, addresses=(8, 0))).plan
    assert (found.tile_bytes > 0) is copied
