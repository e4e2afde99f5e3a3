"""Reading and writing of files: whole or not at all, through links, and never a pipe or a device in place of a file."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold import opt
from warpfold.commands import emulated
from warpfold.commands.bench import versioned_file
from warpfold.commands.output_file import Output
from warpfold.commands.requests.operation import operation
from warpfold.compiler import files
from warpfold.compiler.errors import FileError
from warpfold.runtime import cache, tuned_plans
from warpfold.runtime.arrays import conversion as arrays


@pytest.fixture(autouse=True)
def _no_hang() -> Iterator[None]:
    """A test that waits for a pipe fails instead of blocking the run."""

    def late(*_: object) -> None:
        raise AssertionError("it hangs")

    old = signal.signal(signal.SIGALRM, late)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, old)


def artifact() -> wf.Compiled:
    return wf.compile("sum", (1000,))


def opt_into(path: Path) -> None:
    with tempfile.NamedTemporaryFile("w") as source:
        source.write("func.func @f() { return }")
        source.flush()
        if opt.main([source.name, "-o", str(path)]):
            raise FileError("WF592", "", "", None)


WRITERS: dict[str, Callable[[Path], object]] = {
    "artifact": lambda path: artifact().save(path),
    "output": lambda path: Output(str(path)).write(lambda f: np.save(f, np.arange(9.0))),
    "opt": opt_into,
}
"""What writes a file whose path the user gives; finds and artifacts of the cache are written as artifacts are."""


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664, 0o400])
def test_a_file_keeps_its_mode(writer: str, mode: int, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(mode)
    if not os.access(path, os.W_OK):
        pytest.skip("only root can write a file of this mode")
    WRITERS[writer](path)
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_bytes() != b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_a_new_file_has_the_mode_of_new_files(writer: str, mask: int, tmp_path: Path) -> None:
    old = os.umask(mask)
    try:
        WRITERS[writer](tmp_path / "file")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o666 & ~mask


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change the owner of a file")
def test_a_file_keeps_its_owner_and_its_group(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    os.chown(path, 1234, 2345)
    artifact().save(path)
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 2345)


@pytest.mark.parametrize("writer", WRITERS)
def test_a_link_stays_a_link(writer: str, tmp_path: Path) -> None:
    """Also one to a file that is not there yet, and one to a link."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "old").write_bytes(b"old")
    for name, target in (("a", "folder/old"), ("b", "folder/new"), ("c", "a")):
        (tmp_path / name).symlink_to(target)
        WRITERS[writer](tmp_path / name)
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / name).read_bytes()[:3] != b"old"
    assert sorted(p.name for p in (tmp_path / "folder").iterdir()) == ["new", "old"]


@pytest.mark.parametrize("writer", WRITERS)
def test_a_pipe_takes_what_is_written(writer: str, tmp_path: Path) -> None:
    WRITERS[writer](tmp_path / "file")
    os.mkfifo(tmp_path / "pipe")
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    while reader.is_alive() and not found:
        try:
            WRITERS[writer](tmp_path / "pipe")
            break
        except FileError:  # the reader has not opened it yet
            continue
    reader.join()
    assert found == [(tmp_path / "file").read_bytes()]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@pytest.mark.parametrize("writer", WRITERS)
def test_a_pipe_without_a_reader_is_refused(writer: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileError):
        WRITERS[writer](tmp_path / "pipe")
    with pytest.raises(FileError, match=r"^WF505: cannot write .*pipe: nobody reads the pipe"):
        artifact().save(tmp_path / "pipe")


@pytest.mark.parametrize("writer", WRITERS)
def test_a_device_stays_a_device(writer: str, tmp_path: Path) -> None:
    path = tmp_path / "null"
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        path.write_bytes(b"")
    except PermissionError:
        pytest.skip("only root can make a device file, and not in every container")
    WRITERS[writer](path)
    assert stat.S_ISCHR(path.stat().st_mode)


@pytest.mark.parametrize("writer", WRITERS)
def test_other_kinds_of_files_are_refused(writer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "ring").symlink_to("ring")
    with socket.socket(socket.AF_UNIX) as s:
        s.bind("socket")
        for name in ("folder", "socket", "ring", "none/file", "x" * 300, "nul\0l", "folder/"):
            with pytest.raises(FileError):
                WRITERS[writer](Path(name))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "ring", "socket"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("folder", "it is a folder: expected a regular file"), ("", "it names no file"),
        ("none/file", "No such file or directory"), ("file/file", "Not a directory"),
        ("x" * 300, "File name too long"), ("nul\0l", "its name holds a null byte"),
        ("ring", "Too many levels of symbolic links"),
    ],
)  # fmt: skip
def test_a_refusal_says_why(name: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "ring").symlink_to("ring")
    for call in (artifact().save, Output):
        with pytest.raises(FileError, match=rf"^WF505: cannot write .*: {reason}\n(  at .*\n)?  help: give a path"):
            call(name)  # type: ignore[operator]


def test_the_longest_file_name(tmp_path: Path) -> None:
    artifact().save(tmp_path / ("é" * 127 + "x"))
    assert wf.load(tmp_path / ("é" * 127 + "x")).artifact.program.name == "sum"


@pytest.mark.parametrize("size", [100, 5000])
def test_a_full_disk_leaves_the_old_file_whole(size: int, tmp_path: Path) -> None:
    """Files here may have no more bytes than a limit, which cuts a write at any point."""
    (tmp_path / "k").write_bytes(b"old")
    code = f"""
        import resource, warpfold as wf
        k = wf.compile("sum", (1000,))
        resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))
        try:
            k.save("k")
        except wf.WarpfoldError as e:
            print(e.code, e.message)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], cwd=tmp_path, capture_output=True, text=True, check=False
    )  # fmt: skip
    assert done.stdout == "WF505 cannot write k: File too large\n", done.stderr
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("k", b"old")]


def test_an_interrupted_write_leaves_the_old_file_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def stop(f: Any) -> None:
        f.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        files.write(path, stop)
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("file", b"old")]


def test_output_to_standard_output_follows_what_was_printed(tmp_path: Path) -> None:
    """In a pipe, and in a file, which is not replaced while the process writes it."""
    code = "import warpfold as wf; print('before'); wf.compile('sum', (9,)).save('/dev/stdout'); print('after')"
    with (tmp_path / "out").open("wb") as f:
        subprocess.run([sys.executable, "-c", code], stdout=f, check=True)
    piped = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True).stdout
    assert (tmp_path / "out").read_bytes() == piped
    assert piped.startswith(b"before\nwarpfold program ")
    assert piped.endswith(b"}after\n")


READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "artifact": ("WF501", wf.load),
    "array": ("WF506", arrays.load_npy),
    "results": ("WF501", lambda path: versioned_file.load(path, "bench", 1, dict)),
    "operation": ("WF804", lambda path: operation(f"{path}:f")),
    "program": ("WF506", lambda path: emulated._text(str(path))),
    "ir": ("WF591", lambda path: opt._read(str(path))),
}
"""What reads a file whose path the user gives, with the code of its refusal."""


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("pipe", "it is a pipe: expected a regular file"), ("device", "it is a device: expected a regular file"),
        ("folder", "it is a folder: expected a regular file"), ("none", "No such file or directory"),
        ("huge", "it has 1099511627776 bytes: expected at most 67108864"),
    ],
)  # fmt: skip
def test_only_regular_files_of_a_bounded_size_are_read(reader: str, kind: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "file.py"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "folder":
        path.mkdir()
    elif kind == "huge":
        path.touch()
        os.truncate(path, 2**40)
    code, read = READERS[reader]
    if (reader, kind) == ("array", "huge"):  # of any size, once its header says so
        code, reason = "WF509", "it does not begin with NumPy's mark"
    with pytest.raises(FileError, match=rf"^{code}: (cannot read )?.*file.py(:| is not a .npy file:) {reason}"):
        read(path)


def test_a_pipe_in_place_of_a_cache_entry_counts_as_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPFOLD_CACHE_DIR", str(tmp_path))
    cache.clear_memory()
    x = np.ones(3000, np.float32)
    assert wf.sum(x, device="emulator") == 3000
    (entry,) = tmp_path.rglob("*.warpfold")
    for make in (os.mkfifo, Path.mkdir, lambda path: path.symlink_to("/dev/zero")):
        entry.unlink() if not entry.is_dir() else entry.rmdir()
        make(entry)  # type: ignore[operator]
        cache.clear_memory()
        assert wf.sum(x, device="emulator") == 3000
        if entry.is_symlink():
            entry.unlink()
            entry.touch()
    os.mkfifo(tmp_path / "find")
    assert tuned_plans.read(tmp_path / "find") is None
