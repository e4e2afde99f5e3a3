"""warpfold page from the command line: the file that it writes, and what it refuses before the work."""

from __future__ import annotations

from pathlib import Path

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


def test_machine_code_is_a_column_if_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    call("page", "sum", "--shape", "64", "--sass", "-o", path)
    assert '<section class="column sass"' in path.read_text()
    assert "EXIT" in path.read_text()
