"""docs/masks.md shows what the emulator's threads do, and its Python prints what it says."""

from __future__ import annotations

import re
import subprocess
import sys

import mask_pages
import pytest
from mask_pages import CASES, FOLDER, PAGE

TEXT = PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", CASES)
def test_each_picture_is_what_the_threads_do(name: str) -> None:
    drawn = (FOLDER / f"{name}.svg").read_text(encoding="utf-8")
    assert mask_pages.picture(name) == drawn, "run python tests/mask_pages.py"


def test_each_picture_is_on_the_page() -> None:
    assert sorted(re.findall(r"\]\(masks/([\w-]+)\.svg\)", TEXT)) == sorted(CASES)
    assert {path.stem for path in FOLDER.glob("*.svg")} == set(CASES)


def test_the_python_of_the_page_prints_what_it_says() -> None:
    code = "".join(re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL))
    printed = subprocess.run([sys.executable, "-"], input=code, capture_output=True, text=True, check=True).stdout
    expected = re.findall(r"print\(.*\)  # (.*)", code)
    assert printed.splitlines() == expected
