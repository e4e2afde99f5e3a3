"""Writes docs/accuracy.md from the committed errors of programs, which ``accuracy_programs.py`` measures on a GPU.

Run ``python benchmarks/accuracy_page.py`` after ``accuracy_programs.py --out benchmarks/results/accuracy-h100.json``;
a test fails while the page says anything else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from accuracy_programs import LEVEL, Errors, Row
from readme_table import markdown

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "accuracy-h100.json"
PAGE = ROOT / "docs" / "accuracy.md"
TITLES = ("case", "inputs", "worst", "mean", "worst of row", "mean of row")
TEXT = """\
# Accuracy of programs

How far softmax, norms and losses are from float64, beside PyTorch's kernels on the same inputs. `python
benchmarks/accuracy_programs.py` measures it on a GPU, and `python benchmarks/accuracy_page.py` writes this page; a test
compares both.

Errors are in ulps of the type of the elements: the distance of neighbours there. *Worst* and *mean* count in ulps of
each result. Where terms cancel, a result near zero has a great error of this kind by any method, and a few of them make
up the mean. So the last two columns count in ulps of the greatest result of a row; by these means warpfold is behind
in {behind} of {count} rows, by more than {percent} %. Each cell has warpfold's number and then PyTorch's.

The inputs are normal; *wide*, of magnitudes from 2^-8 to 2^4; one *constant* a row; and normal with an *offset* of
1000. Norms have a weight and a bias. The losses of halves are f32 in warpfold, and halves in PyTorch. The GPU was an
{device}, PyTorch was {torch}.

Three choices matter. A norm takes what the rounded mean lacks from the mean of the differences, if the mean is greater
than the deviation: then an offset costs no digits. The reciprocal root of a row takes a step of Newton's method after
`rsqrt`, since all elements of the row share its error. And all threads of a row add as a tree. A choice that costs
digits is the [exponential of halves](semantics.md#built-in-programs): results of bf16 below 2^-126 are zero, while
PyTorch's are denormal. The worst errors of wide bf16 are these.

{table}
"""


def page(kept: Mapping[str, Any]) -> str:
    """The page, of the values of the file."""
    rows = rows_of(kept)
    behind = sum(r.behind for r in rows)
    table = markdown(TITLES, [_cells(r) for r in rows])
    return TEXT.format(
        behind=behind, count=len(rows), percent=f"{100 * (LEVEL - 1):.0f}", table=table, **kept["machine"]
    )


def rows_of(kept: Mapping[str, Any]) -> list[Row]:
    """The measured rows of a file."""
    return [Row(r["case"], r["inputs"], Errors(**r["ours"]), Errors(**r["torch"])) for r in kept["rows"]]


def _cells(row: Row) -> list[str]:
    measures = ("worst", "mean", "worst_of_row", "mean_of_row")
    pairs = [(getattr(row.ours, m), getattr(row.torch, m)) for m in measures]
    return [row.case, row.inputs, *(f"{ours:.3g} / {theirs:.3g}" for ours, theirs in pairs)]


def read() -> dict[str, Any]:
    """The values of the committed file."""
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    PAGE.write_text(page(read()), encoding="utf-8")
