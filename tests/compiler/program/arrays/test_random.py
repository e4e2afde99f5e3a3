"""Philox 4x32-10 beside the known answers of its authors, and what ``random_bits`` refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from library_programs import program, values

from warpfold.compiler.errors import ArgumentError, TraceError
from warpfold.compiler.program.arrays.random import random_bits
from warpfold.compiler.program.numeric import philox, philox4x32

KNOWN_ANSWERS = {
    "zeros": ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    "ones": ((2**32 - 1,) * 4, (2**32 - 1,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    "pi": (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
}
"""Counter, key and words from the file ``kat_vectors`` of the library Random123."""
X = np.zeros((3, 5), np.float32)


@pytest.mark.parametrize("name", KNOWN_ANSWERS)
def test_known_answers(name: str) -> None:
    counter, key, words = KNOWN_ANSWERS[name]
    found = philox4x32([np.uint32(c) for c in counter], [np.uint32(k) for k in key])
    assert tuple(int(w) for w in found) == words


def test_four_neighbours_share_a_counter() -> None:
    counter, key, words = KNOWN_ANSWERS["pi"]
    low, high = (np.uint64(a | b << 32) for a, b in (counter[:2], counter[2:]))
    numbers = (low << np.uint64(2)) + np.arange(4, dtype=np.uint64)  # the two highest bits of the counter are lost
    found = philox(numbers, np.uint64(key[0] | key[1] << 32), high)
    counter = (counter[0], counter[1] & 0x3FFFFFFF, *counter[2:])
    assert found.tolist() == [int(w) for w in philox4x32([np.uint32(c) for c in counter], [np.uint32(k) for k in key])]
    assert found.tolist() != list(words)


def test_bits_follow_the_places_of_elements() -> None:
    seed, offset = np.uint64(2**63 + 5), np.uint64(2**40)
    (found,) = values(random_bits, {"x": X, "seed": seed, "offset": offset})
    np.testing.assert_array_equal(found, philox(np.arange(15, dtype=np.uint64).reshape(3, 5), seed, offset))
    (transposed,) = values(lambda x, seed: random_bits(x.T, seed), {"x": X, "seed": seed})
    np.testing.assert_array_equal(transposed, philox(np.arange(15, dtype=np.uint64).reshape(5, 3), seed, np.uint64(0)))


@pytest.mark.parametrize(
    ("seed", "text"),
    [
        (-1, r"WF195: seed is -1: expected a whole number from 0 to 2\^64 - 1"),
        (2**64, "WF195: seed is 18446744073709551616"),
    ],
)
def test_numbers_out_of_range(seed: int, text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        program(lambda x: random_bits(x, seed), {"x": X})
    with pytest.raises(ArgumentError, match=text.replace("seed", "offset")):
        program(lambda x: random_bits(x, 0, seed), {"x": X})


@pytest.mark.parametrize(
    ("seed", "text"),
    [
        (np.zeros(3, int), "WF295: seed is an array of rank 1 and of int64: expected a whole number"),
        (np.float64(1), "WF295: seed is an array of rank 0 and of float64: expected a whole number"),
    ],
)
def test_seeds_that_are_no_numbers(seed: Any, text: str) -> None:
    with pytest.raises(TraceError, match=text) as e:
        program(random_bits, {"x": X, "seed": seed})
    assert e.value.location is not None
