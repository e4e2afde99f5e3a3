"""Records which functions of the package each test runs, and the processor time that it takes.

``make touches`` runs all tests with this as a plugin, and writes ``KEPT``.
``mutants.py`` and ``quick.py`` choose tests by it. Each function marks one byte when it begins, by a statement that is
added as the module is imported, so a run takes a few percent longer. A function whose result another test of the same
process left in a cache is not marked, and neither is what runs in a process that a test starts.
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import pytest
from touched import ROOT, write

MARKS = "__touches__"


class Record:
    """The functions of the package that were compiled in this process, and which of them ran since the last look."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.marks = bytearray()
        self.tests: dict[str, tuple[float, list[int]]] = {}

    def number(self, name: str) -> int:
        self.names.append(name)
        self.marks.append(0)
        return len(self.names) - 1

    def take(self) -> list[int]:
        ran = [number for number, mark in enumerate(self.marks) if mark]
        self.marks[:] = bytes(len(self.marks))
        return ran


RECORD = Record()


class Marking(ast.NodeTransformer):
    """Lets each function of a module set its mark first."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.outer: list[str] = []

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self.outer.append(node.name)
        self.generic_visit(node)
        self.outer.pop()
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.outer.append(node.name)
        self.generic_visit(node)
        number = RECORD.number(f"{self.path}:{'.'.join(self.outer)}")
        self.outer.pop()
        (mark,) = ast.parse(f"{MARKS}[{number}] = 1").body
        has_docstring = ast.get_docstring(node, clean=False) is not None
        place = node.body[min(int(has_docstring), len(node.body) - 1)]
        for part in ast.walk(mark):
            ast.copy_location(part, place)
        node.body.insert(int(has_docstring), mark)
        return node

    visit_AsyncFunctionDef = visit_FunctionDef  # type: ignore[assignment]  # noqa: N815


class MarkingLoader(importlib.machinery.SourceFileLoader):
    """Compiles modules of the package with marks, and keeps no bytecode."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        tree = ast.parse(self.get_data(path))
        marked = Marking(str(Path(path).resolve().relative_to(ROOT))).visit(tree)
        return compile(marked, path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__[MARKS] = RECORD.marks
        super().exec_module(module)


class MarkingFinder(importlib.abc.MetaPathFinder):
    """Finds modules of the package and lets ``MarkingLoader`` load them."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] != "warpfold":
            return None
        for finder in sys.meta_path:
            if finder is self or (spec := finder.find_spec(fullname, path, target)) is None:
                continue
            if isinstance(spec.loader, importlib.machinery.SourceFileLoader):
                spec.loader = MarkingLoader(spec.loader.name, spec.loader.path)
            return spec
        return None


sys.meta_path.insert(0, MarkingFinder())


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--touches", metavar="FILE", help="write there which functions each test runs")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    RECORD.take()
    begun = seconds()
    yield
    RECORD.tests[item.nodeid] = (round(seconds() - begun, 4), RECORD.take())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """torch.compile cannot trace the statements that set marks; its tests are left out of the record."""
    report: Any = yield
    if call.excinfo is not None and "dynamo" in type(call.excinfo.value).__module__ + str(call.excinfo.value):
        report.outcome, report.longrepr = "skipped", (str(item.path), 0, "torch.compile does not trace marks")
    return report


def seconds() -> float:
    """Processor time of this process and of those that it started."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker leaves its part beside the file; the process that started the workers joins the parts."""
    file = session.config.getoption("--touches")
    if file is None:
        return
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is not None:
        Path(f"{file}.{worker}").write_text(json.dumps([RECORD.names, RECORD.tests]))
        return
    parts = sorted(Path(file).parent.glob(Path(file).name + ".gw*"))
    write(Path(file), [json.loads(part.read_text()) for part in parts] or [[RECORD.names, RECORD.tests]])
    for part in parts:
        part.unlink()
