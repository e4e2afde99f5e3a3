"""docs/glossary.md: each word occurs in the file that it names, and each folder of the package is on the page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([^|]+) \| [^|]+ \| `([^`]+)` \|$", PAGE, re.MULTILINE)
FOLDERS = sorted(
    path.parent.relative_to(ROOT).as_posix()
    for top in ("cli", "commands", "compiler", "passes", "runtime")
    for path in (ROOT / top).rglob("__init__.py")
)
TOPS = {"compiler", "runtime", "commands"}
"""Folders whose own files are spread over the page by what they belong to."""


def test_each_word_occurs_in_its_file() -> None:
    for words, file in ROWS:
        text = " ".join((ROOT / file).read_text(encoding="utf-8").lower().replace("_", " ").split())
        for word in re.sub(r" \(.*\)", "", words).split(", "):
            assert re.search(rf"\b{word.lower()}", text), f"{file} does not have {word!r}"


def test_each_line_has_one_word_with_a_file() -> None:
    lines = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| word | meaning")]
    assert len(lines) == len(ROWS)
    assert len({words for words, _ in ROWS}) == len(ROWS)


@pytest.mark.parametrize("folder", FOLDERS)
def test_each_folder_is_reached(folder: str) -> None:
    if folder not in TOPS:
        assert any(file.startswith(f"{folder}/") for _, file in ROWS), f"docs/glossary.md names no file of {folder}/"
