"""warpfold page from the command line: the file that it writes, and what it refuses before the work."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_line import MONOIDS, call, fails


def test_a_page_of_a_users_monoid_is_written_and_its_size_said(tmp_path: Path) -> None:
    path = tmp_path / "span.html"
    said = call("page", f"{MONOIDS}:span", "--shape", "256", "-o", path).stdout
    assert said.startswith(f"{path}: ")
    text = path.read_text()
    assert text.startswith("<!doctype html>")
    assert "examples/monoids.py" in text


def test_a_path_that_cannot_be_written_is_refused_before_the_work(tmp_path: Path) -> None:
    path = tmp_path / "no" / "page.html"
    assert f"WF505: cannot write {path}: " in fails("page", "sum", "--shape", "64", "-o", path)


def test_ptx_is_refused() -> None:
    said = fails("page", "yours.ptx", "-o", "page.html")
    assert "WF856: a page shows what warpfold compiles, and yours.ptx is PTX already" in said
    assert "use warpfold profile yours.ptx --lines" in said


def test_what_is_not_run_is_said(tmp_path: Path) -> None:
    said = call("page", "sum", "--shape", "64", "--max-steps", "3", "-o", tmp_path / "page.html").stdout
    assert "not run: WF716: " in said


def test_a_plan_to_compare_with_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    said = fails("page", "sum", "--shape", "64", "--compare", "vector=3", "-o", tmp_path / "page.html")
    assert "WF4" in said
    assert list(tmp_path.iterdir()) == []


def test_machine_code_is_a_column_whose_lines_come_from_others(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    call("page", "sum", "--shape", "64", "--sass", "-o", path)
    _, found, code = path.read_text().partition('<section class="column sass"')
    assert found
    assert "EXIT" in code
    assert re.search(r'<i class="l\d+ n\d+"> */\*[0-9a-f]{4}\*/ +[A-Z]', code)
    call("page", "sum", "--shape", "64", "--no-sass", "-o", path)
    assert '"column sass"' not in path.read_text()


def test_machine_code_is_there_where_a_disassembler_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "page.html"
    for there in (True, False):
        monkeypatch.setattr("warpfold.commands.page.page.has_disassembler", lambda there=there: there)
        call("page", "sum", "--shape", "64", "-o", path)
        assert ('"column sass"' in path.read_text()) is there
