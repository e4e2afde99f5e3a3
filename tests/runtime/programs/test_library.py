"""The library's programs run: every case beside its values in float64, rounding of halves, in place, digests."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import library_programs
import numpy as np
import program_digests
import pytest
from access_picture import run_under
from covering import some
from library_programs import Case

import warpfold as wf
from warpfold.compiler.dtypes import F32, dtype
from warpfold.compiler.errors import ArgumentError, TraceError
from warpfold.compiler.program.arrays.trace import ArrayArg, trace_arrays
from warpfold.compiler.program.gradients.vjp import with_value
from warpfold.compiler.program.library.programs.table import FUNCTIONS
from warpfold.compiler.program.public_names import PROGRAMS
from warpfold.runtime.emulator.sanitizer import Sanitizer

CASES = {case.name: case for case in library_programs.cases()}
WAITING = {case.name: case for case in library_programs.residencies()}
BITS = {case.name: case for case in (*program_digests.bits(), *program_digests.gradients())}
DIGESTS = json.loads((Path(__file__).parents[2] / "data" / "programs.json").read_text())
IN_PLACE = ("softmax", "softmin", "log_softmax", "layer_norm", "rms_norm", "normalize", "standardize", "group_norm")
PRECISION = {"f16": 11, "bf16": 8, "f8e4m3fn": 4, "f8e5m2": 3}
"""Digits of halves, and of 8-bit floats."""
RNG = np.random.default_rng(4)
X = RNG.standard_normal((6, 50)).astype(np.float32)


def run(case: Case, **how: Any) -> tuple[Any, ...]:
    found = getattr(wf, case.function)(**case.arrays, **case.params, **how)
    return found if isinstance(found, tuple) else (found,)


def assert_rounded(found: Any, exact: Any) -> None:
    """Results of half types are the exact ones rounded once; others are off by a few roundings of f32 or f64.

    Beside a half of a unit in the last place of a result, errors of the computation count, which are relative to the
    greatest result.
    """
    t = dtype(found.dtype)
    assert found.shape == exact.shape
    if t.is_integer:
        assert np.abs(found.astype(int) - exact.astype(int)).max(initial=0) <= 1
        return
    got, exact = found.astype(np.float64), exact.astype(np.float64)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(exact))
    greatest = np.abs(exact[np.isfinite(exact)]).max(initial=0.0)
    computed = greatest * (1e-14 if t.name == "f64" else 2e-6)
    unit = 2.0 ** (np.floor(np.log2(np.maximum(np.abs(exact), 2.0**-24))) + 1 - PRECISION.get(t.name, 53))
    with np.errstate(invalid="ignore"):
        off = np.where(got == exact, 0.0, np.abs(got - exact))
    assert (np.nan_to_num(off) <= (0.5 if t.name in ("f16", "bf16") else 1.0) * unit + computed).all()


@pytest.mark.parametrize("name", some(CASES, 28))
def test_results_are_those_of_the_evaluator(name: str) -> None:
    case = CASES[name]
    found = run(case)
    exact = library_programs.values(FUNCTIONS[case.function], case.arrays, **case.params)
    for result, expected in zip(found, exact, strict=True):
        assert_rounded(result, expected)


@pytest.mark.parametrize("name", some(CASES, 28))
def test_the_emulator_has_the_recorded_digests(name: str) -> None:
    assert program_digests.digest(program_digests.results(CASES[name], "emulator")) == DIGESTS[name]


@pytest.mark.parametrize("name", some(WAITING, 21))
def test_rows_wait_anywhere(name: str) -> None:
    """Wherever they do, results are right, the sanitizer finds nothing, and the bits are those that a GPU has."""
    case, tool, found = WAITING[name], Sanitizer(), []
    run_under(tool, lambda: found.extend(program_digests.results(case, "emulator")))
    assert not list(tool.findings)
    assert tool.accesses
    exact = library_programs.values(FUNCTIONS[case.function], case.arrays, **case.params)
    for result, expected in zip(found, exact, strict=True):
        assert_rounded(result, expected)
    assert program_digests.digest(tuple(found)) == DIGESTS[name]


@pytest.mark.parametrize("name", some(BITS, 12))
def test_arrays_of_bits_and_gradients_have_the_recorded_digests(name: str) -> None:
    tool, found = Sanitizer(), []
    run_under(tool, lambda: found.extend(program_digests.results(BITS[name], "emulator")))
    assert not list(tool.findings)
    assert program_digests.digest(tuple(found)) == DIGESTS[name]


def test_rows_wait_where_they_are_asked_to() -> None:
    for name, case in WAITING.items():
        plans = getattr(wf, case.function).compile(**case.arrays, **case.params, plan=case.plan).plans
        place = name.partition("-in-")[2] or "grid"  # accesses that go on from column to column wait there
        assert plans[0].abreast == name.endswith("-abreast"), name
        if place == "cut":
            assert len(plans) > 1, name
        else:
            wanted = (place.removeprefix("cluster-").replace("teams", "grid"), 1 + place.startswith("cluster-"))
            assert (plans[0].resident, plans[0].cluster) == wanted, name
            assert (plans[0].persistent > 0) == (place == "teams"), name


def test_every_case_has_a_digest() -> None:
    assert set(DIGESTS) == {*CASES, *WAITING, *BITS}
    read_once = {"nll_loss", "dropout", "dropout_backward", "random_bits", "relu", "relu_backward", "add_relu"}
    read_once |= {"add_relu_backward", "leaky_relu", "leaky_relu_backward", "clip_backward"}
    read_once |= {"topk", "cumulative_sum", "cumulative_prod", "cummax", "cummin", "logcumsumexp"}
    assert {case.function for case in WAITING.values()} == set(FUNCTIONS) - read_once


@pytest.mark.gpu
@pytest.mark.parametrize("case", list(program_digests.cases()), ids=lambda case: case.name)
def test_a_gpu_has_the_recorded_digests(case: Case) -> None:
    assert program_digests.digest(program_digests.results(case, "cuda")) == DIGESTS[case.name]


@pytest.mark.parametrize(
    "name", some([n for n, c in CASES.items() if c.function in IN_PLACE and ("37" in n or "x" not in n)], 25)
)
def test_results_may_take_the_place_of_the_input(name: str) -> None:
    case = CASES[name]
    (apart,) = run(case)
    x = case.arrays["x"].copy()
    into = np.full_like(apart, 7)
    assert run(case, out=into)[0] is into
    own = Case(case.name, case.function, case.arrays | {"x": x}, case.params)
    assert run(own, out=x)[0] is x
    assert into.tobytes() == x.tobytes() == apart.tobytes()


@pytest.mark.parametrize(
    "plan", ["", "resident=shared", "resident=shared,cluster=2", "resident=memory", "resident=none"]
)
@pytest.mark.parametrize("function", [wf.add_rms_norm, wf.add_layer_norm])
def test_both_results_of_a_residual_norm_take_the_places_of_both_arrays(function: Any, plan: str) -> None:
    how = {"plan": plan} if plan else {}
    expected = function(X, X[::-1], **how)
    for order in ((0, 1), (1, 0)):
        arrays = X.copy(), X[::-1].copy()
        out = arrays[order[0]], arrays[order[1]]
        found = function(*arrays, out=out, **how)
        for f, o, e in zip(found, out, expected, strict=True):
            assert f is o
            np.testing.assert_array_equal(f, e)


def test_targets_outside_of_the_classes() -> None:
    targets = np.array([0, 50, -1, -100, 49, 3])
    losses = wf.cross_entropy(X, targets, reduction="none")
    assert np.isnan(losses).tolist() == [False, True, True, False, False, False]
    for function in (wf.cross_entropy, wf.nll_loss):
        assert np.isfinite(function(X, np.array([0, 1, 2, -100, 49, 3]), check=True))
        with pytest.raises(ArgumentError, match=f"WF189: in {function.__name__} a target is not the number") as e:
            function(X, targets, check=True)
        assert __file__ in str(e.value)


def test_programs_are_parts_of_programs() -> None:
    program = wf.program(lambda x, w: wf.quantize(wf.rms_norm(x, w), block=10))
    weight = X[0]
    q, scale = program(X, weight)
    assert (q.shape, q.dtype, scale.shape) == ((6, 50), dtype("float8_e4m3fn").numpy, (6, 5))
    normed = wf.rms_norm(X, weight).reshape(6, 5, 10)
    np.testing.assert_allclose(q.reshape(6, 5, 10).astype(np.float32) * scale[..., None], normed, rtol=0.07, atol=0.01)
    with pytest.raises(ArgumentError, match="WF188"):
        wf.program(lambda x: wf.softmax(x, device="emulator"))(X)


def test_a_dict_is_a_named_tuple_in_another_program_too() -> None:
    @wf.program
    def own(x: Any) -> dict[str, Any]:
        return {"most": wf.max(x, axis=1), "ends": {"sum": wf.sum(x, axis=1), "least": wf.min(x, axis=1)}}

    @wf.program
    def calls(x: Any) -> Any:
        y, bits = wf.relu(x, keep="bits")
        most, ends = own(x)
        return y + 1, bits, own(x).most + most, ends.least

    y, bits, most, least = calls(X)
    np.testing.assert_array_equal(y, np.maximum(X, 0) + 1)
    np.testing.assert_array_equal(bits, wf.relu(X, keep="bits").bits)
    np.testing.assert_array_equal(most, 2 * X.max(1))
    np.testing.assert_array_equal(least, X.min(1))
    junk = wf.program(lambda x: {"y": x, "n": 3.5})
    with pytest.raises(TraceError, match="WF263: result 1 of n is no array") as e:
        wf.program(lambda x: junk(x).y)(X)
    assert __file__ in str(e.value)


KEPT = ("output", "bits")
NAMED: dict[str, tuple[Any, tuple[str, ...]]] = {
    "relu": (lambda x: wf.relu(x, keep="bits"), KEPT), "clip": (lambda x: wf.clip(x, 0, 1, keep="bits"), KEPT),
    "leaky_relu": (lambda x: wf.leaky_relu(x, keep="bits"), KEPT),
    "topk": (lambda x: wf.topk(x, 2), ("values", "indices")),
    "add_relu": (lambda x: wf.add_relu(x, x, keep="bits"), KEPT), "minmax": (wf.minmax, ("min", "max")),
    "dropout": (lambda x: wf.dropout(x, seed=1, keep="bits"), KEPT), "mean_var": (wf.mean_var, ("mean", "var")),
    "batch_norm": (lambda x: wf.batch_norm(x, training=True), ("output", "mean", "var")),
    "batch_norm_backward": (lambda x: wf.batch_norm_backward(x, x, x[0], x[0]), ("dx", "dweight", "dbias")),
    "a program": (wf.program(lambda x: {"output": x, "twice": 2 * x}), ("output", "twice")),
    "a reduction": (lambda x: wf.reduce(x, lambda v: {"a": wf.fold(wf.SUM, v), "b": wf.fold(wf.MAX, v)}), ("a", "b")),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
def test_several_named_results_are_a_named_tuple_wherever_they_are_made(name: str) -> None:
    call, names = NAMED[name]
    seen: list[Any] = []

    def function(x: Any) -> Any:
        found = call(x)
        first, *_ = found  # not the keys of a dict
        seen.append(found)
        return wf.sum(first)

    arrays = [ArrayArg(F32, X.shape)]
    trace_arrays(function, arrays, {})
    if name != "topk":  # which has no gradient
        trace_arrays(with_value(function), arrays, {})
    assert all(isinstance(s, tuple) and s._fields == names for s in seen)


def test_every_program_is_public_and_pickles() -> None:
    assert set(PROGRAMS) == set(FUNCTIONS)
    for name in PROGRAMS:
        assert pickle.loads(pickle.dumps(getattr(wf, name))) is getattr(wf, name)


def test_tensors_of_pytorch() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x = torch.from_numpy(X).bfloat16()
    found = wf.layer_norm(x, torch.ones(50))
    assert found.dtype == torch.bfloat16
    assert torch.allclose(found.float(), torch.nn.functional.layer_norm(x.float(), (50,)), atol=2e-2)
    q, _ = wf.quantize(x)
    assert q.dtype == torch.float8_e4m3fn


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: wf.softmax(X, axis=3), "WF256: axis 3 is not an axis of x, which has 2 of them"),
        (lambda: wf.softmax(X, dim=1), "WF127: softmax takes no parameter 'dim': .*\n.*\n.*write axis="),
        (lambda: wf.rms_norm(X, X[0, :7]), "WF254: .* axis -1 has size 50 in x and size 7 in weight"),
        (lambda: wf.layer_norm(X, (50,)), "WF285: weight is of type tuple: expected an array\n.*\n.* axis="),
        (lambda: wf.batch_norm(X, 0.0, X[0]), "WF285: running_mean is of type float: expected an array"),
        (lambda: wf.nll_loss(X, 3), "WF285: target is of type int: expected an array"),
        (lambda: wf.batch_norm(X), "WF270"),
        (lambda: wf.group_norm(X, 7), "WF276: num_groups=7 for axis 1 of x, of size 50"),
        (lambda: wf.cross_entropy(X, X[:, 0]), "WF271: the targets have rank 1 and type f32"),
        (lambda: wf.softmax(X, out=X[:5]), "WF1[01]"),
    ],
)
def test_mistakes_name_the_callers_line(call: Any, text: str) -> None:
    with pytest.raises(wf.WarpfoldError, match=text) as e:
        call()
    assert __file__ in str(e.value)
