"""Which functions of the package each test runs, and the processor time it takes, as ``touches.py`` records them."""

from __future__ import annotations

import json
import lzma
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "tests" / "data" / "touches.xz"
SLOW = 0.05
"""Seconds from which on a test is left out of ``make check`` if others run what it runs."""
ENOUGH = 7
"""So many cheaper tests are enough others."""


class Touched:
    """Which tests run a function of the package, as it was when ``make touches`` ran."""

    def __init__(self, file: Path = KEPT) -> None:
        functions, self.tests = read(file)
        self.runs: dict[str, list[str]] = defaultdict(list)
        for test, (_, ran) in self.tests.items():
            for number in ran:
                self.runs[functions[number]].append(test)

    def seconds(self, test: str) -> float:
        """Processor time of the test, and of finding and reporting it."""
        return self.tests[test][0] + 0.02

    def ordered(self, tests: Iterable[str]) -> list[str]:
        """The tests, those first that run few functions in little time; files take turns of five of them."""

        def weight(test: str) -> float:
            taken, ran = self.tests[test]
            return len(ran) * (0.1 + taken)

        by_file: dict[str, list[str]] = defaultdict(list)
        for test in sorted(tests, key=weight):
            by_file[test.partition("::")[0]].append(test)
        turns = (
            (turn // 5, weight(of_file[0]), turn, test)
            for of_file in by_file.values()
            for turn, test in enumerate(of_file)
        )
        return [test for *_, test in sorted(turns)]


def read(file: Path) -> tuple[list[str], dict[str, tuple[float, list[int]]]]:
    with lzma.open(file, "rt") as stored:
        data = json.load(stored)
    return data["functions"], data["tests"]


def write(file: Path, parts: list[Any]) -> None:
    names = sorted({name for part in parts for name in part[0]})
    place = {name: number for number, name in enumerate(names)}
    tests = {
        test: [taken, sorted({place[part[0][number]] for number in ran})]
        for part in parts
        for test, (taken, ran) in part[1].items()
    }
    with lzma.open(file, "wt", preset=6) as out:
        json.dump({"functions": names, "tests": dict(sorted(tests.items()))}, out, separators=(",", ":"))


def spared(every: Iterable[str]) -> set[str]:
    """The slow ones of these tests of which each function that they run is run by enough others that are not left out.

    Tests that the record does not know are never left out.
    """
    functions = Touched()
    runs: Counter[int] = Counter()
    left_out = set()
    for test in sorted(set(every) & functions.tests.keys(), key=lambda test: (functions.tests[test][0], test)):
        taken, ran = functions.tests[test]
        if taken >= SLOW and ran and all(runs[number] >= ENOUGH for number in ran):
            left_out.add(test)
        else:
            runs.update(ran)
    return left_out
