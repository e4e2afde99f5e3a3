"""``warpfold run --chunk``: results are those of whole arrays, and a run that was stopped goes on."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import warpfold as wf
from warpfold.cli import cli
from warpfold.commands.chunks import keeper, pieces, run
from warpfold.compiler.errors import FileError

X = np.random.default_rng(0).standard_normal((50, 7, 3)).astype(np.float32)


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "x.npy"
    np.save(path, X)
    return str(path)


def called(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["run", *arguments, "--device", "emulator"])


@pytest.mark.parametrize(
    ("what", "axis", "wanted"),
    [
        ("mean", "0,1,2", X.mean()), ("argmax", "0", X.argmax(0)), ("var", "0,2", X.var((0, 2))),
        ("sum", "1", X.sum(1)), ("max", "1,2", X.max((1, 2))),
    ],
)  # fmt: skip
def test_results_are_those_of_the_whole(file: str, tmp_path: Path, what: str, axis: str, wanted: Any) -> None:
    out = tmp_path / "out.npy"
    done = called(what, "--input", file, "--axis", axis, "--chunk", "1KiB", "--output", str(out), "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["chunks"] == 5
    np.testing.assert_allclose(np.load(out), wanted, rtol=1e-5)


@pytest.mark.parametrize("mapped", [True, False])
@pytest.mark.parametrize(("order", "axis"), [("C", 0), ("F", 2)])
def test_pieces_of_arrays_in_both_orders(order: Any, axis: int, mapped: bool, tmp_path: Path) -> None:
    """Of a map of a file, and of an array in memory."""
    np.save(tmp_path / "x.npy", np.asarray(X, order=order))
    found = pieces.Pieces.of([np.load(tmp_path / "x.npy", mmap_mode="r" if mapped else None)], 1000)
    assert found.axis == axis
    for threads in (0, 2):
        got = list(found.after(1, lambda at, read: (at, *(x.copy() for x in read)), threads))
        ends = [behind for behind, _ in got]
        assert ends[-1] == X.shape[axis]
        assert [at for _, (at, _) in got] == [1, *ends[:-1]]
        read = np.concatenate([p for _, (_, p) in got], axis=axis)
        np.testing.assert_array_equal(read, np.take(X, range(1, X.shape[axis]), axis))


def test_a_file_that_is_cut_short_in_the_meantime(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, X)
    found = pieces.Pieces.of([np.load(path, mmap_mode="r")], 1000)
    os.truncate(path, 2000)
    with pytest.raises(FileError, match=r"WF507: .* is cut short or damaged: it ends at byte 2000 now"):
        list(found.after(0, lambda *_: None, 2))


def test_a_stopped_run_goes_on_with_the_same_bits(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, out = tmp_path / "kept.npz", tmp_path / "out.npy"
    request = ("var", "--input", file, "--axis", "0", "--chunk", "1KiB", "--output", str(out))
    assert called(*request).exit_code == 0
    straight = np.load(out)
    merge, calls = run.merge, []

    def stops(*args: Any) -> Any:
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return merge(*args)

    monkeypatch.setattr(run, "merge", stops)
    halted = called(*request, "--resume", str(kept))
    assert halted.exit_code != 0
    assert f"stopped at 72%; --resume {kept} goes on from there" in halted.output
    monkeypatch.setattr(run, "merge", merge)
    resumed = called(*request, "--resume", str(kept), "--json")
    assert json.loads(resumed.stdout)["chunks"] == 2
    np.testing.assert_array_equal(np.load(out), straight)


KILLED = """
import os, signal, sys
from warpfold.cli import main
from warpfold.commands.chunks import keeper, run
merge, calls = run.merge, []
def dies(*states):
    calls.append(states)
    if len(calls) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return merge(*states)
run.merge, keeper.BETWEEN = dies, -1.0
main()
"""


def test_a_killed_run_goes_on_with_the_same_bits(file: str, tmp_path: Path) -> None:
    kept, out = tmp_path / "kept.npz", tmp_path / "out.npy"
    request = ("sum", "--input", file, "--axis", "0,1", "--chunk", "1KiB", "--output", str(out))
    assert called(*request).exit_code == 0
    straight = np.load(out)
    killed = [sys.executable, "-c", KILLED, "run", *request, "--resume", str(kept), "--device", "emulator"]
    assert subprocess.run(killed, check=False).returncode == -signal.SIGKILL
    resumed = called(*request, "--resume", str(kept), "--json")
    assert json.loads(resumed.stdout)["chunks"] == 2
    np.testing.assert_array_equal(np.load(out), straight)


BOUNDED = """
import re, sys
from pathlib import Path
from click.testing import CliRunner
from warpfold.cli import cli
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) >> 10
def run(file, chunk):
    done = CliRunner().invoke(cli, ["run", "sum", "--input", file, "--chunk", chunk, "--device", "emulator"])
    assert done.exit_code == 0, done.output
small, large = sys.argv[1:]
run(small, "1MiB")
before = peak()
run(large, "8MiB")
print(peak() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc to read the peak of memory from")
def test_memory_is_that_of_some_chunks(tmp_path: Path) -> None:
    """A file of 256 MiB, which the disk need not hold, in chunks of 8 MiB: four at a time, and what they need."""
    for name, n in (("small", 1 << 20), ("large", 1 << 26)):
        np.lib.format.open_memmap(tmp_path / name, "w+", np.float32, (n,)).flush()
    files = [str(tmp_path / name) for name in ("small", "large")]
    done = subprocess.run([sys.executable, "-c", BOUNDED, *files], capture_output=True, text=True, check=False)
    assert int(done.stdout) < 128, done.stderr


def test_a_state_of_another_reduction_is_refused(file: str, tmp_path: Path) -> None:
    kept = tmp_path / "kept.npz"
    wf.partial(X, "max", axis=0, device="emulator").save(kept)
    done = called("sum", "--input", file, "--axis", "0", "--chunk", "1KiB", "--resume", str(kept))
    assert done.exit_code != 0
    assert f"WF163: {kept} holds a state of max, which is another reduction than sum" in done.output


def test_what_cannot_hold_a_state_is_found_before_the_work(file: str, tmp_path: Path) -> None:
    request = ("sum", "--input", file, "--axis", "0", "--chunk", "1KiB", "--resume")
    nowhere = str(tmp_path / "none" / "kept.npz")
    assert f"WF505: cannot write {nowhere}: " in called(*request, nowhere).output
    assert "WF505" in called(*request, "s.npy", "--output", "s.npy").output
    text = f"WF512: {file} holds no state of a reduction: it is no archive of arrays, as .npz files are, or is cut"
    assert text in called(*request, file).output


@pytest.mark.parametrize("terminal", [True, False])
def test_a_bar_moves_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
    seen = io.StringIO()
    monkeypatch.setattr(seen, "isatty", lambda: terminal, raising=False)
    monkeypatch.setattr(sys, "stderr", seen)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    with run._progress(10, 3) as advance:
        advance(10)
    assert ("reducing" in seen.getvalue(), "100%" in seen.getvalue()) == (terminal, terminal)


def stopped(monkeypatch: pytest.MonkeyPatch, kept: Path, *request: str) -> None:
    """A run of which three chunks are reduced."""
    merge, calls = run.merge, []

    def stops(*args: Any) -> Any:
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return merge(*args)

    with monkeypatch.context() as m:
        m.setattr(run, "merge", stops)
        assert called(*request, "--resume", str(kept)).exit_code != 0
    assert kept.exists()


def test_a_state_is_written_from_time_to_time(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, seen = tmp_path / "kept.npz", []
    monkeypatch.setattr(keeper, "BETWEEN", -1.0)
    monkeypatch.setattr(keeper, "save", lambda state, *_: seen.append(state.count))
    assert called("sum", "--input", file, "--chunk", "1KiB", "--resume", str(kept)).exit_code == 0
    assert seen == [252, 504, 756, 1008, 1050]


def test_a_run_that_ended_leaves_no_state(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, request = tmp_path / "kept.npz", ("sum", "--input", file, "--axis", "0", "--chunk", "1KiB")
    stopped(monkeypatch, kept, *request)
    resumed = called(*request, "--resume", str(kept), "--json")
    assert "resumed from 72%" in resumed.stderr
    assert not kept.exists()
    again = called(*request, "--resume", str(kept), "--json")
    assert (json.loads(again.stdout)["chunks"], again.stderr) == (5, "")


def test_a_state_of_other_elements_is_refused(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another file, other elements, another time of change: all of the shape and type that the state was made of."""
    kept, path = tmp_path / "kept.npz", Path(file)
    plain, times = path.read_bytes(), (path.stat().st_atime_ns, path.stat().st_mtime_ns)
    how = ("--axis", "0", "--chunk", "1KiB", "--resume", str(kept))
    stopped(monkeypatch, kept, "sum", "--input", file, *how[:4])

    def refused(text: str, *request: str) -> None:
        found = called("sum", "--input", *(request or (file,)), *how)
        assert f"WF854: {kept} holds a state that this run does not go on from: {text}" in found.output

    other = tmp_path / "y.npy"
    other.write_bytes(plain)
    os.utime(other, ns=times)
    refused("it was read from a file of the name x.npy, and the file here has y.npy", str(other))
    os.utime(path, ns=(times[0], times[1] + 1))
    refused("x.npy has changed since it was read")
    for at in (140, 128 + 84 * 17, 128 + 84 * 36 - 1):  # the first, one between and the last that the state has seen
        path.write_bytes(plain[:at] + bytes([plain[at] ^ 1]) + plain[at + 1 :])
        os.utime(path, ns=times)
        refused("x.npy has changed since it was read")
    np.save(path, np.concatenate([X, X]))
    refused("it was read from a file of so many bytes: 4328, and the file here has 8528")
    path.write_bytes(plain)
    os.utime(path, ns=times)
    moved = tmp_path / "moved"
    moved.mkdir()
    path.rename(moved / "x.npy")
    assert "resumed from 72%" in called("sum", "--input", str(moved / "x.npy"), *how).stderr
    path.write_bytes(plain)
    for start, text in ((0, "it does not name the files that it was read from"), (7, "it has elements 7 to 14 of a")):
        wf.partial(X[:7], "sum", axis=0, start=start, device="emulator").save(kept)
        refused(text)


def test_words(file: str) -> None:
    text = called("minmax", "--input", file, "--axis", "0,1", "--chunk", "1KiB").stdout
    assert "result min  f32[3]" in text
    assert "5 of 12 along axis 0; not checked, since elements are read once" in text


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("sum", "--chunk", "1MiB"), "WF853: --chunk is for arrays of files: expected --input FILE"),
        (("sum", "--input", "X", "--resume", "s.npz"), "WF852: --resume is given without --chunk 256MiB"),
        (("sum", "--input", "X", "--chunk", "many"), "WF851: 'many' is no number of bytes: expected a number with"),
        (("softmax", "--input", "X", "--chunk", "1MiB"), "WF844: softmax is a program of arrays: --chunk is for"),
        (
            ("sum", "--input", "X", "--axis", "1", "--chunk", "1MiB", "--resume", "s.npz"),
            "WF855: --resume needs a state, and there is none: the arrays are cut along axis 0, which is kept",
        ),
    ],
)
def test_mistakes(file: str, arguments: tuple[str, ...], text: str) -> None:
    done = called(*(file if a == "X" else a for a in arguments))
    assert done.exit_code == 2
    assert text in done.output


def test_a_state_of_other_arrays_is_refused(file: str, tmp_path: Path) -> None:
    kept = tmp_path / "kept.npz"
    wf.partial(X[:, :4], "sum", axis=0, device="emulator").save(kept)
    done = called("sum", "--input", file, "--axis", "0", "--chunk", "1KiB", "--resume", str(kept))
    assert "WF854: " in done.output
    assert "it is of results of shape (4, 3) over axes (0,), and those here have (7, 3) over (0,)" in done.output


def test_columns_that_are_combined_in_order_of_rows(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.asfortranarray(X))
    done = called("sum", "--input", str(path), "--chunk", "1KiB")
    assert "WF850: the arrays lie in their files by axis 2" in done.output
