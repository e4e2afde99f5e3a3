"""The pages of docs/pages: ``python tests/gallery.py`` writes all of them, or those that are named, and their list.

``tests/test_gallery.py`` compares the code in each page with what is compiled now; ``tests/browser/`` opens them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from warpfold.commands.page.collect import collect
from warpfold.commands.page.html import html
from warpfold.commands.requests.choose import AnyRequest, request_of
from warpfold.compiler.plan import ladder

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "pages"


class Case(NamedTuple):
    """A page: its name, what it shows in words, and the options of ``warpfold page``."""

    name: str
    words: str
    op: str
    shapes: tuple[str, ...]
    axis: str | None = None
    plan: str = ""
    compare: str | None = None
    dtype: str | None = None
    params: tuple[str, ...] = ()
    free: bool = False

    def request(self) -> AnyRequest:
        """The request of the page; the bits of a sum by atomics are ``free``."""
        determinism = "none" if self.free else "run"
        return request_of(
            self.op, (), self.shapes, self.dtype, self.axis, self.plan, 0, self.params, determinism
        )  # fmt: skip

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.name}.html"


OPERATIONS = (
    Case("sum-of-rows", "a sum over rows: lanes of a warp meet by shuffles", "sum", ("32x64",), "1"),
    Case("sum-of-columns", "a sum over columns, with lanes along the columns and across them", "sum", ("64x32",), "0",
         compare="fast=reduced"),
    Case("argmax", "the greatest element of each row and its index", "argmax", ("16x128",), "1"),
    Case("softmax-registers", "a softmax whose rows wait in registers", "softmax", ("8x256",), "1",
         "resident=registers"),
    Case("softmax-shared", "a softmax whose rows wait in shared memory", "softmax", ("8x256",), "1", "resident=shared"),
    Case("softmax-memory", "a softmax that reads its rows in each phase again", "softmax", ("8x256",), "1",
         "resident=memory"),
    Case("layer-norm", "layer norm: mean, variance and result, from one read", "layer_norm", ("8x256", "256", "256")),
    Case("layer-norm-gradient", "its gradient: two steps, of rows and of columns",
         "examples/gallery.py:layer_norm_gradient", ("16x64", "16x64", "64")),
    Case("relu-bits", "ReLU that keeps its mask as bits: lanes make words by ballots", "relu", ("2048",),
         params=("keep=bits",)),
    Case("transposition", "a transposed copy, by blocks in registers and by matrix instructions",
         "examples/gallery.py:transposed", ("64x32",), compare="fragments=matrix", dtype="f16"),
)  # fmt: skip
RUNGS = tuple(
    Case(f"rung-{rung.name}", rung.idea, "sum", ("2048",), plan=rung.name, free="finish=atomic" in rung.options)
    for rung in ladder.RUNGS
)
CASES = (*OPERATIONS, *RUNGS)


def page(case: Case) -> str:
    """The text of a page; files of the user are named from the root on."""
    os.chdir(ROOT)
    return html(collect(case.request(), case.compare, None))


def index() -> str:
    """The list of the pages."""
    return "\n".join(_index()) + "\n"


def _index() -> Iterator[str]:
    yield "# Pages\n"
    yield "Each page shows one kernel from its Python lines to the lanes of its warps. It is one file, made by"
    yield "`warpfold page`, and needs no network: open it from a clone in a browser. Lines that come from each other"
    yield "light up in all columns of code. The player goes through the kernel instruction by instruction; its events"
    yield "are bank conflicts, divergent branches and accesses that are not coalesced.\n"
    yield "`make gallery` writes them, after a change of kernels or of the page.\n"
    for title, cases in (("Operations", OPERATIONS), ("The rungs of the ladder", RUNGS)):
        yield f"## {title}\n"
        if cases is RUNGS:
            yield "A sum of 2,048 elements under each plan of [the ladder](../ladder.md), from one thread on.\n"
        yield "| page | what it shows |\n|---|---|"
        for case in cases:
            yield f"| [{case.name.removeprefix('rung-')}]({case.path.name}) | {case.words} |"
        yield ""


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for one in CASES:
        if not sys.argv[1:] or one.name in sys.argv[1:]:
            one.path.write_text(page(one), encoding="utf-8")
    (FOLDER / "README.md").write_text(index().rstrip() + "\n", encoding="utf-8")
