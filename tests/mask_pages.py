"""The pictures of docs/masks.md: which lane's elements are which bits, from what the emulator's threads read and write.

``python tests/mask_pages.py`` draws them; ``tests/test_mask_pages.py`` compares them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from access_picture import Line, Panel, drawn, watched
from walk_pages import ones, stretch

import warpfold as wf

PAGE = Path(__file__).parent.parent / "docs" / "masks.md"
FOLDER = PAGE.with_suffix("")


@wf.program
def relu(x: Any) -> Any:
    return wf.maximum(x, 0), wf.pack(x > 0)


class Case(NamedTuple):
    """A row of ``n`` elements of a type, and the elements of an access.

    Attributes:
        words: the title of the picture.
        t: the element type.
        vector: the elements of an access.
        n: the elements of the row.
    """

    words: str
    t: Any
    vector: int
    n: int = 64


CASES = {
    "quads": Case("a row of f32: eight lanes with four elements each have a word", np.float32, 4),
    "bytes": Case("a row of f16: four lanes with eight elements each have a word", np.float16, 8),
    "ballot": Case("a row of f32 by single elements: a ballot gives the word of a warp", np.float32, 1),
}


def picture(name: str) -> str:
    """The picture of a case."""
    case = CASES[name]
    item, number = np.dtype(case.t).itemsize, str
    x, y, bits = ones((case.n,), case.t), ones((case.n,), case.t), ones((case.n // 32,), np.uint32)
    plan = f"vector={case.vector},lanes=32,warps=1,warps_kept=1"
    seen = watched(lambda: relu(x, out=(y, bits), device="emulator", plan=plan))
    # an element of an access is the bit of its number: the same accesses, to elements of one byte
    owned = [s._replace(where="bits", at=s.at // item, size=case.vector) for s in seen if s.where == "input 0"]
    each = stretch(case.n, 32)
    panels = [
        Panel("the elements that each lane reads; a cell holds the number of the element", item, each, text=number),
        Panel("the bits that it makes of them; a cell holds the number of the bit in its word", 1,
              [Line(line.first, 32, f"word {i}") for i, line in enumerate(each)], "bits",
              text=lambda bit: str(bit % 32)),
        Panel("the words: the first lane of each writes it", 4, [Line(0, case.n // 32, "words")], "result 1", "written",
              text=number),
    ]  # fmt: skip
    return drawn(f"{case.words}, --plan {plan}", [*seen, *owned], panels)


def main() -> None:
    """Writes the pictures."""
    FOLDER.mkdir(exist_ok=True)
    for name in CASES:
        (FOLDER / f"{name}.svg").write_text(picture(name), encoding="utf-8")


if __name__ == "__main__":
    main()
