"""Parts of the commands: empty option values, files in foreign byte order, unreadable folders."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from warpfold.commands import doctor
from warpfold.commands.requests import inputs, operation
from warpfold.commands.requests.operation import TRAIL, users_code
from warpfold.commands.requests.request import Request
from warpfold.commands.run import run
from warpfold.compiler.errors import WarpfoldError

if TYPE_CHECKING:
    from pathlib import Path


def test_an_empty_option_value_is_an_error() -> None:
    """A shell passes an empty value for a variable that is not set."""
    with pytest.raises(WarpfoldError, match=r"^WF802: '' is not a shape"):
        Request("sum", shape="").kind()
    with pytest.raises(WarpfoldError, match=r"^WF105: "):
        Request("sum", shape="8", dtype="").kind()
    with pytest.raises(WarpfoldError, match=r"^WF505: cannot write "):
        run(Request("sum", shape="8"), keepdims=False, output="", device="emulator", json=False)


def test_a_file_in_foreign_byte_order_is_read(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(6, dtype=">f4"))
    (found,) = inputs.from_files((str(tmp_path / "x.npy"),), "sum")
    assert found.dtype.isnative
    assert found.tolist() == [0, 1, 2, 3, 4, 5]


def test_parameters_may_be_true_or_false() -> None:
    assert inputs.params_of(("reverse=true", "exclusive=False")) == {"reverse": True, "exclusive": False}


def test_doctor_names_a_cache_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPFOLD_CACHE_DIR", "x" * 300)
    name, fine, text, _ = doctor._cache()
    assert (name, fine) == ("cache", False)
    assert "File name too long" in text


@pytest.mark.parametrize("place", ["file", "file/cache"])
def test_doctor_names_a_cache_that_is_no_folder(place: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("WARPFOLD_CACHE_DIR", str(tmp_path / place))
    _, fine, text, advice = doctor._cache()
    assert not fine
    assert "(Not a directory)" in text
    assert advice == "set WARPFOLD_CACHE_DIR to a folder that can be written"


def test_doctor_leaves_no_file_in_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WARPFOLD_CACHE_DIR", str(tmp_path / "to" / "be"))
    assert doctor._cache()[1]
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("WARPFOLD_CACHE_DIR", "/proc/none")  # where no file can be made, whatever its permissions say
    assert not doctor._cache()[1]


def test_a_recursion_is_shown_by_its_last_lines(tmp_path: Path) -> None:
    file = tmp_path / "deep.py"
    file.write_text("def deep(x):\n    return deep(x)\n")
    space: dict[str, object] = {}
    exec(compile(file.read_text(), str(file), "exec"), space)
    with pytest.raises(WarpfoldError) as caught, users_code(str(file)):
        space["deep"](1)  # type: ignore[operator]
    assert caught.value.code == "WF810"
    assert str(caught.value).count("deep.py:2") == TRAIL + 1


@pytest.mark.parametrize("where", ["checkout", "packages"])
def test_a_folder_whose_name_begins_like_a_library_folder_is_the_users(
    where: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A folder nc-trials beside the checkout nc, or beside a folder of installed packages."""
    file = tmp_path / "nc-trials" / "zd.py"
    file.parent.mkdir()
    file.write_text("import warpfold as wf\n\nRATIO = 1 / 0\n")
    if where == "checkout":
        monkeypatch.setattr(operation, "_PACKAGE", tmp_path / "nc")
    else:
        monkeypatch.setattr(operation.sysconfig, "get_path", lambda _: str(tmp_path / "nc"))
    with pytest.raises(WarpfoldError) as caught:
        operation.operation(f"{file}:f")
    first, *_, place, _ = str(caught.value).splitlines()
    assert first == f"WF805: {file} does not import: ZeroDivisionError: division by zero"
    assert place == f"  at {file}:3: RATIO = 1 / 0"


def test_help_into_a_full_output_is_no_traceback() -> None:
    command = [sys.executable, "-m", "warpfold.cli"]
    with open("/dev/full", "w") as full:  # noqa: PTH123
        found = subprocess.run([*command, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert found.returncode == 2
    assert found.stderr.startswith("WF505: cannot write standard output")
