"""The documents are true: programs run, links and files exist, and the IR is what the compiler prints."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import warpfold as wf
from warpfold.cli import cli

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


def test_the_python_of_the_readme_prints_its_comments(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
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
    """The commands without times whose output does not depend on the device; the page has them for both devices."""
    monkeypatch.setenv("WARPFOLD_CACHE_DIR", str(tmp_path))
    monkeypatch.chdir(ROOT / "examples")
    result = CliRunner().invoke(cli, shlex.split(words), catch_exceptions=False)
    assert result.stdout.strip() == printed.strip()


def test_the_first_run_on_the_emulator_is_what_the_script_prints() -> None:
    """The first half of the page, except for times."""
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
        words = " ".join(re.findall(r"`([^`\n]+(?:\n[^`\n]+)?)`", text))
        for name in re.findall(r"(?<![\w/.<-])(?:[\w.-]+/)+[\w.-]+\.(?:py|md|mlir|ptx|cu|json|txt|sh)\b", words):
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
