"""How ``warpfold run`` judges results."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import SMALL, call
from covering import covering

import warpfold as wf
from warpfold.commands.checking import random_inputs, reference
from warpfold.commands.checking.evaluate import Evaluator, rows
from warpfold.compiler.dtypes import dtype
from warpfold.compiler.program.library.reductions import FUNCTIONS
from warpfold.compiler.program.tracing import program


@pytest.mark.parametrize("kind", ["f32", "f64", "bf16", "i32", "u8", "bool"])
@pytest.mark.parametrize("name", list(reference.BUILT_IN))
def test_the_evaluator_agrees_with_numpy(name: str, kind: str) -> None:
    x = random_inputs.from_seed((5, 7, 9), (dtype(kind),), 3)[0]
    evaluator = Evaluator(program(FUNCTIONS[name], (dtype(kind),)), [x], (0, 2))
    with np.errstate(all="ignore"):
        expected = reference.BUILT_IN[name](rows(x, (0, 2)))
    (found,) = evaluator.outputs()
    np.testing.assert_allclose(found.astype(np.float64), expected.astype(np.float64), rtol=1e-6, atol=1e-5)


def test_the_evaluator_folds_in_order_and_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    @wf.monoid(identity=(1.0, 0.0), commutative=False)
    def affine(a: Any, b: Any) -> Any:
        return a[0] * b[0], a[1] * b[0] + b[1]

    rng = np.random.default_rng(0)
    s, t = rng.uniform(0.5, 1.5, (3, 101)), rng.standard_normal((3, 101))
    folded = program(lambda x, y: wf.fold(affine, x, y), (dtype("f64"), dtype("f64")))
    scale, shift = np.ones(3), np.zeros(3)
    for i in range(101):
        scale, shift = scale * s[:, i], shift * s[:, i] + t[:, i]
    for piece in (7, 64, 1 << 20):
        monkeypatch.setattr("warpfold.commands.checking.evaluate.PIECE", piece)
        found = Evaluator(folded, [s, t], (1,)).outputs()
        np.testing.assert_allclose(found, [scale, shift], rtol=1e-12)


def test_an_empty_fold_is_the_identity() -> None:
    x = np.zeros((3, 0), np.float32)
    assert Evaluator(program(FUNCTIONS["sum"], (dtype("f32"),)), [x], (1,)).outputs()[0].tolist() == [0.0] * 3


@pytest.mark.parametrize(("wrong", "passes"), [(0.0, True), (1e-5, True), (0.5, False)])
def test_a_lost_element_fails_the_check(wrong: float, passes: bool) -> None:
    x = random_inputs.from_seed((1 << 16,), (dtype("f32"),), 0)[0]
    evaluator = Evaluator(program(FUNCTIONS["sum"], (dtype("f32"),)), [x], (0,))
    got = np.asarray(x.sum(dtype=np.float64) + wrong, np.float32)
    (check,) = reference.check("sum", evaluator, [x], (0,), [got], 24)
    assert check.passed is passes


@covering(("kind", ["f16", "bf16", "f32", "f64", "i32"]), ("name", ["describe", "minmax", "max", "nanmin"]))
def test_extremes_must_be_equal_whatever_other_results_there_are(name: str, kind: str) -> None:
    found = json.loads(call("run", name, *SMALL, "--axis", "1", "--dtype", kind, "--json").stdout)
    extremes = [r for r in found["results"] if r["name"] in ("", "min", "max", "argmin", "argmax", "nonzero", "count")]
    assert [(r["name"], r["exact"], r["allowed"]) for r in extremes] == [(r["name"], True, 0) for r in extremes]


def test_an_extreme_is_checked_where_sums_overflow(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([3.4028e38, -3.4028e38, 1], np.float32))
    words = ("--input", tmp_path / "x.npy", "--device", "emulator")
    assert "check    passed: equal to NumPy's" in call("run", "max", *words).stdout
    shown = call("run", "describe", *words).stdout
    for name in ("count", "nonzero", "min", "max", "argmin", "argmax"):
        assert re.search(rf"^check {name} +passed: equal to NumPy's$", shown, re.MULTILINE), shown
    assert re.search(r"^check mean +passed: error ", shown, re.MULTILINE), shown
    assert re.search(r"^value var +inf\ncheck var +passed: equal to NumPy's$", shown, re.MULTILINE), shown
    assert re.search(r"^check std +not checked: partial results overflow their type, so nothing", shown, re.MULTILINE)


def test_a_result_without_elements_passes() -> None:
    shown = call("run", "softmax", "--shape", "0x10", "--device", "emulator").stdout
    assert "check    passed: error 0" in shown


def test_nan_and_infinity_must_be_where_numpy_has_them() -> None:
    x = np.array([[1, np.nan], [np.inf, 1], [1, 2]], np.float32)
    evaluator = Evaluator(program(FUNCTIONS["sum"], (dtype("f32"),)), [x], (1,))
    for got, passed in (([np.nan, np.inf, 3], True), ([1, np.inf, 3], False), ([np.nan, np.nan, 3], False)):
        (check,) = reference.check("sum", evaluator, [x], (1,), [np.array(got, np.float32)], 4)
        assert check.passed is passed
