"""Compiled programs read from files: their parts fit together, or they are refused before anything is launched."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from altered import mutants, sealed

import warpfold as wf
from warpfold.compiler.driver.program_file import MAGIC
from warpfold.compiler.errors import FileError, WarpfoldError

X = np.random.default_rng(1).normal(size=(6, 48)).astype(np.float32)


@wf.program
def groups(x: Any, w: Any) -> Any:
    """Groups of columns without their means, weighted, and the sum of all: several steps, a split axis, two results."""
    xp = x.__array_namespace__()
    y = xp.reshape(x, (x.shape[0], 4, -1))
    y = xp.reshape(y - wf.mean(y, axis=-1, keepdims=True), x.shape) * w
    return {"y": y, "total": wf.sum(x)}


@wf.program
def chosen(x: Any, t: Any) -> Any:
    """A share of the softmax of each row: a step that gathers."""
    return wf.softmax(x).__array_namespace__().take_along_axis(wf.softmax(x), t[:, None], axis=1)


PROGRAMS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "softmax": (wf.softmax, (X,)), "groups": (groups, (X, X[0])), "chosen": (chosen, (X, np.arange(6))),
}  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The JSON of the file of each program."""
    path = tmp_path_factory.mktemp("programs") / "k"
    found = {}
    for name, (program, arrays) in PROGRAMS.items():
        program.compile(*arrays).save(path)
        found[name] = json.loads(path.read_bytes().partition(b"\n")[2])
    return found


def outcome(path: Path, name: str) -> str:
    """How loading and running a file ends: the code of its refusal, or ``ran``."""
    arrays = PROGRAMS[name][1]
    try:
        wf.load(path)(*arrays, device="emulator")
    except WarpfoldError as e:
        return e.code
    return "ran"


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_altered_program_is_refused_or_runs(name: str, files: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "k"
    path.write_bytes(sealed(files[name], MAGIC))
    assert outcome(path, name) == "ran"
    seen: dict[str, int] = {}
    for words, mutant in mutants(files[name], 400, seed=7):
        path.write_bytes(sealed(mutant, MAGIC))
        try:
            code = outcome(path, name)
        except Exception as e:
            raise AssertionError(f"{words}: {e!r}") from e
        seen[code] = seen.get(code, 0) + 1
    assert seen["WF510"] > 200, seen


def _set(*path: Any) -> Callable[[Any], None]:
    """Sets the entry of nested lists and objects that all but the last of ``path`` name to the last."""

    def change(body: Any) -> None:
        for key in path[:-2]:
            body = body[key]
        body[path[-2]] = path[-1]

    return change


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (_set("dims", 0, []), "WF510"),
        (_set("dims", 0, [[7, 0]]), "WF510"),
        (_set("dims", 0, [[0, 9]]), "WF510"),
        (_set("views", 0, [0, [0], None]), "WF510"),
        (_set("views", 0, [0, [0, 1], 1]), "WF510"),
        (_set("names", ["x", "y"]), "WF510"),
        (_set("steps", 0, "kept", [5]), "WF510"),
        (_set("steps", 0, "inputs", 0, ["buffer", 0]), "WF510"),
        (_set("steps", 0, "inputs", 0, ["view", 3]), "WF510"),
        (_set("steps", 0, "outputs", 0, ["view", 0]), "WF510"),
        (_set("steps", 0, "outputs", 0, ["x", 0]), "WF510"),
        (_set("steps", 0, "graph", "roots", [999]), "WF510"),
        (_set("steps", 0, "graph", "nodes", 0, 2, "f64"), "WF510"),
        (_set("steps", []), "WF510"),
        (_set("kernels", 0, "ptx", ""), "WF510"),
        (_set("plan", 3), "WF510"),
        (_set("determinism", "x"), "WF510"),
        (_set("buffers", 3), "WF510"),
        (_set("structure", {}), "WF510"),
        (lambda body: body.pop("most"), "WF502"),
        (_set("outputs", []), "WF502"),
    ],
)
def test_a_file_whose_parts_do_not_fit_is_refused(
    tmp_path: Path, change: Callable[[Any], None], code: str, files: dict[str, Any]
) -> None:
    path = tmp_path / "made.warpfold"
    body = copy.deepcopy(files["softmax"])
    change(body)
    path.write_bytes(sealed(body, MAGIC))
    with pytest.raises(FileError, match=code):
        wf.load(path)
