"""The catalogue: the form of its texts, how errors are shown, and that every call site gives the facts of its text."""

from __future__ import annotations

import ast
import copy
import pickle
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

from warpfold.compiler import errors
from warpfold.compiler.errors import FileError, Location, PlanError, WarpfoldError, catalogue, error
from warpfold.compiler.errors.catalogue import CATALOGUE

ROOT = Path(__file__).parents[3]
SOURCES = sorted(p for folder in (".", "compiler", "passes", "runtime") for p in (ROOT / folder).rglob("*.py"))
PACKAGE = [p for p in SOURCES if p.relative_to(ROOT).parts[0] in ("compiler", "passes", "runtime") or p.parent == ROOT]


def fields(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}


class Anything:
    """Fits every field of every template."""

    def __format__(self, spec: str) -> str:
        return "1"

    def __repr__(self) -> str:
        return "1"


def calls() -> Iterator[tuple[str, str, set[str] | None]]:
    """Every ``error("WFnnn", ...)`` of the package: place, code and facts (None where they are unpacked)."""
    for path in PACKAGE:
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            named = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "error"
            if not named or not call.args or not isinstance(call.args[0], ast.Constant):
                continue
            names = {k.arg for k in call.keywords}
            facts = None if None in names else {n for n in names if n is not None} - {"where"}
            yield f"{path.relative_to(ROOT)}:{call.lineno}", str(call.args[0].value), facts


def test_texts_are_lowercase_sentences_without_a_stop() -> None:
    for code in sorted(CATALOGUE):
        row = CATALOGUE[code]
        assert row.text
        assert row.remedy
        first = row.text.split()[0]
        assert first[0].islower() or first[0] in "{-" or first.isupper(), row.text
        for text in (row.text, row.remedy):
            assert not text.endswith((".", "!")), text
            assert text == text.strip()
            assert "\n" not in text


def test_the_remedy_names_only_facts_of_the_text() -> None:
    for code in sorted(CATALOGUE):
        facts = dict.fromkeys(fields(CATALOGUE[code].text) | fields(CATALOGUE[code].remedy), Anything())
        made = error(code, **facts)
        assert type(made) is CATALOGUE[code].kind
        assert made.code == code
        assert str(made).startswith(f"{code}: ")
        assert "{" not in made.message.replace("{literal", "")


def test_each_code_has_one_row() -> None:
    groups = [getattr(catalogue, path.stem) for path in (ROOT / "compiler" / "errors" / "catalogue").glob("[!_]*.py")]
    codes = [code for group in groups for entries in group.ENTRIES.values() for code in entries]
    assert sorted(codes) == sorted(CATALOGUE)


def test_codes_are_grouped_by_their_first_digit() -> None:
    groups = {
        "WF2": errors.TraceError, "WF3": errors.CompileError, "WF4": errors.PlanError, "WF5": errors.FileError,
        "WF6": errors.BackendError, "WF7": errors.EmulatorError,
    }  # fmt: skip
    for code, row in CATALOGUE.items():
        if code[:3] in groups and code[:4] not in ("WF74", "WF75"):  # the benchmark's
            assert issubclass(row.kind, groups[code[:3]]), code


def test_every_call_site_gives_the_facts_of_its_text() -> None:
    for place, code, facts in calls():
        assert code in CATALOGUE, f"{place} raises a code that is in no catalogue"
        needed = fields(CATALOGUE[code].text) | fields(CATALOGUE[code].remedy)
        assert facts is None or facts == needed, (
            f"{place}: {code} names {sorted(needed)}, the call gives {sorted(facts)}"
        )


def test_an_unknown_code_is_an_internal_error() -> None:
    with pytest.raises(KeyError):
        error("WF000")


def test_a_message_shows_text_place_and_remedy() -> None:
    facts = {"arch": "sm_1", "known": "a b", "near": " (did you mean a?)", "remedy": "name one of these"}
    made = error("WF401", where=Location("f.py", 3, "    x = 1\n"), **facts)
    assert str(made) == (
        "WF401: no target is called 'sm_1' (did you mean a?): expected one of a b\n"
        "  at f.py:3: x = 1\n  help: name one of these"
    )
    assert str(Location("f.py", 3)) == "f.py:3"


def test_a_message_without_place_or_remedy_has_no_empty_line() -> None:
    assert WarpfoldError("WF1", "text", "", None).render() == "WF1: text"


def test_errors_are_also_what_python_calls_them() -> None:
    pairs = [
        (errors.ArgumentError, ValueError), (errors.DTypeError, TypeError), (errors.TraceError, TypeError),
        (errors.PlanError, ValueError), (errors.FileError, OSError), (errors.BackendError, RuntimeError),
        (errors.EmulatorError, RuntimeError), (errors.CompileError, RuntimeError),
        (errors.MissingNameError, AttributeError), (errors.MissingModuleError, ImportError),
    ]  # fmt: skip
    for kind, builtin in pairs:
        assert issubclass(kind, WarpfoldError)
        assert issubclass(kind, builtin)


def test_a_file_error_shows_its_text_and_no_errno() -> None:
    made = error("WF501", path="a.npy", reason="no such file")
    assert isinstance(made, FileError)
    assert made.errno is None
    assert str(made) == (
        "WF501: cannot read a.npy: no such file\n  help: " + CATALOGUE["WF501"].remedy.format(path="a.npy")
    )


@pytest.mark.parametrize("code", ["WF101", "WF201", "WF404", "WF501"])
def test_errors_survive_pickling_and_copying(code: str) -> None:
    """Test runners and process pools send exceptions between processes."""
    facts = dict.fromkeys(fields(CATALOGUE[code].text) | fields(CATALOGUE[code].remedy), "x")
    made = error(code, where=Location("f.py", 3), **facts)
    for other in (pickle.loads(pickle.dumps(made)), copy.copy(made)):
        assert type(other) is type(made)
        assert (other.code, other.message, other.remedy, other.location, str(other)) == (
            made.code, made.message, made.remedy, made.location, str(made)
        )  # fmt: skip


def test_facts_with_braces_stay_as_they_are() -> None:
    assert isinstance(error("WF402", key="{x}", near="", known="{y}"), PlanError)
    assert "'{x}'" in str(error("WF402", key="{x}", near="", known="{y}"))
