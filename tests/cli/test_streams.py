"""Standard input, output and error that are closed, full, narrow, or left by their reader, under both commands."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from covering import some

from warpfold.compiler import standard_streams

RUN, OPT = "-m warpfold.cli", "-m warpfold.opt"
SMALL = "sum --shape 8 --device emulator"
FULL, CLOSED = "No space left on device", "it is closed"
NAMES = """
import warpfold as wf

@wf.monoid(identity=0.0)
def gr\u00f6\u00dfe(a, b):
    return a + b
"""


def shell(words: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """A command line of a shell; ``$RUN`` and ``$OPT`` are the commands."""
    env = {**os.environ, "RUN": f"{sys.executable} {RUN}", "OPT": f"{sys.executable} {OPT}", **environment}
    return subprocess.run(["bash", "-c", words], capture_output=True, timeout=120, check=False, env=env)


@pytest.fixture(scope="module")
def ir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ir") / "in.mlir"
    path.write_text("func.func @f() { return }")
    return path


@pytest.mark.parametrize("words", ["--help", "run --help", f"run {SMALL}"])
@pytest.mark.parametrize(("where", "reason"), [(">&-", CLOSED), (">/dev/full", FULL)])
def test_output_that_takes_nothing_is_a_coded_error(words: str, where: str, reason: str) -> None:
    done = shell(f"$RUN {words} {where}")
    assert done.returncode == 2
    assert done.stderr.decode().startswith(f"WF505: cannot write standard output: {reason}\n  help: ")
    assert len(done.stderr.splitlines()) == 2


@pytest.mark.parametrize("words", ["--help", "$FILE"])
@pytest.mark.parametrize(("where", "reason"), [(">&-", CLOSED), (">/dev/full", FULL)])
def test_output_that_takes_nothing_is_a_coded_error_of_warpfold_opt(
    words: str, where: str, reason: str, ir: Path
) -> None:
    done = shell(f"$OPT {words} {where}", FILE=str(ir))
    assert done.returncode == 1
    text = f"warpfold-opt: error: WF592: cannot write standard output: {reason}\n  help: "
    assert done.stderr.decode().startswith(text)
    assert len(done.stderr.splitlines()) == 2


LEFT = """
import os, sys
reader, writer = os.pipe()
os.close(reader)
os.dup2(writer, 1)
os.execvp(sys.executable, [sys.executable, *sys.argv[1:]])
"""
"""A program whose standard output is a pipe that nobody reads, however little it writes."""


@pytest.mark.parametrize(
    "words",
    some([f"{RUN} --help", f"{RUN} check --help", f"{RUN} run {SMALL}", f"{RUN} doctor", f"{OPT} --help",
     f"{OPT} --list-passes"], 3),
)  # fmt: skip
def test_a_closed_reader_ends_a_command_silently(words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LEFT, *words.split()], stderr=subprocess.PIPE, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("where", ["2>&-", "2>/dev/full"])
def test_a_closed_standard_error_leaves_exit_codes_and_results(where: str, tmp_path: Path) -> None:
    """No error text appears in the output, nor in a file that was opened meanwhile."""
    done = shell(f"$RUN run {SMALL} {where}")
    assert done.returncode == 0
    assert b"check    passed" in done.stdout
    for words, code in (("$RUN run nosuch", 2), ("$RUN nosuch", 2), ("$OPT none.mlir", 1), ("$OPT --nosuch", 2)):
        done = shell(f"{words} {where}")
        assert (done.returncode, done.stdout) == (code, b""), words
    done = shell(f"$RUN compile sum --shape 8 --emit ptx -o $OUT >&- {where}", OUT=str(tmp_path / "k.ptx"))
    assert done.returncode == 0  # which prints nothing
    assert (tmp_path / "k.ptx").read_text().startswith("//\n// Generated")


def test_ir_that_is_printed_between_passes_stays_out_of_the_output(ir: Path) -> None:
    done = shell("$OPT $FILE --mlir-print-ir-after-all --pass-pipeline='builtin.module(cse)' 2>&-", FILE=str(ir))
    assert done.returncode == 0
    assert done.stdout.startswith(b"module")


def test_input_that_is_closed(ir: Path) -> None:
    assert shell(f"$RUN run {SMALL} <&-").returncode == 0
    done = shell("$OPT <&-")
    assert done.returncode == 1
    assert done.stderr.startswith(b"warpfold-opt: error: WF591: cannot read standard input: it is closed")
    done = shell("$OPT < $FILE 2>&-", FILE=str(ir))
    assert done.stdout.startswith(b"module")


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
)
def test_characters_that_the_terminal_cannot_print_are_escaped(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(NAMES, encoding="utf-8")
    for words in ("run {} --shape 8 --device emulator", "check {}"):
        done = shell("$RUN " + words.format(f"{tmp_path}/own.py:gr\u00f6\u00dfe"), **environment)
        assert (done.returncode, done.stderr) == (0, b""), words
        assert rb"gr\xf6\xdfe of f32" in done.stdout, words
    done = shell(f"$RUN run {tmp_path}/own.py:gr\u00f6\u00df --shape 8", **environment)
    assert done.returncode == 2
    assert done.stderr.startswith(b"WF806: ")


def test_ir_is_utf8_whatever_the_terminal_has(tmp_path: Path) -> None:
    text = 'func.func @f() attributes {name = "gr\u00f6\u00dfe"} { return } // \u00f6'
    (tmp_path / "in.mlir").write_text(text, encoding="utf-8")
    done = shell("$OPT < $FILE; $OPT $FILE", FILE=str(tmp_path / "in.mlir"), PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, b"")
    first, second = done.stdout.decode().split("module {")[1:]
    assert first == second
    assert "@f()" in first


def test_streams_that_the_caller_replaced_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, io.StringIO())
    before = sys.stdin, sys.stdout, sys.stderr
    standard_streams.settle()
    assert (sys.stdin, sys.stdout, sys.stderr) == before
