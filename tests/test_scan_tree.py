"""Rule 16 of docs/tree.md in NumPy: the order of the combines of a scan, whose bits the emulator has as well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold.compiler.planner.resident import scans

GROUP, LARGE_GROUP = 32, 128
"""The chunks of a group, and of one whose warps have roles."""
State = Any
"""A number, or None for nothing."""


def then(a: State, b: State) -> State:
    """Two sums added in f32; nothing is left out."""
    return b if a is None else a if b is None else np.float32(a + b)


def steps(states: Sequence[State]) -> list[State]:
    """The states of lanes up to each, by distances 1, 2, 4, ..."""
    found, distance = list(states), 1
    while distance < len(found):
        found = [then(found[i - distance], x) if i >= distance else x for i, x in enumerate(found)]
        distance *= 2
    return found


def before(found: Sequence[State]) -> list[State]:
    """What comes before each, of what there is up to each."""
    return [None, *found[:-1]]


def from_left(states: Sequence[State]) -> list[State]:
    """The states combined from the left, up to each."""
    found: list[State] = []
    for s in states:
        found.append(then(found[-1] if found else None, s))
    return found


def up_to_last(states: Sequence[State], each: int) -> State:
    """The state of chunks, of which a lane has ``each`` that follow each other; None for none."""
    own = [from_left(states[i : i + each])[-1] for i in range(0, len(states), each)]
    return steps(own)[-1] if own else None


def scanned(x: Any, fast: str, vector: int, lanes: int, warps: int, held: int, each: int, group: int) -> list[State]:
    """The sums of a row up to each element; beyond its end there are zeros."""
    wide = vector if fast == "reduced" else 1
    length = warps * lanes * wide * held
    padded = np.concatenate([x, np.zeros(-len(x) % length, np.float32)])
    chunks, totals = [], []
    for chunk in padded.reshape(-1, warps, lanes * wide * held):
        parts = [segment(s, fast, wide, lanes, held) for s in chunk]
        up_to = from_left([total for _, total in parts])
        chunks.append([(w, own) for w, (own, _) in zip(before(up_to), parts, strict=True)])
        totals.append(up_to[-1])
    found: list[State] = []
    for start, chunk in zip(earlier_chunks(totals, each, group), chunks, strict=True):
        for w, elements in chunk:
            found += [then(then(then(start, w), earlier), p) for earlier, p in elements]
    return found[: len(x)]


def earlier_chunks(totals: Sequence[State], each: int, group: int) -> list[State]:
    """What comes before each chunk, or part of a row, of which ``totals`` are the states."""
    found: list[State] = []
    prefix: State = None
    for first in range(0, len(totals), group):
        own = totals[first : first + group]
        members = [up_to_last(own[:m], each) for m in range(len(own))]
        found += [then(prefix, m) for m in members]
        prefix = then(prefix, then(members[-1], own[-1]))
    return found


def walked(x: Any, lanes: int, held: int, chunks: int, each: int) -> list[State]:
    """The sums of a column that CTAs keep, each a part of so many ``chunks``, up to each element."""
    padded = np.concatenate([x, np.zeros(-len(x) % (lanes * held), np.float32)])
    segments = [segment(c, "kept", 1, lanes, held) for c in padded.reshape(-1, lanes * held)]
    parts = [segments[i : i + chunks] for i in range(0, len(segments), chunks)]
    totals: list[State] = []
    for part in parts:
        total: State = None
        for _, own in reversed(part):
            total = then(own, total)
        totals.append(total)
    found: list[State] = []
    for start, part in zip(earlier_chunks(totals, each, GROUP), parts, strict=True):
        for elements, own in part:
            found += [then(then(start, earlier), p) for earlier, p in elements]
            start = then(start, own)
    return found[: len(x)]


def segment(x: Any, fast: str, wide: int, lanes: int, held: int) -> tuple[list[tuple[State, State]], State]:
    """For each element what comes before its access, or lane, and its state in that; and the state of the segment."""
    if fast == "kept":
        own = [from_left(list(part)) for part in x.reshape(lanes, held)]
        up_to = steps([o[-1] for o in own])
        return [(lane, p) for lane, part in zip(before(up_to), own, strict=True) for p in part], up_to[-1]
    pairs, so_far = [], None
    for access in x.reshape(held, lanes, wide):
        own = [from_left(list(part)) for part in access]
        up_to = steps([o[-1] for o in own])
        for lane, part in zip(before(up_to), own, strict=True):
            pairs += [(then(so_far, lane), p) for p in part]
        so_far = then(so_far, up_to[-1])
    return pairs, so_far


@pytest.mark.parametrize(
    ("n", "fast", "vector", "lanes", "warps", "held"),
    [(700, "reduced", 4, 32, 1, 3), (3000, "reduced", 4, 32, 2, 2), (2500, "reduced", 2, 32, 1, 1),
     (1100, "reduced", 1, 8, 2, 2), (900, "kept", 1, 8, 2, 3)],
)  # fmt: skip
def test_the_bits_are_those_of_the_rule(n: int, fast: str, vector: int, lanes: int, warps: int, held: int) -> None:
    x = np.random.default_rng(n).standard_normal((2, n)).astype(np.float32)
    plan = f"fast={fast},vector={vector},lanes={lanes},warps={warps},warps_kept=1,held={held}"
    rows = 32 // lanes * (vector if fast == "kept" else 1)
    looking = min(32, 32 * warps // rows)
    found = wf.cumulative_sum(x, axis=1, plan=plan)
    wanted = [scanned(row, fast, vector, lanes, warps, held, GROUP // looking, GROUP) for row in x]
    np.testing.assert_array_equal(found.view(np.uint32), np.array(wanted, np.float32).view(np.uint32))


def test_roles_look_at_larger_groups() -> None:
    x = np.random.default_rng(1).standard_normal(1024 * (LARGE_GROUP + 3) - 70).astype(np.float32)
    found = wf.cumulative_sum(x, plan="persistent=1,vector=4,warps=8,held=1")
    wanted = scanned(x, "reduced", 4, 32, 8, 1, LARGE_GROUP // 32, LARGE_GROUP)
    np.testing.assert_array_equal(found.view(np.uint32), np.array(wanted, np.float32).view(np.uint32))


@pytest.mark.parametrize(("parts", "held"), [(1, 5), (38, 3)])
def test_chunks_of_a_part_follow_each_other(parts: int, held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    x, planned = np.random.default_rng(2).standard_normal((900, 7)).astype(np.float32), scans._launch
    monkeypatch.setattr(scans, "_launch", lambda *a: planned(*a)._replace(split=parts, ctas=parts))
    plan = f"fast=kept,vector=1,lanes=4,warps=1,warps_kept=2,held={held},tile_bytes=4096,persistent=1"
    found = wf.cumulative_sum(x, axis=0, plan=plan)
    chunks, looking = -(-900 // (4 * held * parts)), 64 // 16
    wanted = [walked(column, 4, held, chunks, GROUP // looking) for column in x.T]
    np.testing.assert_array_equal(found.view(np.uint32), np.array(wanted, np.float32).T.view(np.uint32))
