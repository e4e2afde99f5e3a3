"""The pages of docs/walks show what the emulator's threads do, and the plans that the planner chooses."""

from __future__ import annotations

import re

import pytest
import walk_pages
from access_picture import watched
from walk_pages import CASES, COUNTED, FOLDER, LARGE

PAGES = {path.name: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.md"))}


@pytest.mark.parametrize("name", CASES)
def test_each_picture_is_what_the_threads_do(name: str) -> None:
    drawn = (FOLDER / f"{name}.svg").read_text(encoding="utf-8")
    assert walk_pages.picture(name) == drawn, "run python tests/walk_pages.py"


@pytest.mark.parametrize("name", PAGES)
def test_each_page_has_the_plans_of_the_planner_and_the_counts_of_the_profiler(name: str) -> None:
    assert walk_pages.page(PAGES[name]) == PAGES[name], "run python tests/walk_pages.py"


def test_each_picture_and_plan_is_on_one_page_and_each_page_in_the_index() -> None:
    text = "".join(PAGES.values())
    assert sorted(re.findall(r"\]\(([\w-]+)\.svg\)", text)) == sorted(CASES)
    assert {path.stem for path in FOLDER.glob("*.svg")} == set(CASES)
    assert sorted(re.findall(r"<!-- plan: ([\w-]+) -->", text)) == sorted(LARGE)
    assert sorted(re.findall(r"<!-- counted: ([\w-]+) -->", text)) == sorted(COUNTED)
    assert set(re.findall(r"\]\(([\w-]+\.md)\)", PAGES["README.md"])) == PAGES.keys() - {"README.md"}


def test_a_picture_shows_every_element_of_the_array() -> None:
    """Of the cases that show all of it, the threads of the boxes read all of it."""
    for name in ("interleaved", "shifted", "columns", "periods", "padded", "staggered"):
        case = CASES[name]()
        last = case.panels[0].lines[-1]
        seen = {at for s in watched(case.run) if s.where == "input 0" for at in range(s.at, s.at + s.size)}
        assert set(range(4 * (last.first + last.count))) <= seen
