"""Files, pipes and interruptions."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from command_line import SMALL, fails

from warpfold.cli import cli
from warpfold.commands import run as run_command
from warpfold.commands.output_file import Output
from warpfold.compiler.errors import WarpfoldError


def shell(*words: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "warpfold.cli", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **options)


def test_an_output_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    output = Output(str(path))

    def stops(f: Any) -> None:
        f.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        output.write(stops)
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
    assert path.read_text() == "old"


def test_a_full_disk_is_a_coded_error(tmp_path: Path) -> None:
    def full(_f: Any) -> None:
        raise OSError(28, "No space left on device")

    output = Output(str(tmp_path / "out"))
    with pytest.raises(WarpfoldError, match=r"WF505: cannot write .*out: No space left on device"):
        output.write(full)
    assert list(tmp_path.iterdir()) == []


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to("file")
    Output(str(tmp_path / "link")).write(lambda f: f.write(b"new"))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "new"


def test_an_input_is_never_replaced_by_the_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An input is recognised under any of its names."""
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.arange(12.0).reshape(3, 4))
    Path("link.npy").symlink_to("x.npy")
    for name in ("x.npy", "link.npy", str(tmp_path / "x.npy")):
        words = ("run", "sum", "--input", "x.npy", "--axis", "0", "--device", "emulator", "--output", name)
        assert f"WF505: cannot write {name}: it is an input of this command" in fails(*words)
    assert np.load("x.npy").shape == (3, 4)


def test_an_unwritable_output_is_found_before_the_work(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def never(*_: object) -> None:
        raise AssertionError("the work began")

    monkeypatch.setattr(run_command, "perform", never)
    assert "WF505" in fails("run", "sum", "--output", tmp_path / "no" / "out.npy")
    assert "WF505" in fails("run", "sum", "--output", tmp_path)


def test_a_pipe_gets_plain_text_and_exit_codes() -> None:
    done = shell("run", "sum", *SMALL, "--axis", "1")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    assert "\r" not in done.stdout
    assert all(line == line.rstrip() for line in done.stdout.splitlines())
    wrong = shell("run", "nosuch")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr.startswith("WF801: ")


def test_a_closed_pipe_is_no_traceback() -> None:
    command = (
        f"{sys.executable} -m warpfold.cli compile sum --shape 4096 --emit stages | head -n 1; exit ${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.startswith("// =====")
    assert "Traceback" not in done.stderr


def test_a_full_standard_output_is_a_coded_error() -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "warpfold.cli", "compile", "sum", "--shape", "4096", "--emit", "stages"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("WF505: cannot write standard output: No space left on device")


def test_an_array_given_as_an_argument_names_the_option_for_it() -> None:
    result = CliRunner().invoke(cli, ["run", "vecdot", "x.npy", "y.npy"])
    assert result.exit_code == 2
    assert "extra arguments (x.npy y.npy): name arrays by --input x.npy --input y.npy" in result.output
    result = CliRunner().invoke(cli, ["run", "sum", "4096"])
    assert result.exit_code == 2
    assert "extra argument (4096)\n" in result.output
    result = CliRunner().invoke(cli, ["doctor", "x.npy"])  # which has no such option
    assert result.exit_code == 2
    assert "extra argument (x.npy)\n" in result.output


@pytest.mark.parametrize("command", ["run", "explain", "tune", "profile"])
def test_a_shape_given_as_an_argument_names_the_option_for_it(command: str) -> None:
    result = CliRunner().invoke(cli, [command, "sum", "64x1000"])
    assert result.exit_code == 2
    assert "Error: Got unexpected extra argument (64x1000): give a shape by --shape 64x1000\n" in result.output
    result = CliRunner().invoke(cli, ["check", "own.py:f", "64x1000"])  # which may be a program of arrays
    assert result.exit_code == 2
    assert "extra argument (64x1000): give a shape by --shape 64x1000\n" in result.output
    result = CliRunner().invoke(cli, ["run", "sum", "64x1000", "x.npy"])
    assert result.exit_code == 2
    assert "(64x1000 x.npy)\n" in result.output


def test_ctrl_c_leaves_no_file(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    cache = tmp_path_factory.mktemp("interrupted")
    np.save(tmp_path / "x.npy", np.ones(1 << 24, np.float32))  # a minute, on a machine that has others to serve, too
    command = [sys.executable, "-m", "warpfold.cli", "run", "logsumexp", "--input", "x.npy", "--output", "out.npy",
               "--device", "emulator", "--plan", "vector=1,unroll=1,lanes=1,warps=1"]  # fmt: skip
    environment = {**os.environ, "WARPFOLD_CACHE_DIR": str(cache)}
    pipes: dict[str, Any] = {"stderr": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # what runs in the background ignores it
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, preexec_fn=heard, **pipes)
    while not list(cache.rglob("*.warpfold")):  # compiled: what follows takes long
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert (out, err) == ("", "interrupted: no result was written\n")
    assert [p.name for p in tmp_path.iterdir()] == ["x.npy"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [(("var", "--param", "correction=1"), np.var([1.0, 2, 4], ddof=1)), (("norm", "--param", "ord=inf"), 4.0),
     (("norm", "--param", "ord=1"), 7.0), (("sum", "--param", "dtype=f64", "--param", "initial=0.5"), 7.5)],
)  # fmt: skip
def test_parameters_reach_the_operation(tmp_path: Path, words: tuple[str, ...], expected: float) -> None:
    np.save(tmp_path / "x.npy", np.array([1.0, 2, 4]))
    result = CliRunner().invoke(
        cli, ["run", *words, "--input", str(tmp_path / "x.npy"), "--json", "--device", "emulator"]
    )
    assert result.exit_code == 0, result.output
    assert json.loads(result.output)["results"][0]["value"] == pytest.approx(expected, rel=1e-14)
