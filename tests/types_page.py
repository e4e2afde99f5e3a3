"""The tables of docs/types.md, derived by tracing every function on every element type.

``python tests/types_page.py`` writes the page; ``tests/test_types.py`` compares it and runs every cell.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from warpfold.compiler.dtypes import ALL, STORED, DType
from warpfold.compiler.errors import WarpfoldError
from warpfold.compiler.program.fold import fold
from warpfold.compiler.program.library.monoids import SUM
from warpfold.compiler.program.library.reductions import FUNCTIONS
from warpfold.compiler.program.tracing import Structure, Traced, trace

PAGE = Path(__file__).parent.parent / "docs" / "types.md"
TYPES = (*ALL, *STORED)
HEAD = """\
# Types

`python tests/types_page.py` writes this page. One test compares it with what the compiler says, and another runs every
cell. [Semantics](semantics.md) explains the words.

The element types are `bool`, signed integers `i8` to `i64`, unsigned ones `u8` to `u64`, the floats `f16`, `bf16`,
`f32` and `f64`, the 8-bit floats `f8e4m3fn` and `f8e5m2`, and the complex `c64` and `c128`. `T` is the element's own
type, `P` the float type of a complex number's two parts.

## Functions

*Accumulator* lists the types of the folded values; a complex value is two of them. Functions of two arrays are shown
for two arrays of one type. A code in place of a type is the error that the function raises. `unique` takes and returns
`bool` and integers of 8 and 16 bits.
"""
PAIRS = """
## Two types

The type of `x * y` in a program, and of the products that `dot` sums. 8-bit floats are read as `f32`.
"""


Cell = tuple[str, str]
"""What one function makes of one element type: the types of the folded values, and those of the results."""


class Both(NamedTuple):
    """A cell said in two ways: by the names of the types, and with ``T`` and ``P`` where they are the element's own."""

    absolute: Cell
    relative: Cell


def arrays_of(name: str) -> int:
    """How many arrays a function takes."""
    found = inspect.signature(FUNCTIONS[name]).parameters.values()
    return sum(p.kind is not p.KEYWORD_ONLY for p in found)


def traced(name: str, t: DType) -> Traced | WarpfoldError:
    """The function on arrays of one type, or why there is none."""
    try:
        return trace(FUNCTIONS[name], (t,) * arrays_of(name), {}, name=name)
    except WarpfoldError as e:
        return e


def cell(name: str, t: DType) -> Both:
    """One cell of the first table."""
    found = traced(name, t)
    if isinstance(found, WarpfoldError):
        return Both(("", found.code), ("", found.code))
    own = {t: "`T`"} | ({t.part: "`P`"} if t.kind == "complex" else {})
    state, results = found.program.monoid.state, found.results
    return Both(*(
        (_counted([names.get(s, f"`{s}`") for s in state]),
         _fields(found.structure, [names.get(r, f"`{r}`") for r in results]))
        for names in ({}, own)
    ))  # fmt: skip


def _counted(names: Iterable[str]) -> str:
    runs = [(name, len(list(run))) for name, run in groupby(names)]
    return ", ".join(name if n == 1 else f"{n} {name}" for name, n in runs)


def _fields(structure: Structure, names: Sequence[str]) -> str:
    """The types of the results, after the fields that have them."""
    if isinstance(structure, int):
        return names[structure]
    fields: dict[str, list[str]] = {}
    for field, name in zip(structure[1], names, strict=True):
        fields.setdefault(name, []).append(field)
    return ", ".join(f"{' '.join(f)} {name}" for name, f in fields.items())


def _said(cells: Sequence[Both]) -> Cell | None:
    """The one cell that neighbouring types share, in one way of saying it or the other; None if they do not."""
    found = []
    for column in (0, 1):
        same = [way for way in zip(*cells, strict=True) if len({c[column] for c in way}) == 1]
        if not same:
            return None
        found.append(same[0][0][column])
    return (found[0], found[1])


def rows(cells: Sequence[Both]) -> Iterator[tuple[str, Cell]]:
    """Runs of types, as long as they share a cell."""
    start = 0
    for end in range(1, len(cells) + 1):
        if end == len(cells) or _said(cells[start : end + 1]) is None:
            found = _said(cells[start:end])
            assert found is not None
            yield "all" if end - start == len(cells) else " ".join(t.name for t in TYPES[start:end]), found
            start = end


def functions_table() -> list[str]:
    """Functions that agree on all types share their rows."""
    lines = ["| function | input | accumulator | result |", "|---|---|---|---|"]
    columns: dict[tuple[Both, ...], list[str]] = {}
    for name in FUNCTIONS:
        columns.setdefault(tuple(cell(name, t) for t in TYPES), []).append(name)
    for cells, names in columns.items():
        label = " ".join(f"`{n}`" for n in names)
        for types, found in rows(cells):
            lines.append(f"| {label} | {types} | {found[0]} | {found[1]} |")
            label = ""
    return lines


def promoted(a: DType, b: DType) -> DType:
    """The type of a product of elements of two types."""
    (found,) = trace(lambda x, y: fold(SUM, x * y), (a, b), {}).results
    return found


def pairs_table() -> list[str]:
    """The types of products, for every pair but those of 8-bit floats."""
    types = [t for t in TYPES if not t.name.startswith("f8")]
    lines = [f"| | {' | '.join(t.name for t in types)} |", "|---" * (len(types) + 1) + "|"]
    return lines + [f"| **{a}** | {' | '.join(promoted(a, b).name for b in types)} |" for a in types]


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *functions_table(), PAIRS, *pairs_table(), ""])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
