"""The fields of a plan: which values each may have, and how an option gives one."""

from __future__ import annotations

from typing import Literal, get_args

from ..errors import error
from ..target import LARGEST_CLUSTER, WARP

Axis = Literal["reduced", "kept"]
Fast = Literal["reduced", "kept", "both"]
Finish = Literal["cta", "last_block", "two_kernels", "atomic"]
Meeting = Literal["shuffle", "serial", "interleaved", "sequential", "warp_sync", "unrolled"]
Access = Literal[
    "aligned", "shifted", "unaligned", "period", "staggered", "strided", "tile", "tile_strided", "whole", "uniform",
    "kept", "gathered", "number", "bits", "bits_across", "bits_strided", "bits_transposed", "bits_exchanged",
    "transposed", "exchanged", "reversed", "split", "side", "section", "matrix",
]  # fmt: skip
IN_TILE: tuple[Access, ...] = ("tile", "tile_strided")
"""The accesses to elements that the CTA has copied into shared memory."""
OF_BITS: tuple[Access, ...] = ("bits", "bits_across", "bits_strided", "bits_transposed", "bits_exchanged")
"""The accesses to elements that are bits of words: to all of an access at once, in one word or across two, to single
ones, to those of each row of a block, or to those of columns that the threads of a CTA exchange."""
IN_BULK: tuple[Access, ...] = ("aligned", "reversed", "shifted")
"""The accesses to elements that a scan may copy in bulk to shared memory."""
TRANSPOSED: tuple[Access, ...] = ("transposed", "whole", "bits_transposed")
"""The accesses to a block along its rows, where others are along its columns."""
Walk = Literal["interleaved", "blocked", "period", "staggered", "runs", "padded", "whole"]
OWN_WALKS: tuple[Walk, ...] = ("period", "staggered", "runs", "padded", "whole")
"""Walks that serve only some arrays; the two others serve all."""
Determinism = Literal["run", "portable", "none"]
Residency = Literal["", "registers", "shared", "grid", "l2", "memory", "chain"]
Word = Literal["", "shuffle", "ballot", "redux", "byte"]
Meet = Literal["", "shuffle", "steps", "mma"]
Fragments = Literal["", "words", "matrix"]
Reads = Literal["", "ahead", "together"]
Arrivals = Literal["", "barrier"]
WORDS = tuple(filter(None, get_args(Word)))
"""The ways in which lanes make words of bits."""
MOST_HELD = 64
"""The most accesses of a row that a thread keeps."""
PARTS_OF = 8
"""What the part of a row that a CTA of a cluster has is a multiple of, in accesses: it begins with a line of the cache.
So parts are equal but for that, and the last accesses of a thread alone may lie outside of one."""
COUNTS = {"held": MOST_HELD, "in_registers": MOST_HELD, "in_cache": MOST_HELD, "persistent": 16}
"""The largest values of fields that may be any number."""
TILE_UNIT, LARGEST_TILE = 1 << 10, 224 << 10
"""Bytes of a tile beyond LARGEST are a multiple of the first, up to the second: an SM holds one CTA or two of them."""
LARGEST = {
    "vector": 16, "unroll": 32, "lanes": WARP, "warps": 32, "warps_kept": 32, "tile_bytes": 1 << 16,
    "cluster": LARGEST_CLUSTER, "coarsening": 1 << 10, "overlap": 32, "abreast": 64,
}  # fmt: skip
"""The largest extents: a CTA has at most 32 warps, and an SM has room for three tiles."""
_NUMBERS = {str(n): n for n in (0, *(1 << k for k in range(17)))}
ANY_WARPS = {"warps": "take one row at a time", "warps_kept": "keep columns"}
"""The numbers of warps that some plans may have of any size, and which plans."""
_WARPS = {str(n): n for n in range(1, LARGEST["warps"] + 1)}
_MAY_BE_ZERO = ("coarsening", "tile_bytes", "overlap", "abreast")
RARE = (
    "resident", "held", "in_registers", "in_cache", "word", "overlap", "meet", "fragments", "accesses", "persistent",
    "reads", "abreast", "arrivals",
)  # fmt: skip
"""The fields that are only shown, and only written in IR, where they are set."""
CHOICES = {
    "fast": get_args(Fast),
    "walk": get_args(Walk),
    "cta": get_args(Meeting),
    "exchange": ("shared", "global"),
    "finish": get_args(Finish),
    "resident": get_args(Residency),
    "word": get_args(Word),
    "meet": get_args(Meet),
    "fragments": get_args(Fragments),
    "accesses": ("", "single"),
    "reads": get_args(Reads),
    "arrivals": get_args(Arrivals),
}


def extent_of(key: str, value: str) -> int:
    """The extent that an option gives as ``value``; WF403 for what is none."""
    found = int(value) if key in (*COUNTS, "tile_bytes") and value.isdecimal() else _NUMBERS.get(value, -1)
    found = _WARPS.get(value, found) if key in ANY_WARPS else found
    check_extent(key, found, repr(value))
    return found


def check_extent(key: str, extent: int, shown: object) -> None:
    """WF403 for an extent that the field ``key`` cannot have."""
    if not fits(key, extent):
        raise error("WF403", key=key, value=shown, expected=expected_of(key))


def fits(key: str, value: object) -> bool:
    """Whether the field ``key`` of a plan may have this value, whatever values the other fields have."""
    if key in COUNTS:
        return type(value) is int and 0 <= value <= COUNTS[key]
    if key in ANY_WARPS:
        return type(value) is int and 1 <= value <= LARGEST[key]
    if key == "tile_bytes" and type(value) is int and TILE_UNIT <= value <= LARGEST_TILE and value % TILE_UNIT == 0:
        return True
    if key in LARGEST:
        least = 0 if key in _MAY_BE_ZERO else 1
        return type(value) is int and least <= value <= LARGEST[key] and not value & (value - 1)
    return value in CHOICES[key] if key in CHOICES else isinstance(value, str)


def expected_of(key: str) -> str:
    """The values that the field ``key`` of a plan may have, in words."""
    if key in COUNTS:
        return f"a number from 0 to {COUNTS[key]}"
    if key in ANY_WARPS:
        most = LARGEST[key]
        return f"a power of two from 1 to {most}, or any number up to {most} where persistent CTAs {ANY_WARPS[key]}"
    if key in LARGEST:
        beyond = f", or a multiple of {TILE_UNIT} up to {LARGEST_TILE}" if key == "tile_bytes" else ""
        return "0, or " * (key in _MAY_BE_ZERO) + f"a power of two from 1 to {LARGEST[key]}{beyond}"
    choices = list(filter(None, CHOICES.get(key, ()))) + ["none"] * (key == "resident")  # rows are read again
    return "one of " * (len(choices) > 1) + " ".join(choices) if choices else "a name"
