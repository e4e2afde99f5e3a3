"""Compiled programs: what they show, files of them, and which arrays they serve."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made import batch_norm, layer_norm, layer_norm_numpy, several, softmax, softmax_numpy

import warpfold as wf
from warpfold.compiler.errors import ArgumentError

RNG = np.random.default_rng(1)
X = RNG.normal(size=(6, 50)).astype(np.float32)
W = RNG.normal(size=50).astype(np.float32)


def test_a_program_is_compiled_for_shapes_and_types() -> None:
    found = softmax.compile(((6, 50), "f32"), axis=-1)
    np.testing.assert_allclose(found(X), softmax_numpy(X), rtol=1e-6)
    np.testing.assert_array_equal(found(X), softmax(X))
    assert [p.resident for p in found.plans] == ["registers"]
    assert found.ptx.count(".entry") == 1
    assert [s.name for s in found.stages][:2] == ["program", "distribute"]
    assert repr(found).startswith("<warpfold.Compiled: softmax of x f32 (a, b), for sm_")


def test_a_program_is_compiled_for_arrays_by_position_and_by_name() -> None:
    found = layer_norm.compile(X, w=W, eps=1e-5, arch="sm_80")
    assert found.artifact.names == ("x", "w")
    assert found.artifact.kernels[0].arch == "sm_80"


def test_steps_have_plans_and_stages_of_their_own() -> None:
    found = softmax.compile(((2, 1 << 22), "f32"), plan="resident=none")
    assert [k.name for k in found.artifact.kernels] == ["softmax_0", "softmax_1"]
    assert found.stages[0].name == "softmax_0: program"
    assert found.stages[-1].name.startswith("softmax_1: ")


@pytest.mark.parametrize(
    ("program", "arrays", "wanted"),
    [
        (softmax, (X,), softmax_numpy(X)),
        (layer_norm, (X, W), layer_norm_numpy(X, W)),
        (several, (X,), None),
        (batch_norm, (RNG.normal(size=(2, 3, 4, 5)).astype(np.float32), W[:3]), None),
    ],
    ids=["softmax", "layer_norm", "several", "batch_norm"],
)
def test_a_file_runs_as_the_program_does(tmp_path: Path, program: Any, arrays: tuple[Any, ...], wanted: Any) -> None:
    program.compile(*arrays).save(tmp_path / "made.warpfold")
    loaded = wf.load(tmp_path / "made.warpfold")
    for found in (loaded(*arrays), pickle.loads(pickle.dumps(loaded))(*arrays)):
        expected = program(*arrays)
        for f, e in zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]:
            np.testing.assert_array_equal(f, e)
    if wanted is not None:
        np.testing.assert_allclose(loaded(*arrays), wanted, rtol=1e-5, atol=1e-6)


def test_results_are_written_in_place(tmp_path: Path) -> None:
    softmax.compile(X).save(tmp_path / "made.warpfold")
    y = X.copy()
    assert wf.load(tmp_path / "made.warpfold")(y, out=y) is y
    np.testing.assert_allclose(y, softmax_numpy(X), rtol=1e-6)


def test_a_file_needs_no_mlir(tmp_path: Path) -> None:
    softmax.compile(((4, 8), "f32")).save(tmp_path / "made.warpfold")
    text = (
        "import sys, numpy as np, warpfold as wf\n"
        f"y = wf.load({str(tmp_path / 'made.warpfold')!r})(np.zeros((4, 8), np.float32))\n"
        "assert (y == 0.125).all() and not any('mlir' in m.split('.')[0] for m in sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", text], check=True)


def test_other_sizes_are_served_as_far_as_the_plan_goes() -> None:
    found = softmax.compile(((64, 1000), "f32"))
    x = RNG.normal(size=(3, 1000)).astype(np.float32)
    np.testing.assert_allclose(found(np.tile(x, (20, 1)))[:3], softmax_numpy(x), rtol=1e-6)
    for other in (RNG.normal(size=(64, 7)), np.tile(x, (1, 30))):
        with pytest.raises(ArgumentError, match="WF123: this artifact of softmax was compiled for"):
            found(other.astype(np.float32))


def test_threads_that_make_all_accesses_serve_no_shorter_rows() -> None:
    """Rows of 60 elements have the plan of rows of 64, whose kernel asks for no bounds."""
    found = wf.softmax.compile(((64, 64), "f32"), axis=0)
    x = RNG.normal(size=(64, 64)).astype(np.float32)
    np.testing.assert_allclose(found(x), softmax_numpy(x.T).T, rtol=1e-6)
    with pytest.raises(ArgumentError, match=r"WF123: .* rows that fill the accesses of all threads"):
        found(x[:60])


@pytest.mark.parametrize(
    ("arrays", "text"),
    [
        ((X,), r"WF124: layer_norm takes 2 input array\(s\), got 1"),
        ((X.astype(np.float64), W), "compiled for elements of type f32, f32: the array needs f64, f32"),
        ((X, W[:3]), r"compiled for shapes \(a, b\), \(b\): the array needs \(6, 50\), \(3,\)"),
        ((X[0], W), r"compiled for shapes \(a, b\), \(b\): the array needs \(50,\), \(50,\)"),
    ],
)
def test_other_arrays_are_refused(arrays: tuple[Any, ...], text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        layer_norm.compile(X, W)(*arrays)


def test_one_row_is_served_as_many_are() -> None:
    np.testing.assert_array_equal(layer_norm.compile(X, W)(X[:1], W), layer_norm(X, W)[:1])


@wf.program
def standard(x: Any, *, groups: int = 4) -> Any:
    """Each group of columns, standardised."""
    xp = x.__array_namespace__()
    y = xp.reshape(x, (x.shape[0], groups, -1))
    y = (y - wf.mean(y, axis=-1, keepdims=True)) * wf.rsqrt(wf.var(y, axis=-1, keepdims=True))
    return xp.reshape(y, x.shape)


def test_axes_that_are_split_and_joined(tmp_path: Path) -> None:
    x = RNG.normal(size=(6, 24)).astype(np.float32)
    standard.compile(x).save(tmp_path / "made.warpfold")
    loaded = wf.load(tmp_path / "made.warpfold")
    y = x.reshape(6, 4, 6)
    y = (y - y.mean(-1, keepdims=True)) / y.std(-1, keepdims=True)
    np.testing.assert_allclose(loaded(x), y.reshape(6, 24), rtol=1e-4, atol=1e-5)
    with pytest.raises(ArgumentError, match=r"compiled for shapes \(a, 4\*c\): the array needs \(6, 23\)"):
        loaded(x[:, :23])


def test_explain_says_what_each_step_does() -> None:
    text = layer_norm.explain(((64, 512), "f32"), ((512,), "f32"))
    assert text.startswith("layer_norm: rows along x.1, one for each x.0; reads x, w; writes the result\n")
    assert "\n  plan fast=reduced" in text
    text = batch_norm.explain(((256, 4, 128, 128), "f32"), ((4,), "f32"), plan="resident=none")
    assert "writes mean, var, buffer 0" in text
    assert len([line for line in text.splitlines() if not line.startswith(" ")]) == 2
