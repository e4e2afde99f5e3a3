"""docs/planner.md matches the planner, and every number of the planner is a threshold or in a table."""

from __future__ import annotations

import ast
import re

import planner_page

FIXED = {
    "LEAST_WARPS",
    "LEAST_OF_COLUMNS",
    "BULK",
    "WIDEST",
    "HALF",
    "FOUR_WARPS",
    "SIXTEEN_WARPS",
    "NUMBERS",
    "HUGE",
    "MOST_PARTS",
    "MOST_DIMS",
    "WORD",
    "BANKS",
    "SECTOR",
    "LINE",
}
"""Numbers that follow from the hardware or from others: nobody measures them."""


def test_the_page_is_what_the_planner_says() -> None:
    assert planner_page.PAGE.read_text(encoding="utf-8") == planner_page.page(), "python tests/planner_page.py"


def test_each_number_has_a_meaning_and_a_date() -> None:
    for path, module in planner_page.modules():
        for entry in planner_page.entries(path, module):
            assert entry.means, f"{entry.name} has no docstring"
            assert re.fullmatch(r"\d{4}-\d\d-\d\d", entry.measured.day), entry.name
            assert entry.measured.section in {"", *planner_page.LOG}, entry.name
            if isinstance(entry.value, planner_page.Table):
                bounds = [bound for bound, _ in entry.value.rows]
                assert bounds == sorted(set(bounds)), entry.name


def test_each_sitting_has_a_name_of_its_own() -> None:
    body = ast.parse((planner_page.PLANNER / "sittings.py").read_text(encoding="utf-8")).body
    names = [ast.unparse(node.targets[0]) for node in body if isinstance(node, ast.Assign)]
    assert sorted(names) == sorted(set(names))


def test_no_constant_of_the_planner_is_a_bare_number() -> None:
    for path, module in planner_page.modules():
        known = {entry.name for entry in planner_page.entries(path, module)} | FIXED
        for node in ast.parse((planner_page.PLANNER / path).read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                name = ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)
                numbers = [
                    n for n in ast.walk(node.value) if isinstance(n, ast.Constant) and isinstance(n.value, int | float)
                ]
                assert name in known or name.startswith("_") or not _compared(node.value, numbers), name


def _compared(value: ast.expr, numbers: list[ast.Constant]) -> bool:
    """Whether a constant holds numbers, other than as the keys of a dict of tables."""
    keys = value.keys if isinstance(value, ast.Dict) else []
    return any(n not in keys for n in numbers)


def test_a_table_gives_the_first_row_that_holds_a_size() -> None:
    table = planner_page.Table("elements", "threads", planner_page.Sitting("2026-11-25", "0000000"), ((3, 1), (6, 2)))
    assert [table.at(n) for n in (0, 3, 4, 6, 7)] == [1, 1, 2, 2, None]
    assert table.last == 6
