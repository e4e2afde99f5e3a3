"""Ops, passes, codes and packages, and their tests and entries, mirror each other by name."""

from __future__ import annotations

import importlib
import re
import sys
import tomllib
from pathlib import Path

import numpys
import pytest

import warpfold as wf
from warpfold.compiler.errors.catalogue import CATALOGUE
from warpfold.compiler.ir.dialect import OPS
from warpfold.compiler.program.function_table import TABLE, Function
from warpfold.compiler.program.library.reductions import FUNCTIONS
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
    for file in (f"{op}.mlir", f"{op}_invalid.mlir"):
        assert (folder / file).is_file(), f"op fold.{op} lacks dialect_tests/dialect/{file}"


@pytest.mark.parametrize("name", PASS_NAMES)
def test_every_pass_has_its_file_and_its_lit_file(name: str) -> None:
    for file in (f"passes/{snake(name)}.py", f"dialect_tests/passes/{name}.mlir"):
        assert (ROOT / file).is_file(), f"pass {name} lacks {file}"


@pytest.mark.parametrize("name", PASS_NAMES)
def test_every_pass_shows_one_before_and_one_after(name: str) -> None:
    text = importlib.import_module(f"warpfold.passes.{snake(name)}").__doc__ or ""
    blocks = re.findall(r"```([^\n]+)\n", text)
    assert blocks == ["mlir before", "mlir after"], f"the docstring of passes/{snake(name)}.py has the blocks {blocks}"
    assert text.count("```") == 4, f"the docstring of passes/{snake(name)}.py leaves a block open"


def test_every_pass_is_in_the_table_once_and_every_file_is_a_pass() -> None:
    files = {path.stem for path in (ROOT / "passes").glob("*.py")} - {"__init__"}
    own, listed = {n for n in files if not n.startswith("_")}, [snake(name) for name in PASS_NAMES]
    assert len(set(listed)) == len(listed), f"PASSES of passes/__init__.py has one twice: {listed}"
    assert own <= set(listed), f"PASSES of passes/__init__.py lacks {sorted(own - set(listed))}"
    assert set(listed) <= own, f"passes/ lacks the files of {sorted(set(listed) - own)}"


def test_every_lit_file_mirrors_an_op_or_a_pass() -> None:
    mirrored = {"dialect": {*OP_NAMES, *(f"{op}_invalid" for op in OP_NAMES)}}
    mirrored["passes"] = {*PASS_NAMES, *(f"{name}_invalid" for name in PASS_NAMES)}
    for folder, names in mirrored.items():
        found = {path.stem for path in LIT_FILES if path.parent.name == folder}
        assert found <= names, f"dialect_tests/{folder} holds files that mirror no op or pass: {sorted(found - names)}"


def test_every_code_raised_is_in_the_catalogue() -> None:
    unknown = codes_in(SOURCES) - set(CATALOGUE)
    assert not unknown, f"compiler/errors/catalogue/ lacks entries for {sorted(unknown)}"


def test_every_code_is_raised_and_tested() -> None:
    catalogue = ROOT / "compiler" / "errors" / "catalogue"
    unused = set(CATALOGUE) - codes_in([path for path in SOURCES if path.parent != catalogue])
    assert not unused, f"nothing raises {sorted(unused)}: use them, or delete them in compiler/errors/catalogue/"
    untested = set(CATALOGUE) - codes_in(sorted((ROOT / "tests").rglob("*.py")) + LIT_FILES)
    assert not untested, f"no test names {sorted(untested)}"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_built_in_has_its_entries(name: str) -> None:
    missing = numpys.lacking(name)
    assert not missing, f"{name} of compiler/program/library/ lacks:" + "".join(f"\n  {entry}" for entry in missing)


@pytest.mark.parametrize("row", [row for row in TABLE if row.doc], ids=lambda row: row.name)
def test_every_elementwise_function_has_its_tests_and_a_word(row: Function) -> None:
    """What the row does not say; a row without its arithmetic fails when ``passes`` is imported."""
    wanted = {
        "docs/functions.md": f"`{row.name}`",
        "tests/compiler/program/gradients/test_elementwise.py": f'"{row.name}"',
    }
    wanted |= {"tests/passes/test_expand_math.py": f'{row.name}"'} if row.ulps else {}
    for file, text in wanted.items():
        assert text in (ROOT / file).read_text(encoding="utf-8"), f"function {row.name} lacks its entry in {file}"


def test_every_public_name_exists() -> None:
    public = {name for name, home in wf._HOME.items() if home == ".runtime.named_reductions"}
    assert public <= set(FUNCTIONS), (
        f"REDUCTIONS of program/public_names.py names what compiler/program/library/ has not: {public}"
    )
    lost = [n for n, home in wf._HOME.items() if not hasattr(importlib.import_module("warpfold" + home), n)]
    assert not lost, f"_HOME of __init__.py names what is not there: {lost}"


def test_every_package_is_listed_for_the_wheel() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = sorted({path.parent for path in SOURCES if path.name == "__init__.py"})
    there = {".".join(("warpfold", *folder.relative_to(ROOT).parts)) for folder in folders}
    listed = set(settings["packages"])
    assert listed == there, f"packages in pyproject.toml lacks {there - listed}, and names {listed - there} in vain"


def test_the_package_has_one_name() -> None:
    """Pytest at the root must not import the root's ``__init__.py`` again under the checkout folder's name."""
    init = str(ROOT / "__init__.py")
    names = [name for name, module in sys.modules.items() if getattr(module, "__file__", None) == init]
    assert names == ["warpfold"], f"{init} was imported as {names}"


@pytest.mark.parametrize("path", LIT_FILES, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_check_lines_are_real_directives(path: Path) -> None:
    """A misspelt directive, or a variable from another block, would check nothing."""
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
