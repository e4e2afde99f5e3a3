"""The mirror is law: ops, passes, codes, packages and their tests answer each other name by name."""

from __future__ import annotations

import importlib
import re
import sys
import tomllib
from pathlib import Path

import pytest

from warpfold.compiler.catalogue import CATALOGUE
from warpfold.compiler.dialect import OPS
from warpfold.passes import PASSES

ROOT = Path(__file__).parent.parent
SOURCES = sorted(ROOT.glob("*.py")) + sorted(
    path for folder in ("cli", "commands", "compiler", "passes", "runtime") for path in (ROOT / folder).rglob("*.py")
)
LIT_FILES = sorted((ROOT / "dialect_tests").rglob("*.mlir"))
OP_NAMES = [op.OPERATION_NAME.removeprefix("fold.") for op in OPS]  # type: ignore[attr-defined]
PASS_NAMES = [p.name for p in PASSES]

_CODE = re.compile(r"\bWF\d{3}\b")
_DIRECTIVE = re.compile(r"//\s*([A-Z][A-Z0-9_]*(?:-[A-Z0-9]+)*)\s*(\{LITERAL\})?\s*:(.*)")
_KINDS = ("", "-NEXT", "-SAME", "-NOT", "-DAG", "-LABEL", "-EMPTY")


def snake(name: str) -> str:
    return name.replace("-", "_")


def codes_in(paths: list[Path]) -> set[str]:
    return {code for path in paths for code in _CODE.findall(path.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("op", OP_NAMES)
def test_every_op_has_a_round_trip_and_an_invalid_file(op: str) -> None:
    folder = ROOT / "dialect_tests" / "dialect"
    assert (folder / f"{op}.mlir").is_file()
    assert (folder / f"{op}_invalid.mlir").is_file()


@pytest.mark.parametrize("name", PASS_NAMES)
def test_every_pass_has_its_file_and_its_lit_file(name: str) -> None:
    assert (ROOT / "passes" / f"{snake(name)}.py").is_file()
    assert (ROOT / "dialect_tests" / "passes" / f"{name}.mlir").is_file()


@pytest.mark.parametrize("name", PASS_NAMES)
def test_every_pass_shows_one_before_and_one_after(name: str) -> None:
    text = importlib.import_module(f"warpfold.passes.{snake(name)}").__doc__ or ""
    assert text.count("```mlir before\n") == 1
    assert text.count("```mlir after\n") == 1
    assert text.count("```") == 4


def test_every_pass_is_in_the_table_once_and_every_file_is_a_pass() -> None:
    files = {path.stem for path in (ROOT / "passes").glob("*.py")} - {"__init__"}
    assert sorted(snake(name) for name in PASS_NAMES) == sorted(n for n in files if not n.startswith("_"))


def test_every_lit_file_mirrors_something() -> None:
    mirrored = {"dialect": {*OP_NAMES, *(f"{op}_invalid" for op in OP_NAMES)}}
    mirrored["passes"] = {*PASS_NAMES, *(f"{name}_invalid" for name in PASS_NAMES)}
    for folder, names in mirrored.items():
        found = {path.stem for path in LIT_FILES if path.parent.name == folder}
        assert found <= names, f"dialect_tests/{folder} holds files that mirror nothing"


def test_every_code_raised_is_in_the_catalogue() -> None:
    assert codes_in(SOURCES) <= set(CATALOGUE)


@pytest.mark.parametrize("code", sorted(CATALOGUE))
def test_every_code_is_raised_and_tested(code: str) -> None:
    catalogue = ROOT / "compiler" / "catalogue"
    assert code in codes_in([path for path in SOURCES if path.parent != catalogue]), "nothing raises it"
    tests = sorted((ROOT / "tests").rglob("*.py")) + LIT_FILES
    assert code in codes_in(tests), "no test shows it"


def test_every_package_is_listed_for_the_wheel() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = sorted({path.parent for path in SOURCES if path.name == "__init__.py"})
    assert sorted(settings["packages"]) == sorted(
        ".".join(("warpfold", *folder.relative_to(ROOT).parts)) for folder in folders
    )


def test_the_package_has_one_name() -> None:
    """Pytest at the root must not import the root's ``__init__.py`` again under the checkout folder's name."""
    init = str(ROOT / "__init__.py")
    assert [name for name, module in sys.modules.items() if getattr(module, "__file__", None) == init] == ["warpfold"]


@pytest.mark.parametrize("path", LIT_FILES, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_check_lines_say_what_they_seem_to(path: Path) -> None:
    """A misspelt directive, or a variable from another block, would pass without checking anything."""
    text = path.read_text(encoding="utf-8")
    prefixes = {"CHECK", *re.findall(r"--check-prefix(?:es)?[= ]([\w,-]+)", text)}
    prefixes = {name for group in prefixes for name in group.split(",")}
    known = {prefix: set[str]() for prefix in prefixes}
    for number, line in enumerate(text.splitlines(), start=1):
        match = _DIRECTIVE.search(line)
        if match is None or match[1] in ("RUN", "COM", "XFAIL", "REQUIRES", "UNSUPPORTED", "END", "DEFINE", "REDEFINE"):
            continue
        prefix = next((p for p in sorted(prefixes, key=len, reverse=True) if match[1].startswith(p)), None)
        assert prefix is not None, f"line {number}: no RUN line reads {match[1]}"
        kind = re.sub(r"-COUNT-\d+$", "", match[1].removeprefix(prefix))
        assert kind in _KINDS, f"line {number}: FileCheck knows no {match[1]}"
        if kind == "-LABEL":
            known[prefix].clear()
        for name, pattern in re.findall(r"\[\[(\w+)(:[^]]*)?", match[3]):
            assert pattern or name in known[prefix], f"line {number}: {name} is not captured in this block"
            known[prefix].add(name)
