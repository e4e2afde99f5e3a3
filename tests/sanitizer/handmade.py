"""The kernels of ``data/*.cu`` as scenes, one for each family, and the source line of each line of their PTX."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
from scene import At, Buffer, Launch, Scene, Shape, nothing, values

DATA = Path(__file__).parent / "data"
_NUMBERS = (np.arange(2048) * 7 + 1) % 10  # the first is odd, no two neighbours are equal


@cache
def text(file: str) -> str:
    """A file of ``data``."""
    return (DATA / file).read_text()


def floats(n: int, skew: int = 0) -> Buffer:
    """``n`` small numbers as f32."""
    return replace(values(_NUMBERS[:n].astype(np.float32)), skew=skew)


def whole(n: int) -> Buffer:
    """``n`` small numbers as i32."""
    return values(_NUMBERS[:n].astype(np.int32))


def zeros(nbytes: int) -> Buffer:
    """Bytes set to zero."""
    return values(np.zeros(nbytes, np.uint8))


def scene(
    family: str, fault: str, buffers: dict[str, Buffer], args: tuple[At | int, ...], ctas: int, threads: int = 128,
    cluster: Shape = (1, 1, 1), file: str = "planted.ptx",
) -> Scene:  # fmt: skip
    """One launch of the kernel ``family_fault``."""
    entry = f"{family}_{fault}"
    made = Launch(text(file), entry, (ctas, 1, 1), (threads, 1, 1), args, cluster)
    return Scene(f"{family} {fault}", buffers, (made,))


def _rows_of_cta(family: str, results: int = 3, of: Callable[[int], Buffer] = floats) -> Callable[[str], Scene]:
    """A family that takes (x, out, n): 300 elements, so that the last of three CTAs is not full."""
    buffers = {"x": of(300), "out": nothing(4 * results)}
    return lambda fault: scene(family, fault, buffers, (At("x"), At("out"), 300), 3)


def _one_cta(family: str, n: int, of: Callable[[int], Buffer] = floats, sized: bool = True) -> Callable[[str], Scene]:
    """A family that takes (x, out) and, if sized, n: one CTA, with a result for each thread."""
    buffers = {"x": of(n), "out": nothing(512)}
    args: tuple[At | int, ...] = (At("x"), At("out"), *((n,) if sized else ()))
    file = "async.ptx" if family in ("copied", "met") else "planted.ptx"
    return lambda fault: scene(family, fault, buffers, args, 1, file=file)


def _left(fault: str) -> Scene:
    """100 of 128 threads have work."""
    buffers = {"x": whole(128), "out": nothing(512)}
    return scene("left", fault, buffers, (At("x"), At("out"), 100), 1, file="left.ptx")


def _histogram(fault: str) -> Scene:
    buffers = {"x": values((np.arange(1000) * 7 % 64).astype(np.uint8)), "bins": zeros(256)}
    return scene("histogram", fault, buffers, (At("x"), At("bins"), 1000), 2)


def _last(fault: str) -> Scene:
    cells = 1024 if fault == "WRITERS_NOT_WAITED_FOR" else 8
    buffers = {"x": floats(1000), "partial": nothing(4 * cells), "count": zeros(4), "out": nothing(4)}
    return scene("last", fault, buffers, (At("x"), At("partial"), At("count"), At("out"), 1000), 8)


def twice(once: Scene, out: str, index: int) -> Scene:
    """The launch again with another buffer for ``out``, its argument ``index``; then the second result is copied."""
    first = once.launches[0]
    again = first.argument(index, At(f"{out} again"))
    copy = Launch(text("planted.ptx"), "copy", (1, 1, 1), (32, 1, 1), (At(f"{out} again"), At("copy"), 1))
    buffers = {**once.buffers, f"{out} again": once.buffers[out], "copy": nothing(4)}
    return replace(once, buffers=buffers, launches=(first, again, copy))


def _flagged(fault: str) -> Scene:
    buffers = {"x": floats(128), "data": nothing(512), "flag": zeros(4), "out": nothing(512)}
    return scene("flagged", fault, buffers, (At("x"), At("data"), At("flag"), At("out")), 2)


def _locked(fault: str) -> Scene:
    buffers = {"lock": zeros(4), "sum": zeros(4), "x": floats(4)}
    return scene("locked", fault, buffers, (At("lock"), At("sum"), At("x")), 4, threads=32)


def _rows(fault: str) -> Scene:
    buffers = {"x": floats(200), "out": zeros(80)}
    return scene("rows", fault, buffers, (At("x"), At("out"), 20, 10), 5)


def _clustered(fault: str) -> Scene:
    buffers = {"x": floats(1024), "out": nothing(4096)}
    return scene("clustered", fault, buffers, (At("x"), At("out")), 8, cluster=(4, 1, 1))


FAMILIES: dict[str, Callable[[str], Scene]] = {
    "tree": _rows_of_cta("tree", 3),
    "tail": _rows_of_cta("tail", 3),
    "shuffled": _rows_of_cta("shuffled", 6),
    "votes": _rows_of_cta("votes", 300, whole),
    "exchanged": _one_cta("exchanged", 128, sized=False),
    "tiles": _one_cta("tiles", 512),
    "doubled": _one_cta("doubled", 512),
    "scan": _one_cta("scan", 128, whole, sized=False),
    "histogram": _histogram,
    "last": _last,
    "flagged": _flagged,
    "locked": _locked,
    "stencil": _rows_of_cta("stencil", 300),
    "rows": _rows,
    "vectors": _one_cta("vectors", 1026),
    "locals": _one_cta("locals", 136, whole, sized=False),
    "clustered": _clustered,
    "handed": _one_cta("handed", 64, sized=False),
    "copied": _one_cta("copied", 1536),
    "met": _one_cta("met", 256, sized=False),
    "left": _left,
}


@cache
def marked(file: str) -> dict[str, set[int]]:
    """The lines of a source that a report of each fault may name, by fault."""
    found: dict[str, set[int]] = {}
    for number, line in enumerate(text(file).splitlines(), 1):
        for fault in line.partition("//!")[2].split():
            found.setdefault(fault, set()).add(number)
    return found


@cache
def places(file: str) -> list[int]:
    """For each line of a PTX file, counted from 1, its source line; 0 if there is none."""
    out, at = [0], 0
    for line in text(file).splitlines():
        here = re.match(r"\t\.loc\t1 (\d+) ", line)
        at = int(here[1]) if here else 0 if line.startswith(".visible") else at
        out.append(at)
    return out
