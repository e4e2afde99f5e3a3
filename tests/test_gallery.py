"""docs/pages: all pages are there, their list is, and the code that they show is what is compiled now."""

from __future__ import annotations

import re
from html import unescape

import pytest
from gallery import CASES, FOLDER, Case, index

from warpfold.runtime.prepare import Prepared, artifact

_COLUMN = re.compile(r'<section class="column ptx".*?<div class="code"[^>]*>(.*?)</div></section>', re.DOTALL)
_LINE = re.compile(r"<i[^>]*>(.*?)</i>")


def test_the_folder_has_these_pages_and_their_list() -> None:
    names = {case.path.name for case in CASES}
    assert {path.name for path in FOLDER.iterdir()} == {*names, "README.md"}
    assert (FOLDER / "README.md").read_text() == index().rstrip() + "\n", "run make gallery"
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 8_000_000


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_code_of_a_page_is_compiled_as_it_says(case: Case) -> None:
    planned = case.request().planned("sm_90a")
    ready = [planned] if isinstance(planned, Prepared) else [s.prepared for s in planned.prepared.steps]
    columns = _COLUMN.findall(case.path.read_text(encoding="utf-8"))
    for one, column in zip(ready, columns, strict=False):
        shown = [unescape(line) for line in _LINE.findall(column)]
        lines = artifact(one).ptx.expandtabs(4).splitlines()
        code = [line for line in lines if not re.match(r"\s*\.(?:loc|file)\s", line)]
        assert shown == code, f"python tests/gallery.py {case.name}"
