"""The site of docs/: it builds without a warning, its reference has every public name, and the Python of pages runs."""

from __future__ import annotations

import importlib.util
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from site_hooks import ROOT, reference

import warpfold as wf

TESTED = ("programs.md", "masks.md")
"""Pages whose Python runs in tests of their own."""
PAGES = [
    path.relative_to(ROOT).as_posix()
    for path in sorted((ROOT / "docs").rglob("*.md"))
    if "\n```python\n" in path.read_text(encoding="utf-8") and path.name not in TESTED
]


def test_the_reference_has_every_public_name() -> None:
    text = reference()
    assert re.findall(r"(?m)^## (\w+)$", text) == sorted(
        set(wf.__all__) - {"__version__"}, key=lambda n: (n.lower(), n)
    )
    assert "wf.softmax(" in text
    assert " at 0x" not in text
    assert text.count("```") % 2 == 0
    assert "\n``pycon" not in text


@pytest.mark.skipif(importlib.util.find_spec("mkdocs") is None, reason="mkdocs is not installed: pip install '.[docs]'")
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(tmp_path)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    home = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert 'href="first-run.html"' in home
    assert "docs/" not in re.findall(r'href="([^"]*)"', home)
    assert (tmp_path / "pages" / "sum-of-rows.html").exists()
    assert 'id="softmax"' in (tmp_path / "api.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_the_python_of_a_page_prints_its_comments(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As one program; comments beside and below a print say what it prints."""
    text = "\n".join(re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL))
    for library in set(re.findall(r"(?m)^import (dask|jax|torch)\b", text)):
        pytest.importorskip(library)
    source = tmp_path / "page.py"  # a file, so that traced lines have a source
    source.write_text(text)
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(source), run_name="__main__")
    said = re.findall(r"(?m)^print\(.*?\)(?:  # (.+))?((?:\n# .+)*)$", text)
    expected = [line for beside, below in said for line in (beside, *below.split("\n# ")) if line]
    assert capsys.readouterr().out.splitlines() == expected
