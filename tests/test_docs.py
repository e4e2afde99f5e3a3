"""The documents say what is so: README's Python runs, and the IR in docs/design.md is what the compiler prints."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from warpfold.cli import cli
from warpfold.compiler import columns, period, rows, split, staged, staggered
from warpfold.compiler.access import MANY
from warpfold.compiler.plan import LARGEST_CLUSTER
from warpfold.compiler.target import WARP

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
DESIGN = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
FIRST_RUN = (ROOT / "docs" / "first-run.md").read_text(encoding="utf-8")
_TIME = re.compile(r"[\d.]+ (us|ms|s) \(")
_COMMAND = r"\$ warpfold (explain [^\n]*|check [^\n]*|compile [^\n]* --emit program)\n(.*?)\n(?=\n\$ )"
SHOWN = sorted(set(re.findall(_COMMAND, FIRST_RUN, re.DOTALL)))
BLOCKS = re.findall(r"```mlir ([\w-]+)\n(.*?)```", DESIGN, re.DOTALL)


@pytest.fixture(scope="module")
def stages() -> dict[str, str]:
    """The IR after every pass of the command that docs/design.md names."""
    command = re.search(r"`warpfold (compile .* --emit stages)`", DESIGN)
    assert command is not None
    result = CliRunner().invoke(cli, shlex.split(command[1]), catch_exceptions=False)
    assert result.exit_code == 0
    parts = re.split(r"// ===== after ([\w-]+) =====\n", result.stdout)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize(("stage", "block"), BLOCKS, ids=[name for name, _ in BLOCKS])
def test_the_ir_in_the_design_is_what_the_compiler_prints(stage: str, block: str, stages: dict[str, str]) -> None:
    """Each line, or its beginning, must follow the line before; ``...`` skips lines."""
    printed = [line.strip() for line in stages[stage].splitlines()]
    at, skipping = 0, True
    for line in filter(None, map(str.strip, block.splitlines())):
        if line == "...":
            skipping = True
            continue
        found = next((i for i in range(at, len(printed)) if printed[i].startswith(line)), None)
        assert found is not None, f"after {stage}, the compiler prints no {line!r}"
        assert skipping or found == at, f"after {stage}, {line!r} does not follow the line before"
        at, skipping = found + 1, False


def test_the_classes_of_the_design_are_those_of_the_planner() -> None:
    def row(name: str, *pairs: Any) -> str:
        most, threads = (", ".join(str(pair[i]) for pair in pairs) for i in (0, 1))
        return f"| reduced | {name} | {threads} threads | rows of up to {most}"

    long = rows.THREADS_A_ROW_OF_LONG[rows.LONG_COMBINE]
    kib = (split.CLUSTER_FROM >> 10, split.CLUSTER_TO >> 10)
    for text in (
        row("thread, a few lanes, warp, four warps", *rows.THREADS_A_ROW) + " wide accesses |",
        row("single elements", *rows.THREADS_OF_BYTES) + f" bytes; a warp up to {rows.WARP_TO} elements |",
        f"of up to {rows.ONE}, {rows.FOUR} accesses for each element of one, {rows.MOST_OF_A_WARP} in all |",
        f"| CTA | {split.THREADS} threads, ",
        f"| {LARGEST_CLUSTER} CTAs of {split.CLUSTER_WARPS * WARP} threads | rows of {kib[0]} to {kib[1]} KiB, ",
        f"| tile | a thread or a few lanes, in a copy of {staged.TILE >> 10} KiB | ",
        f"| rows of up to {staged.ROW} bytes, and middle axes with up to {staged.ROWS} in a unit, ",
        f"; arrays of {staged.TILES} copies an SM and more |",
        f"One for an array of {MANY >> 20} Mi elements or more with one reduced dim has just its dims",
        f"| several dims | {rows.LANES_OF_SEVERAL_DIMS} threads, or a CTA |",
        f"| up to {columns.SHORT} elements a result, ",
        f"of elements of at most {columns.WRITTEN} times a result's bytes |",
        f"| all threads of a CTA, of {period.WARPS[0][1]}, {period.WARPS[1][1]} or {period.FEWEST} warps | ",
        f"rows without gaps of up to {period.WARPS[0][0]}, {period.COLUMNS} columns ",
        f"; arrays of {period.LEAST >> 20} MiB and more |",
        row(f"accesses of {rows.LONG_COMBINE} operations or more", *rows.THREADS_A_ROW_OF_LONG[1]) + " wide accesses |",
        row(f"combines of {rows.LONG_COMBINE} operations or more", *long) + " wide accesses |",
        f"| few rows | 1 thread, for as many results as {columns.WRITES} bytes hold | "
        f"short ones of up to {columns.FEW_ROWS} elements, ",
        f"; bytes, and up to {columns.FEW_ROWS} elements that begin anywhere, "
        f"are read by {columns.HALF} bytes at most |",
        f"| staggered | {split.THREADS // WARP} warps, for up to {staggered.WIDEST} results a lane | ",
        f" have accesses for {staggered.LANES} lanes, of at least {staggered.STEPS} unrolled steps; "
        f"arrays of {MANY >> 20} Mi elements and more |",
        f"of those that take within {split.UNEVEN - 1:.0%} of the least time".replace("%", " %"),
    ):
        assert text in DESIGN or text in " ".join(DESIGN.split())


def test_the_python_of_the_readme_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WARPFOLD_CACHE_DIR", str(tmp_path))
    (block,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    printed: list[Any] = []
    source = tmp_path / "readme.py"  # a file, so that traced lines have a source
    source.write_text(block)
    names: dict[str, Any] = {"print": lambda *values: printed.extend(values)}
    exec(compile(block, str(source), "exec"), names)
    x = names["x"]
    rows, (high, place, whole), shape, deviation = printed
    np.testing.assert_allclose(rows.total, x.sum(axis=1) / 2, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(rows.rms, np.sqrt((x * x).mean(axis=1)), rtol=1e-4)
    assert (high, place) == (x.max(), x.argmax())
    np.testing.assert_allclose((whole.total, whole.rms), (x.sum(), np.sqrt((x * x).mean())), rtol=1e-4, atol=1e-3)
    assert shape == (x.shape[1],)
    np.testing.assert_allclose(deviation, x.std(), rtol=1e-5)


@pytest.mark.parametrize(("words", "printed"), SHOWN, ids=lambda text: text.partition("\n")[0])
def test_the_first_run_is_what_the_commands_print(
    words: str, printed: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Those that neither time anything nor depend on the device; the page has them for both devices."""
    monkeypatch.setenv("WARPFOLD_CACHE_DIR", str(tmp_path))
    monkeypatch.chdir(ROOT / "examples")
    result = CliRunner().invoke(cli, shlex.split(words), catch_exceptions=False)
    assert result.stdout.strip() == printed.strip()


def test_the_first_run_on_the_emulator_is_what_the_script_prints() -> None:
    """The page's first half, whole, but for times."""
    shown = re.search(r"<!-- begin: examples/first_run.sh emulator -->\n```console\n(.*?)```", FIRST_RUN, re.DOTALL)
    assert shown is not None
    environment = {**os.environ, "PYTHON": sys.executable, "COLUMNS": "120"}
    command = ["bash", str(ROOT / "examples" / "first_run.sh"), "emulator"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=True)
    printed, expected = (_TIME.sub("TIME (", text).strip() for text in (done.stdout, shown[1]))
    assert printed.splitlines() == expected.splitlines()


@pytest.mark.parametrize(
    "document",
    ["README.md", "CONTRIBUTING.md", *(f"docs/{page.name}" for page in sorted((ROOT / "docs").glob("*.md")))],
)
def test_links_and_named_files_exist(document: str) -> None:
    path = ROOT / document
    for link in re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8")):
        assert (path.parent / link).exists(), f"{document} links to {link}"


def test_the_test_command_of_the_readme_is_what_ci_runs() -> None:
    assert "make check" in README
    assert "make check" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
