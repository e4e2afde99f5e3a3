"""The documents say what is so: programs run, links and files exist, and the IR is what the compiler prints."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import warpfold as wf
from warpfold.cli import cli
from warpfold.compiler.plan import tiles
from warpfold.compiler.plan.plan import LARGEST_CLUSTER
from warpfold.compiler.planner import columns, limits, split
from warpfold.compiler.planner.alignment import MANY, WIDEST
from warpfold.compiler.planner.layouts import (
    blocks,
    runs,
    short_runs,
    tiled,
)
from warpfold.compiler.planner.layouts import factored as both
from warpfold.compiler.planner.layouts import padded_rows as padded
from warpfold.compiler.planner.layouts import periods as period
from warpfold.compiler.planner.layouts import staggered_columns as staggered
from warpfold.compiler.planner.limits import LONG_COMBINE as LONG
from warpfold.compiler.planner.rows import half_accesses
from warpfold.compiler.planner.rows import plan as rows
from warpfold.compiler.planner.rows import threads as row_threads
from warpfold.compiler.target import WARP

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
DESIGN = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
FUNCTIONS = (ROOT / "docs" / "functions.md").read_text(encoding="utf-8")
FIRST_RUN = (ROOT / "docs" / "first-run.md").read_text(encoding="utf-8")
_TIME = re.compile(r"[\d.]+ (us|ms|s) \(")
_COMMAND = r"\$ warpfold (explain [^\n]*|check [^\n]*|compile [^\n]* --emit program)\n(.*?)\n(?=\n\$ )"
SHOWN = sorted(set(re.findall(_COMMAND, FIRST_RUN, re.DOTALL)))
FILES = [
    file.relative_to(ROOT).as_posix()
    for folder in sorted(ROOT.iterdir())
    if not folder.name.startswith(".") and folder.name not in ("build", "dist")
    for file in (folder.rglob("*") if folder.is_dir() else [folder])
]
PAGES = [file for file in FILES if file.endswith(".md")]
Steps = tuple[tuple[float, int], ...]
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


def listed(values: Iterable[Any]) -> str:
    return ", ".join(map(str, values))


def by_bytes(found: dict[int, Any], words: str = "") -> str:
    """Numbers of which each is for elements of so many bytes."""
    return f"{listed(found.values())} {words}for elements of {listed(found)} bytes"


def row(name: str, steps: Steps, how: str = "") -> str:
    """How the table's row begins of a class whose rows get so many threads, if they are at most so long."""
    most, threads = zip(*steps, strict=True)
    return f"| reduced | {name} | {listed(threads)} threads{how} | rows of up to {listed(most)}"


def of_accesses() -> tuple[str, ...]:
    each = (limits.STATE_LIMIT // 2, limits.STATE_LIMIT // 4)
    least, shifted = (limits.NARROWEST["reduced"], limits.NARROWEST["kept"]), limits.SHIFTED
    long = limits.SHIFTED_OF_LONG
    return (
        f"Along rows they take {limits.STATE_LIMIT} registers at most, and accesses are halved, "
        f"down to {least[0]} bytes, until the states of {limits.UNROLL_BEFORE_WIDTH} of them "
        f"take {limits.VALUES_LIMIT}: ",
        f"states take {each[0]} registers, or {each[1]} where each has {columns.SEVERAL} or more",
        f"of {least[0]} bytes at least; along columns, or where several dims are reduced, of {least[1]}.",
        f"in rows of fewer than {by_bytes(shifted, 'accesses ')}, which would not pay for the masks ",
        f"where a combine has {LONG} operations or more, ",
        f"in rows of fewer than {listed(long[LONG].values())} elements, ",
        f"and of {limits.LONGER_COMBINE} or more, {listed(long[limits.LONGER_COMBINE].values())}.",
        f"Staggered warps have up to {by_bytes(staggered.IN_FLIGHT)}, {staggered.OF_TRUTHS} for truth values",
        f"A *wide* access is one of {WIDEST} bytes",
        f"One for an array of {MANY >> 20} Mi elements or more has just its dims",
    )


def of_rows() -> tuple[str, ...]:
    found = row_threads
    long, wide = found.THREADS_A_ROW_OF_LONG, " wide accesses |"
    by_halves = f", by {half_accesses.HALF} bytes at a time"
    shifted = (
        f"{listed(threads)} threads up to {listed(most)} for elements of {item} bytes"
        for item, steps in found.THREADS_OF_SHIFTED.items()
        for most, threads in [zip(*steps, strict=True)]
    )
    kib = (split.CLUSTER_FROM >> 10, split.CLUSTER_TO >> 10)
    return (
        row("thread, a few lanes, warp, four warps", found.THREADS_A_ROW) + wide,
        row("pairs of bytes", found.THREADS_A_ROW_OF_PAIRS) + wide,
        row("simple pairs of bytes", found.THREADS_A_ROW_OF_SIMPLE_PAIRS)
        + " wide accesses, of states of one value without a number |",
        row("words", found.THREADS_A_ROW_OF_WORDS) + " wide accesses, of states of one register without a number |",
        row("numbered bytes", found.THREADS_OF_NUMBERED) + wide,
        row("numbered bytes, shifted", found.THREADS_OF_SHIFTED_NUMBERED, by_halves) + " wide accesses that begin ",
        f"those of more than {found.THREADS_A_ROW[3][0]} and up to {found.OF_ONE_WARP} wide accesses, but of bytes |",
        row(f"accesses of {LONG} operations or more", long[1]) + wide,
        row(f"combines of {LONG} operations or more", long[LONG]) + wide,
        row(
            f"pairs of bytes, combines of {limits.LONGER_COMBINE} operations or more",
            found.THREADS_A_ROW_OF_LONGER[2],
        )
        + wide,
        row(f"8 bytes, combines of {limits.LONGER_COMBINE} operations or more", found.THREADS_A_ROW_OF_LONGER[8])
        + wide,
        f"where rows have up to {found.LITTLE_MORE} times as many as the {found.RESIDENT_OF_LONGER} an SM ",
        row("single elements, long combines", found.THREADS_OF_SINGLE_LONG)
        + f" elements, of combines of {LONG} operations or more |",
        row("words of bytes", half_accesses.ALIGNED, by_halves) + " bytes that are added, joined or compared, ",
        row("narrow", half_accesses.OTHERS, by_halves) + " bytes that begin anywhere, ",
        f", of pairs of bytes up to {half_accesses.OF_PAIRS}, ",
        f"; of truth values 8 threads up to {half_accesses.SHIFTED_TRUTHS[3][0]}, and a warp up to "
        f"{half_accesses.SHIFTED_TRUTHS[-1][0]} |",
        row("single elements", found.THREADS_OF_BYTES) + f" bytes; a warp up to {found.WARP_TO} elements |",
        f"| shifted | 1, 4, {WARP}, {half_accesses.ROW} threads | rows that begin anywhere, of up to {found.ONE}, "
        f"{found.FOUR} accesses for each element of one, {by_bytes(found.MOST_OF_A_WARP, 'in all ')}, "
        f"{found.MOST_OF_A_ROW} in all; "
        f"of states of one value without a number {listed(shifted)}; the last two as above ",
        f"| CTA | {split.THREADS} threads, ",
        f"have {2 * split.THREADS} threads where states are of one register or as wide as elements are, "
        f"and {rows.LIFTED} operation at most makes ",
        f"| {LARGEST_CLUSTER} CTAs of {split.CLUSTER_WARPS * WARP} threads | rows of {kib[0]} to {kib[1]} KiB, ",
        "| several dims | 8, 32, 128 threads | dims that did not merge: ",
        *(f"{threads} for up to {most} " for most, _, threads in found.THREADS_OF_SEVERAL_DIMS),
        "| by runs | 4 to 32 lanes a run, by 8 or 16 bytes, ",
        f"longer ones a warp; {split.THREADS // WARP} warps a result, or of {runs.ALONE} warps of results an SM one | ",
        f"of these rows those whose runs, of {runs.SHORTEST[1]} bytes and more or {runs.SHORTEST[2]} pairs "
        f"of bytes, or as below, ",
        f", and of {runs.OF_NARROW} elements and more by accesses of {runs.NARROW} bytes or less; ",
        f"; {split.THREADS // WARP} warps a result of {short_runs.MANY} runs and more | "
        f"runs of up to {short_runs.TABLES['beside'][-1].most} bytes; "
        f"those of bytes that are added, joined or compared from {runs.IN_WORDS} on, and of {runs.TINY.start} to "
        f"{runs.TINY.stop - 1} where a result has up to {runs.FEW}; of pairs of bytes, with a state of one register "
        f"and less than {short_runs.MANY} runs a result, from {runs.PAIRS} to {short_runs.TABLES['pairs'][-1].most} |",
    )


def of_tiles() -> tuple[str, ...]:
    steps = [zip(*found[:-1], strict=True) for found in tiled.WIDTHS.values()]  # the last is for all longer rows
    pairs, truths, added = tiled.PAIRS_IN_PLACE, tiled.TRUTHS_IN_PLACE, tiled.ADDED_IN_PLACE
    of_bytes, of_pairs = (f"of up to {listed(most)} bytes by {listed(width)} at a time" for most, width in steps)
    return (
        f"so a copy that is read so has {tiles.BEYOND} bytes more, which are zeros",
        f"| tile | a thread or a few lanes, in a copy of {tiled.TILE >> 10} KiB | "
        f"rows of up to {tiled.ROW} bytes, and middle axes with up to {tiled.ROWS} in a unit, ",
        f", but for elements of {listed(tiled.GAP)} bytes in rows with gaps of an eighth and more; "
        f"not middle axes aligned for words of pairs of bytes, of up to {pairs[1]} of them or in rows of {pairs[2]} "
        f"bytes, of truth values and bytes that are compared, {truths[1]} and {truths[2]}, or of bytes that are added, "
        f"from {added[0]} on in rows "
        f"of {added[2]}; arrays of {tiled.TILES} copies an SM and more |",
        f"of these rows those of bytes and pairs of them, of up to {tiled.ROW_OF_NARROW} bytes: "
        f"bytes that are added, joined or compared, {of_bytes}, pairs of bytes {of_pairs}, "
        f"longer ones by {tiled.WIDTHS[1][-1][1]}, or by {tiled.HALF} where they lie whole accesses apart; "
        f"other bytes, and those that are compared up to {tiled.FEW_COMPARED} of them, by {tiled.WORD}, "
        f"from {tiled.IN_WORDS} on, numbered ones by {tiled.HALF}, "
        f"from {tiled.FEW_WORDS * tiled.HALF} on, in rows of up to {tiled.ROW_OF_NUMBERED} bytes, "
        f"or of less than {tiled.NUMBERED} where they lie whole accesses apart |",
    )


def of_columns() -> tuple[str, ...]:
    kib = [n >> 10 for n in columns.LONG_ROWS.values()]
    beside = ", ".join(map(str, columns.HEAVY_LANES.values()))
    return (
        f"have aligned accesses of {both.WIDE} bytes and more in rows of {both.LONG} elements of both and more, "
        f"or if narrower than {both.NARROW} bytes any of several, of runs of less than {both.LONG_RUNS} elements, ",
        f"; large arrays that have {both.OFTEN} bytes for each of a state, ",
        f"| short | 1 thread | up to {columns.SHORT} elements a result, ",
        f"| written | 1 thread, for as many results as {WIDEST} bytes hold | "
        f"the same, of elements of at most {columns.WRITTEN} times a result's bytes; ",
        f"they are read by {columns.HALF} bytes at most, or two at a time |",
        f"| few rows | 1 thread, for as many results as {columns.WRITES} bytes hold | "
        f"short ones of up to {columns.FEW_ROWS} elements, ",
        f"; bytes are read by {columns.HALF} at most, truth values by whole accesses one at a time, "
        f"of a middle axis up to {columns.FEW_TRUTHS} rows; ",
        f"by whole accesses: up to {columns.FEW_ROWS} elements with {2 * columns.ANYWHERE[4][1]} in flight, up to "
        f"{columns.ANYWHERE[2][0]} of two bytes with {columns.ANYWHERE[2][1]}, more with {limits.UNROLL_BEFORE_WIDTH}; "
        f"truth values with 2, from {columns.TWO_OF_TRUTHS + 1} rows on with 1; "
        f"bytes by {columns.HALF}, from {columns.FEWEST} elements on; ",
        f"| padded | 1 thread, for as many results as an access has elements | rows of results that are no multiple of "
        f"two or four columns, of simple combines of narrow elements and of f32, "
        f"with 2 to {padded.TRUTHS[-1].elements} elements each; ",
        f"| crowded | {columns.SHARING} warps, for up to {columns.CROWDED} results a thread | "
        f"short ones of middle axes, of at least {columns.CROWD} rows of up to {columns.CROWD} bytes |",
        f"| long | {split.THREADS // WARP} warps, and more CTAs ",
        f"| heavy | {split.THREADS // WARP} warps, with {beside} lanes side by side for elements of 1, 2, 4, 8 bytes, "
        f"and {limits.UNROLL} accesses in flight | ",
        f", and of combines of {LONG} operations or more, in aligned accesses ",
        f"of up to {columns.HEAVY_ELEMENTS} elements; arrays of {columns.HEAVY >> 20} MiB and more |",
        f", for {columns.BUSY * 4:.0f} quarters of them at least | several kept dims ".replace("3", "three"),
        f"; lanes side by side read {columns.LINE} bytes, or are {columns.ACROSS} at least in large arrays ",
        f"by {columns.HALF} bytes at a time | rows of {kib[0]} KiB of bytes and {kib[1]} KiB of pairs of them, ",
        f"of those that take within {split.UNEVEN - 1:.0%} of the least time".replace("%", " %"),
    )


def of_whole_rows() -> tuple[str, ...]:
    of, heavy = blocks.OTHERS, blocks.HEAVY
    return (
        f"| whole | 1 thread, for 2 to 16 results: as many as fill whole accesses, of {blocks.BEST} bytes at most ",
        f", of up to {blocks.MOST} bytes a thread: of truth values and other bytes, of up to {of[1].nbytes} bytes "
        f"a thread, or {blocks.TRUTHS.elements} and {of[1].elements} elements a row; "
        f"of pairs of bytes {of[2].nbytes}, or {of[2].elements}; of 4 and 8 bytes {of[4].nbytes} and {of[8].nbytes}; "
        f"of states of several values and of long combines {', '.join(str(r.nbytes) for r in heavy.values())}, "
        f"or of 1 and 2 bytes {heavy[1].elements} elements; ",
    )


def of_walks() -> tuple[str, ...]:
    lanes = (staggered.LANES, staggered.LANES_OF_BYTES)
    small = ", ".join(str(n >> 20) for n in staggered.SMALLEST.values())
    return (
        f"| all threads of a CTA, of {period.WARPS}, {period.WARPS_OF_FEW} or {period.FEWEST} warps, or "
        f"{period.LARGEST} | rows of up to {period.COLUMNS} columns, or {period.OF_WORDS} of bytes that are added or "
        f"compared, "
        f"with gaps of up to a quarter of a row those of {by_bytes(period.GAPPED)} bytes, ".replace(
            "bytes bytes", "bytes"
        ),
        f"; bytes that are added, joined or compared, and numbered elements of up to 2 bytes, are read by "
        f"{period.HALF} bytes at a time, other bytes by {period.WARPS_OF_FEW} warps at most for up to {period.FEW} "
        f"columns; of a middle axis no more warps than leave each thread {period.EACH} accesses, "
        f"{period.EACH_OF_BYTES} of bytes; ",
        f"; arrays of {period.LEAST >> 20} MiB and more |",
        f"| staggered | {split.THREADS // WARP} warps, by {staggered.WIDTH} bytes or two elements at a time | ",
        f", and of one or two bytes from {staggered.ALONE} elements a result on, ",
        f" have accesses for {lanes[0]} lanes, {lanes[1]} of bytes but for truth values and numbered ones, "
        f"of at least {staggered.STEPS} unrolled steps; arrays of {small} MiB and more ",
        f"for elements of 1, 2, 4, 8 bytes, {staggered.OF_PAIRS >> 20} for pairs of bytes ",
        " with states of several registers |",
        f"up to two other kept dims alike but for elements of {staggered.SINGLE} bytes, ",
    )


@pytest.mark.parametrize("texts", [of_accesses, of_rows, of_tiles, of_columns, of_whole_rows, of_walks])
def test_the_classes_of_the_design_are_those_of_the_planner(texts: Callable[[], tuple[str, ...]]) -> None:
    for text in texts():
        assert text in DESIGN or text in " ".join(DESIGN.split())


def test_the_python_of_the_readme_prints_what_its_comments_say(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WARPFOLD_CACHE_DIR", str(tmp_path))
    text = "\n".join(re.findall(r"```python\n(.*?)```", README, re.DOTALL))
    source = tmp_path / "readme.py"  # a file, so that traced lines have a source
    source.write_text(text)
    done = subprocess.run([sys.executable, str(source)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == re.findall(r"^print\(.*\)  # (.*)$", text, re.MULTILINE)


def test_the_sanitizer_of_the_readme_finds_the_race(monkeypatch: pytest.MonkeyPatch) -> None:
    """It names both lines of examples/race.cu, whose PTX is beside it."""
    monkeypatch.chdir(ROOT)
    (command,) = re.findall(r"^warpfold (sanitize .*)$", README, re.MULTILINE)
    result = CliRunner().invoke(cli, shlex.split(command))
    assert result.exit_code == 1
    assert "shared-race" in result.stdout
    lines = (ROOT / "examples" / "race.cu").read_text(encoding="utf-8").splitlines()
    for code in ("part[i] = x[i];", "if (i < d) part[i] += part[i + d];"):
        (number,) = (i for i, line in enumerate(lines, start=1) if line.strip() == code)
        assert f"source  examples/race.cu:{number}: {code}" in result.stdout


def test_every_public_name_is_on_the_page_of_functions() -> None:
    missing = [name for name in wf.__all__ if name != "__version__" and f"`{name}`" not in FUNCTIONS]
    assert not missing, f"docs/functions.md lacks {missing}"


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


@pytest.mark.parametrize("document", PAGES)
def test_links_and_named_files_exist(document: str) -> None:
    """Links are relative to the page. Files are named from the root, or from any folder by the end of their path."""
    path = ROOT / document
    text = path.read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (path.parent / link).exists(), f"{document} links to {link}"
    if path.parent.name != "log":  # whose files have the names of their time
        for name in re.findall(r"`((?:[\w.-]+/)+[\w.-]+\.(?:py|md|mlir|ptx|cu|json|txt|sh))`", text):
            assert any(file == name or file.endswith(f"/{name}") for file in FILES), f"{document} names {name}"


@pytest.mark.parametrize("document", PAGES)
def test_links_to_headings_exist(document: str) -> None:
    path = ROOT / document
    for page, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", path.read_text(encoding="utf-8")):
        target = (path.parent / page if page else path).read_text(encoding="utf-8")
        headings = {re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in re.findall(r"^#+ (.*)$", target, re.M)}
        assert anchor in headings, f"{document} links to {page}#{anchor}"


def test_the_test_command_of_the_readme_is_what_ci_runs() -> None:
    assert "make check" in README
    assert "make check" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
