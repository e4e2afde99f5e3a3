"""Files of JSON with a checksum, of both formats: what is damaged or foreign is refused, and by which code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from altered import sealed

import warpfold as wf
from warpfold.compiler.driver import artifact_file, checksummed_json, program_file
from warpfold.compiler.driver.artifact_checks import UnsoundError
from warpfold.compiler.errors import FileError

FORMATS = {
    artifact_file.MAGIC: wf.compile("sum", (64,), "f32"),
    program_file.MAGIC: wf.softmax.compile(((4, 64), "f32")),
}
"""Something to save, by what its file begins with."""


@pytest.fixture(params=FORMATS, ids=lambda magic: magic.decode().strip())
def magic(request: pytest.FixtureRequest) -> bytes:
    return request.param


def test_a_file_begins_with_its_format_and_checksum(magic: bytes, tmp_path: Path) -> None:
    FORMATS[magic].save(tmp_path / "k")
    data = (tmp_path / "k").read_bytes()
    assert data == sealed(data.partition(b"\n")[2], magic)
    assert wf.load(tmp_path / "k").artifact == FORMATS[magic].artifact


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (lambda b: b[:-10], "WF503"),
        (lambda b: b[: len(b) // 2], "WF503"),
        (lambda b: b.replace(b"add", b"sub"), "WF503"),
        (lambda b: b.replace(b" 1 ", b" 1 \xff"), "WF503"),
        (lambda b: b[:0], "WF502"),
        (lambda b: b"\x7fELF" + b, "WF502"),
        (lambda b: b.replace(b" 1 ", b" 2 ", 1), "WF502"),
    ],
)
def test_a_damaged_file_is_refused(damage: Any, code: str, magic: bytes, tmp_path: Path) -> None:
    FORMATS[magic].save(tmp_path / "k")
    data = (tmp_path / "k").read_bytes()
    assert damage(data) != data
    (tmp_path / "k").write_bytes(damage(data))
    with pytest.raises(FileError, match=rf"^{code}: "):
        wf.load(tmp_path / "k")


@pytest.mark.parametrize(
    "body", [b"{", b"{}", b"[]", b"[" * 10**5, b'{"name": ' + b"1" * 5000 + b"}", b"null", b"\xff", b"NaN"]
)
def test_json_of_another_format(body: bytes, magic: bytes, tmp_path: Path) -> None:
    (tmp_path / "k").write_bytes(sealed(body, magic))
    with pytest.raises(FileError, match=r"^WF502: "):
        wf.load(tmp_path / "k")


def test_what_does_not_fit_together_says_so() -> None:
    def read(j: Any) -> None:
        raise UnsoundError(f"{j} is odd")

    with pytest.raises(FileError, match=r"^WF510: .*3 is odd"):
        checksummed_json.parse(b"x ", sealed(json.dumps(3).encode(), b"x "), "a file", read)
