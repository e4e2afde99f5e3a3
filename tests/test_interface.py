"""The interface for type checkers and editors is that of the package; a user's program passes mypy and pyright."""

from __future__ import annotations

import ast
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import interface
import pytest
from numpys import COMPLETE

import warpfold as wf

ROOT = Path(__file__).parent.parent
GOOD = """\
from __future__ import annotations

import numpy as np

import warpfold as wf


@wf.monoid(identity=0.0, commutative=True)
def total(a: wf.Sym, b: wf.Sym) -> wf.Sym:
    return a + b


def signal(x: wf.Sym, *, scale: float = 1.0) -> dict[str, wf.Sym]:
    loud = wf.where(wf.abs(x) > 0.5, wf.clip(x, -1, 1), wf.sigmoid(x))
    return {"rms": wf.sqrt(wf.fold(wf.SUM, x * x * scale)), "loud": wf.fold(wf.MAX, loud)}


x = np.ones((3, 4), np.float32)
sums = wf.sum(x, axis=1, keepdims=True, nan="ignore")
low, high = wf.minmax(x)
spread = wf.mean_var(x, axis=(0, 1), correction=1).var
nonzero = wf.describe(x).nonzero
first, second = wf.reduce(x, ("sum", total), axis=0)
rms = wf.reduce(x, signal, scale=2.0)
compiled: wf.Compiled = wf.compile(total, x.shape, "f32", axis=1)
print(compiled.plan.lanes, compiled(x), compiled.ptx.splitlines())
kinds = wf.unique(np.zeros(3, np.uint8))
parts = wf.segment_reduce(x, [0, 3], "sum"), wf.segment_reduce(x, "sum", ids=[0, 0, 1], num_segments=2)
laws: wf.Laws = wf.check_monoid(total, "f32")
try:
    wf.load("file")
except wf.WarpfoldError as e:
    print(e.code)
reveal_type(wf.sum)
reveal_type(wf.minmax(x))
reveal_type(wf.reduce(x, ("sum", "max")))
reveal_type(wf.exp)
"""
SHOWN = {
    "wf.sum": r"\(x: Any, axis: int \| .*Sequence\[int\] \| None.*, \*, dtype: .*keepdims: bool.*out: Any.*where: Any",
    "wf.minmax": r"tuple\[Any, Any, fallback=.*_Minmax\]|_Minmax",
    "wf.reduce": r"tuple\[Any, \.\.\.\]",
    "wf.exp": r"\(x: Any, \*, fast: bool.*\) -> .*Any",
}
BAD = {
    "wf.summm(1)": "summm", "wf.sum(1, axs=1)": "axs", "wf.var(1, ddof=1)": "ddof", "wf.SUMM": "SUMM",
    "wf.monoid(max)": "(?i)positional", "wf.minmax(1).mean": "mean", "wf.sum(1, 0, None)": "(?i)positional",
    "wf.exp(1, fst=True)": "fst", "wf.sum(1, keepdims='yes')": "keepdims|bool",
}  # fmt: skip
"""Mistakes, and what a checker says of each."""


def test_the_file_is_what_the_script_writes() -> None:
    assert interface.STUB.read_text(encoding="utf-8") == interface.text(), "run python tests/interface.py"


def test_the_interface_has_the_names_of_the_package() -> None:
    found: set[str] = set()
    for e in ast.parse(interface.STUB.read_text(encoding="utf-8")).body:
        if isinstance(e, ast.ImportFrom) and e.level:
            assert all(a.name == a.asname and hasattr(wf, a.name) for a in e.names), "what is not public is not here"
            found.update(a.name for a in e.names)
        elif isinstance(e, ast.FunctionDef):
            found.add(e.name)
        elif isinstance(e, ast.AnnAssign):
            found.add(ast.unparse(e.target))
    assert found == set(wf.__all__)


@pytest.mark.parametrize("name", COMPLETE)
def test_parameters_are_those_at_run_time(name: str) -> None:
    tree = ast.parse(interface.STUB.read_text(encoding="utf-8")).body
    (made,) = [e for e in tree if isinstance(e, ast.FunctionDef) and e.name == name] or [None]
    parameters = inspect.signature(getattr(wf, name)).parameters
    if made is None:
        assert name in interface.UNNAMED
        return
    assert [a.arg for a in (*made.args.args, *made.args.kwonlyargs)] == list(parameters)


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with a correct program, a wrong one, and the package."""
    (tmp_path / "good.py").write_text(GOOD, encoding="utf-8")
    (tmp_path / "bad.py").write_text("import warpfold as wf\n" + "".join(f"{line}\n" for line in BAD), encoding="utf-8")
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "warpfold").symlink_to(ROOT)
    return tmp_path


def test_mypy_accepts_a_program_and_reports_mistakes(programs: Path) -> None:
    """With --strict; errors in the package's own files do not concern users."""
    ini = f"[mypy]\nmypy_path = {programs}/path\n[mypy-warpfold.*]\nignore_errors = true\n"
    (programs / "mypy.ini").write_text(ini, encoding="utf-8")
    words = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", ROOT / ".mypy_cache" / "user"]
    found = subprocess.run([*words, "good.py", "bad.py"], cwd=programs, capture_output=True, text=True)
    said = [re.match(r"(\w+)\.py:(\d+): (\w+): (.*)", line) for line in found.stdout.splitlines()]
    check([(m[1], int(m[2]), m[3] == "error", m[4]) for m in said if m])


def test_pyright_accepts_a_program_and_reports_mistakes(programs: Path) -> None:
    pytest.importorskip("pyright", reason="pyright is not installed")
    settings = {"extraPaths": ["path"], "include": ["*.py"], "typeCheckingMode": "standard"}
    (programs / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    words = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "-p", str(programs)]
    try:
        found = subprocess.run(words, cwd=programs, capture_output=True, text=True, timeout=120)
        said = json.loads(found.stdout)["generalDiagnostics"]
    except (subprocess.TimeoutExpired, json.JSONDecodeError, KeyError):
        pytest.skip("pyright does not start: it is downloaded at its first use")
    places = [(Path(d["file"]).stem, d["range"]["start"]["line"] + 1) for d in said]
    check([(*p, d["severity"] == "error", d["message"]) for p, d in zip(places, said, strict=True)])


def check(said: list[tuple[str, int, bool, str]]) -> None:
    """Compares a checker's (program, line, whether an error, text): exactly the mistakes of the wrong program."""
    assert not [text for name, _, wrong, text in said if name == "good" and wrong]
    revealed = [text for name, _, wrong, text in said if name == "good" and ("Revealed" in text or "Type of" in text)]
    for found, expected in zip(revealed, SHOWN.values(), strict=True):
        assert re.search(expected, found), found
    errors = {line: text for name, line, wrong, text in reversed(said) if name == "bad" and wrong}
    assert sorted(errors) == list(range(2, 2 + len(BAD))), errors
    for line, (mistake, expected) in enumerate(BAD.items(), start=2):
        assert re.search(expected, errors[line]), (mistake, errors[line])
