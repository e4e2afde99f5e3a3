"""Artifacts read from files: their parts fit together, or they are refused before anything is launched.

Every field of the kernels of some reductions is altered in turn, with a matching checksum. Each ends in a coded error,
or in NumPy's answer.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from altered import at, mutants, sealed
from covering import some

import warpfold as wf
from warpfold.compiler.driver.artifact_checks import CHECKS
from warpfold.compiler.dtypes import dtype
from warpfold.compiler.errors import ArgumentError, FileError

SHAPE = (6, 40)
MAIN = ("kernels", 0, "kernels", 0)
"""The path of the one kernel of a reduction."""
X = np.random.default_rng(0).integers(-9, 9, SHAPE)
KINDS: dict[str, tuple[Any, dict[str, Any], Callable[..., Any]]] = {
    "rows": ("sum", {"dtype": "f32", "axis": 1}, np.sum),
    "cluster": ("max", {"dtype": "f32", "axis": 1, "plan": "finish=last_block,cluster=2,warps=2"}, np.max),
    "two kernels": ("sum", {"dtype": "i32", "axis": 1, "plan": "finish=two_kernels"}, np.sum),
    "atomic": ("sum", {"dtype": "i32", "plan": "finish=atomic"}, np.sum),
    "columns": ("argmin", {"dtype": "f32", "axis": 0}, np.argmin),
    "named": ("minmax", {"dtype": "i16", "axis": 1}, lambda x, axis: (x.min(axis), x.max(axis))),
    "parts": ("mean", {"dtype": "c64", "axis": 1}, np.mean),
}
"""What is compiled, how, and NumPy's answer."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The JSON of an artifact of each kind."""
    path = tmp_path_factory.mktemp("artifacts") / "k"
    found = {}
    for name, (what, how, _) in KINDS.items():
        wf.compile(what, SHAPE, **how).save(path)
        found[name] = json.loads(path.read_bytes().partition(b"\n")[2])
    return found


def outcome(path: Path, kind: str) -> str:
    """How loading and running a file ends: the code of its refusal, or ``right``."""
    _, how, reference = KINDS[kind]
    x = X.astype(dtype(how["dtype"]).numpy)
    try:
        k = wf.load(path)
    except FileError as e:
        return e.code
    try:
        got = k(x, device="emulator")
    except ArgumentError as e:  # axes that the array has not, or that this kernel does not serve
        return e.code
    np.testing.assert_allclose(got, reference(x, axis=how.get("axis")), rtol=1e-5)
    return "right"


@pytest.mark.parametrize("kind", some(KINDS, 6))
def test_an_altered_artifact_is_refused_or_right(kind: str, files: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "k"
    path.write_bytes(sealed(files[kind]))
    assert outcome(path, kind) == "right"
    seen: dict[str, int] = {}
    (kernels,) = files[kind]["kernels"]
    for words, mutant in mutants(kernels, 150, seed=7):
        path.write_bytes(sealed(files[kind] | {"kernels": [mutant]}))
        try:
            code = outcome(path, kind)
        except Exception as e:
            raise AssertionError(f"{words}: {e!r}") from e
        seen[code] = seen.get(code, 0) + 1
    assert seen["WF510"] > 80, seen


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        ((*MAIN, "plan", "warps"), 2, "the threads of sum do not match its PTX"),
        (
            (*MAIN, "plan", "unroll"),
            8,
            "the facts, the plan or the target of sum do not match its program",
        ),
        ((*MAIN, "plan", "warps"), 3, "its plan is invalid: "),
        ((*MAIN, "plan", "warps"), 0, "its plan is invalid: "),
        ((*MAIN, "plan", "vector"), "4", "kernels[0].plan.vector is '4': expected a whole number"),
        ((*MAIN, "facts", "kept_rank"), 10**6, "1000000 kept and 1 reduced dims: expected 1 to 64 of each"),
        ((*MAIN, "facts", "waiting"), [1], "waiting is (1,): expected rising numbers of inputs"),
        ((*MAIN, "facts", "numberings"), ["up"], "numberings is ('up',): expected both kept none reduced"),
        ((*MAIN, "facts", "waiting"), [0, 0], "waiting is (0, 0): expected rising numbers of inputs"),
        ((*MAIN, "params", 0, "role"), "output", "the parameters of sum do not match its plan and facts"),
        ((*MAIN, "params", 0, "role"), "x", "kernels[0].params[0].role is 'x': expected one of "),
        ((*MAIN, "name"), "other", "it has the kernels other: expected sum"),
        ((*MAIN, "role"), "second", "it has 0 main kernels: expected one"),
        (("kernels", 0, "state"), ["f64"], "the kernels of sum do not match its program"),
        (("kernels", 0, "inputs"), ["i32"], "the kernels of sum do not match its program"),
        (("given",), ["c64"], "it is given other arrays than it reads"),
        (("made",), ["f64"], "it gives other results than it writes"),
        (("arrays",), ["f32", "f32"], "it has another number of names than of arrays"),
        (("structure",), 1, "its structure does not name each result once, in order"),
        (("structure",), ["a", ["class"], [0]], "its structure has the fields ('class',)"),
        (("checks",), ["WF126"], "its structure does not name each result once, in order"),
        (("axes",), [1, 1], "it reduces no axes of an array"),
        (("kernels", 0, "arch"), "sm_80", "its PTX is not for sm_80"),
        (("most",), [[1, -1]], "most[0][1] is -1: expected a number from 0 to"),
        (("kernels", 0, "cubins"), {"sm_90": "!"}, "cubins.sm_90 is '!': expected machine code for an architecture"),
        (("name",), "a\nb", "name is 'a\\nb': expected a line of text"),
    ],
)  # fmt: skip
def test_a_refusal_names_the_parts_that_do_not_fit(
    path: tuple[Any, ...], value: Any, problem: str, files: dict[str, Any], tmp_path: Path
) -> None:
    made = copy.deepcopy(files["rows"])
    at(made, path[:-1])[path[-1]] = value
    (tmp_path / "k").write_bytes(sealed(made))
    with pytest.raises(FileError, match=r"^WF510: ") as caught:
        wf.load(tmp_path / "k")
    assert problem in str(caught.value)
    assert f"{tmp_path / 'k'} is refused before anything of it runs: " in str(caught.value)


@pytest.mark.parametrize(
    "part",
    [
        (),
        ("steps", 0),
        ("kernels", 0),
        ("kernels", 0, "kernels", 0),
        *(("kernels", 0, "kernels", 0, part) for part in ("plan", "facts")),
        ("kernels", 0, "kernels", 0, "params", 0),
    ],
)
def test_a_field_that_is_unknown_or_missing_is_of_another_version(
    part: tuple[Any, ...], files: dict[str, Any], tmp_path: Path
) -> None:
    more, less = copy.deepcopy(files["rows"]), copy.deepcopy(files["rows"])
    at(more, part)["more"] = 1
    at(less, part).popitem()
    for made in (more, less):
        (tmp_path / "k").write_bytes(sealed(made))
        with pytest.raises(FileError, match=r"^WF502: "):
            wf.load(tmp_path / "k")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (".entry sum(", ".entry other(", "its PTX has the kernels other: expected sum"),
        (".param .u32 sum_param_2", ".param .u64 sum_param_2", "the parameters of sum do not match its PTX"),
        ("sum_param_2,", "sum_param_2,\n\t.param .u32 more,", "the parameters of sum do not match its PTX"),
        (".maxntid", ".maxnreg 64\n.maxntid 1024, 1, 1 //", "the threads of sum do not match its PTX"),
        (
            "{\n\t.reg",
            "{\n\t.shared .align 16 .b8 more[65536];\n\t.reg",
            "the PTX of sum has more than 49152 bytes of shared memory",
        ),
        (".target sm_90a", ".target sm_80", "its PTX is not for sm_90a"),
        (".version", "\0.version", "its PTX is not ASCII text"),
    ],
)
def test_ptx_must_have_the_kernels_that_the_file_names(
    old: str, new: str, problem: str, files: dict[str, Any], tmp_path: Path
) -> None:
    made = copy.deepcopy(files["rows"])
    (kernels,) = made["kernels"]
    assert old in kernels["ptx"]
    kernels["ptx"] = kernels["ptx"].replace(old, new, 1)
    (tmp_path / "k").write_bytes(sealed(made))
    with pytest.raises(FileError, match=r"^WF510: ") as caught:
        wf.load(tmp_path / "k")
    assert problem in str(caught.value)


def test_a_program_that_does_not_parse_is_reported_when_its_stages_are_read(
    files: dict[str, Any], tmp_path: Path
) -> None:
    made = copy.deepcopy(files["rows"])
    (kernels,) = made["kernels"]
    kernels["source"] = kernels["source"].replace("    return", "    retrun")
    (tmp_path / "k").write_bytes(sealed(made))
    k = wf.load(tmp_path / "k")
    with pytest.raises(
        FileError, match=r"^WF514: the tensor program of this artifact is invalid: (?s:.*)'retrun' is unknown"
    ):
        _ = k.stages


def test_every_check_of_a_program_may_be_in_a_file() -> None:
    """A code missing from ``CHECKS`` would be refused in our own files."""
    made = {
        code for name in ("nanargmin", "sum") for code in wf.compile(name, (4, 4), nan="raise").artifact.program.checks
    }
    assert made == set(CHECKS)


KINDS_OF_PLANS = [
    ((1 << 20,), None, ""), ((1 << 33,), None, ""), ((64, 10**5, 7), (0, 1), ""), ((32, 56, 56, 64), (0, 2, 3), ""),
    ((10**6, 31), 1, ""), ((1 << 20,), None, "cta=serial,exchange=global"), ((3, 3, 10**5), 1, ""), ((5, 9), None, ""),
    ((1000, 3000), 0, ""), ((1000, 3001), 0, ""), ((10**5, 3), 1, ""), ((2, 0), 1, ""), ((), None, ""),
    ((128, 56, 56), (0, 2), "fast=both"),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "axis", "plan"), KINDS_OF_PLANS)
@pytest.mark.parametrize("dtype", ["float16", "uint8"])
def test_every_kind_of_plan_is_saved_and_read(shape: Any, axis: Any, plan: str, dtype: str, tmp_path: Path) -> None:
    k = wf.compile("argmax" if plan == "" and 0 not in shape else "sum", shape, dtype, axis=axis, plan=plan)
    k.save(tmp_path / "k")
    assert wf.load(tmp_path / "k").artifact == k.artifact
