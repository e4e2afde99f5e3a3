"""A command line is for a reduction, or for a program of arrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from warpfold.commands.requests.choose import request_of
from warpfold.commands.requests.program_request import ProgramRequest
from warpfold.commands.requests.request import Request
from warpfold.compiler.errors import WarpfoldError

FILE = """
import warpfold as wf

@wf.program
def scaled(x, t, *, offset=0.0):
    return x * t + offset

def span(x):
    return wf.fold(wf.MAX, x) - wf.fold(wf.MIN, x)

def rows(x, *, axis=-1):
    return wf.fold(wf.SUM, x * x, axis=axis)

def doubled(x):
    return x + x

def relative(x, w):
    return (x - w) / wf.sum(x, axis=-1, keepdims=True)

def standard(x):
    xp = x.__array_namespace__()
    return xp.exp(x - xp.max(x, axis=-1, keepdims=True))
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    file = tmp_path / "own.py"
    file.write_text(FILE)
    return str(file)


@pytest.mark.parametrize(
    ("name", "program"),
    [("scaled", True), ("span", False), ("rows", True), ("doubled", True), ("relative", True), ("standard", True)],
)
def test_a_plain_function_that_folds_elements_is_a_reduction(path: str, name: str, program: bool) -> None:
    assert isinstance(request_of(f"{path}:{name}"), ProgramRequest if program else Request)


@pytest.mark.parametrize(("name", "program"), [("softmax", True), ("layer_norm", True), ("logsumexp", False)])
def test_built_in_names(name: str, program: bool) -> None:
    assert isinstance(request_of(name), ProgramRequest if program else Request)


def test_arrays_of_several_shapes_make_a_program(path: str, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((3, 4), np.float32))
    np.save(tmp_path / "w.npy", np.zeros(4, np.float32))
    files = (str(tmp_path / "x.npy"), str(tmp_path / "w.npy"))
    request = request_of(f"{path}:relative", files)
    assert isinstance(request, ProgramRequest)
    assert [a.shape for a in request.kinds] == [(3, 4), (4,)]
    assert request.names == ("x", "w")
    assert isinstance(request_of(f"{path}:relative", shapes=("3x4", "4")), ProgramRequest)


def test_the_title_names_arrays_and_parameters(path: str) -> None:
    request = request_of(f"{path}:scaled", shapes=("3x4", "scalar"), dtype="bf16,f32", param_texts=("offset=2.0",))
    assert request.title() == "scaled of x bf16 3x4, t f32 scalar with offset=2.0"
    assert request_of("softmax", shapes=("3x4",), axis_text="0").title() == "softmax of x f32 3x4 with axis=0"
    assert request_of("softmax", shapes=("3x4",), axis_text="0,1").params == {"axis": (0, 1)}


@pytest.mark.parametrize(
    ("op", "options", "text"),
    [
        ("sum", {"shapes": ("3", "4")}, "WF843: sum is a reduction of arrays of one shape, got 2 shapes"),
        ("softmax", {"axis_text": "0", "param_texts": ("axis=1",)}, "WF817: parameter axis is given twice: 1 and 0"),
        (
            "softmax",
            {"param_texts": ("axs=1",)},
            r"WF127: softmax takes no parameter 'axs'.*\n.*\(did you mean axis\?\)",
        ),
        ("softmax", {"shapes": ("3x4", "wher=3x4")}, "WF127: softmax takes no parameter 'wher'"),
        ("softmaks", {}, r"WF801: no reduction or program is called 'softmaks' \(did you mean softmax"),
        (
            "layer_norm",
            {"shapes": ("3x4", "5")},
            r"WF254: shapes .* do not broadcast: axis -1 has size 4 in x and size 5",
        ),
    ],
)
def test_mistakes(op: str, options: dict[str, tuple[str, ...]], text: str) -> None:
    with pytest.raises(WarpfoldError, match=text):
        _ = request_of(op, **options).program  # type: ignore[arg-type,union-attr]


def test_a_program_of_a_file(path: str) -> None:
    with pytest.raises(
        WarpfoldError, match=r"WF806: .* called 'scalled' \(did you mean scaled\?\): it has scaled span"
    ):
        request_of(f"{path}:scalled")
