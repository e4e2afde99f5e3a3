"""The cost of one memory instruction of a warp: sectors of global and local memory, wavefronts of shared memory.

The definitions are those of Nsight Compute (Kernel Profiling Guide, metrics decoder). Where the guide says too little,
they follow what an H200 counted for thirty address patterns (``tests/runtime/emulator/data/ncu_h200.json``):

- A *sector* is 32 aligned bytes. A request of a warp takes each sector once. An atomic takes a sector once more for
  each further update of a word in it. The bytes *used* are the distinct bytes asked for.
- A *wavefront* of shared memory serves one 32-bit word a bank, to any number of lanes. Accesses of 8 and 16 bytes serve
  a half and a quarter of the lanes at a time. Two neighbouring such groups of a load take one wavefront if the lanes
  that differ in bit 0 of their number, or those that differ in bit 1, read the same address. *Conflicts* are the
  wavefronts beyond one a group. An atomic serves one lane a bank.

Local memory is interleaved: the same word of 32 lanes occupies 128 consecutive bytes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .machine.threads import WARP
from .ptx.types import Array

SECTOR = 32
BANKS = 32
WORD = 4
_SHIFT = 50  # warps above sectors, of addresses below 2^55


class Sectors(NamedTuple):
    """The sectors taken, the distinct bytes asked for, and the fewest sectors that hold so many bytes."""

    sectors: int
    nbytes: int
    ideal: int


class Waves(NamedTuple):
    """The wavefronts taken, and the fewest for the same lanes."""

    wavefronts: int
    ideal: int


def sectors(addresses: Array, warps: Array, size: int, atomic: bool) -> Sectors:
    """The sectors of accesses of ``size`` bytes; ``addresses`` and ``warps`` have an entry a thread, sorted by warp."""
    keys = (warps << _SHIFT) | addresses
    if not (keys[1:] >= keys[:-1]).all():
        keys = np.sort(keys)
    first = _heads(keys)
    distinct = keys[first]
    each = np.diff(np.append(_heads(distinct >> _SHIFT), distinct.size)) * size
    ideal = int((-(-each // SECTOR)).sum())
    taken = _heads(distinct >> 5)
    if not atomic:
        return Sectors(taken.size, distinct.size * size, ideal)
    counts = np.diff(np.append(first, keys.size))
    return Sectors(int(np.maximum.reduceat(counts, taken).sum()), distinct.size * size, ideal)


def in_rows(addresses: Array, size: int) -> Sectors | None:
    """The sectors of loads or stores by whole warps, if the elements of each warp are contiguous; else None."""
    if not _in_a_row(addresses, size):
        return None
    first = addresses[::WARP] & (SECTOR - 1)
    found = int(((first + WARP * size + SECTOR - 1) // SECTOR).sum())
    return Sectors(found, addresses.size * size, first.size * -(-WARP * size // SECTOR))


def _in_a_row(addresses: Array, size: int) -> bool:
    """Whether the elements of each whole warp are contiguous."""
    rows = addresses.reshape(-1, WARP)
    return bool((rows[:, 1:] - rows[:, :-1] == size).all())


def _heads(ordered: Array) -> Array:
    """The indices at which runs of equal values begin."""
    new = np.empty(ordered.size, bool)
    new[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return np.flatnonzero(new)


def interleaved(addresses: Array, lanes: Array, size: int) -> Array:
    """The physical addresses (words, threads) of the words of accesses at local ``addresses``."""
    words = addresses // WORD + np.arange(-(-size // WORD))[:, None]
    return (words * WARP + lanes) * WORD


def wavefronts(addresses: Array, threads: Array, size: int, verb: str) -> Waves:
    """The wavefronts of accesses of ``size`` bytes to shared memory by ``threads`` (numbers in the batch, sorted)."""
    words = max(size // WORD, 1)
    per = WARP // words  # lanes served at a time
    if verb != "updated" and size == WORD and not ((addresses[1:] - addresses[:-1]) != WORD * np.diff(threads)).any():
        groups = _heads(threads >> 5).size  # one element a lane, whichever lanes there are
        return Waves(groups, groups)
    whole = addresses.size % WARP == 0 and threads[-1] - threads[0] == threads.size - 1 and not threads[0] % WARP
    if whole and verb != "updated" and size > WORD and _in_a_row(addresses, size):
        return Waves(addresses.size // per, addresses.size // per)
    group = threads // per
    if verb == "read" and words > 1:
        merged = threads // (2 * per)
        paired = _paired(addresses, threads, merged)
        group = np.where(paired, merged * 2, group)
    if verb == "updated":
        load = np.bincount((_ranks(group) * BANKS) + (addresses // WORD) % BANKS)
        each = np.maximum.reduceat(load, np.arange(0, load.size, BANKS))
        return Waves(int(each.sum()) * words, int(each.size) * words)
    keys = np.sort((_ranks(group)[:, None] << 32 | (addresses[:, None] // WORD + np.arange(words))).reshape(-1))
    keys = keys[_heads(keys)]
    load = np.bincount((keys >> 32) * BANKS + (keys & (BANKS - 1)))
    each = np.maximum.reduceat(load, np.arange(0, load.size, BANKS))
    return Waves(int(each.sum()), int(each.size))


def _ranks(group: Array) -> Array:
    """Sorted numbers replaced by 0, 1, 2 and so on, in order."""
    return np.cumsum(np.concatenate([[0], group[1:] != group[:-1]]))


def _paired(addresses: Array, threads: Array, merged: Array) -> Array:
    """For each thread whether its group and the neighbouring one take one wavefront."""
    rank = _ranks(merged)
    low = int(threads[0]) & ~(WARP - 1)
    by_thread = np.full(int(threads[-1]) - low + WARP, -1)
    by_thread[threads - low] = addresses
    answers = []
    for bit in (1, 2):
        partner = by_thread[(threads ^ bit) - low]
        differ = (partner >= 0) & (partner != addresses)
        answers.append(np.bincount(rank, differ) == 0)
    paired: Array = (answers[0] | answers[1])[rank]
    return paired
