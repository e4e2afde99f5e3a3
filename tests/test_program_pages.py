"""docs/programs.md shows what the emulator's threads do, and its Python prints what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import program_pages
import pytest
from access_picture import Panel, Seen, watched
from program_pages import CASES, FOLDER, PAGE

TEXT = PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", CASES)
def test_each_picture_is_what_the_threads_do(name: str) -> None:
    drawn = (FOLDER / f"{name}.svg").read_text(encoding="utf-8")
    assert program_pages.picture(name) == drawn, "run python tests/program_pages.py"


def test_the_page_has_the_counts_of_the_profiler_and_the_plans_of_the_planner() -> None:
    assert program_pages.page(TEXT) == TEXT, "run python tests/program_pages.py"


def test_each_picture_is_on_the_page() -> None:
    assert sorted(re.findall(r"\]\(programs/([\w-]+)\.svg\)", TEXT)) == sorted(CASES)
    assert {path.stem for path in FOLDER.glob("*.svg")} == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_panels_stand_in_the_order_of_their_first_accesses(name: str) -> None:
    case = CASES[name]()
    seen = watched(case.run)
    firsts = [min((s.kernel, s.turn) for s in seen if _is_on(s, panel)) for panel in case.panels]
    assert firsts == sorted(firsts)


def _is_on(s: Seen, panel: Panel) -> bool:
    which = (panel.where, panel.verb, panel.kernel, panel.again)
    here = any(line.first <= s.at // panel.item < line.first + line.count for line in panel.lines)
    return which == (s.where, s.verb, s.kernel, s.again) and panel.chosen(s) and here


@pytest.mark.parametrize("name", ["softmax", "layer-norm", "registers", "shared", "columns", "cluster"])
def test_a_row_that_waits_on_chip_is_read_once_by_the_threads_that_write_it(name: str) -> None:
    seen = watched(CASES[name]().run)
    read, written = (
        sorted((s.cta, s.thread, s.at, s.size, s.again) for s in seen if s.where == where)
        for where in ("input 0", "result 0")
    )
    assert read == written
    assert not any(s.again for s in seen if s.where == "input 0")


def test_the_python_of_the_page_prints_its_comments(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WARPFOLD_CACHE_DIR", str(tmp_path))
    text = "\n".join(re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL))
    source = tmp_path / "programs.py"  # a file, so that traced lines have a source
    source.write_text(text)
    done = subprocess.run([sys.executable, str(source)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == re.findall(r"^print\(.*\)  # (.*)$", text, re.MULTILINE)
