"""Running error analysis: derivatives, roundings, and bounds that hold in any order of combines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold.commands.checking import adjoints, running_error
from warpfold.commands.checking.evaluate import Evaluator
from warpfold.commands.checking.reference import check
from warpfold.commands.checking.running_error import Analysis, Known
from warpfold.compiler.dtypes import BOOL, F16, F32, F64, I64, dtype
from warpfold.compiler.laws.counterexamples import EXACT
from warpfold.compiler.program.graph import SCALAR, Expr
from warpfold.compiler.program.library.reductions import FUNCTIONS
from warpfold.compiler.program.numeric import _OPS, apply
from warpfold.compiler.program.tracing import program

X = np.array([0.3, 0.7, 1.9, 2.5])
OF_INTEGERS = ("and", "or", "xor", "shl", "shr", "ipow", "popcount", "philox")


def node(op: str, *args: Expr, t: Any = F64) -> Expr:
    return Expr(op, args, t, SCALAR)


def params(count: int, t: Any = F64) -> list[Expr]:
    return [Expr("param", (), t, SCALAR, i) for i in range(count)]


def test_every_operation_is_exact_or_rounded() -> None:
    assert {*_OPS} - {*OF_INTEGERS} <= {*running_error.ROUNDED, *running_error.FUNCTIONS, *EXACT}
    assert not {*running_error.ROUNDED, *running_error.FUNCTIONS} & {*EXACT}


@pytest.mark.parametrize("op", sorted({*adjoints.LOCAL} - {"where", "cast"}))
def test_derivatives_are_those_of_finite_differences(op: str) -> None:
    count = {"fma": 3, "add": 2, "sub": 2, "mul": 2, "div": 2, "min": 2, "max": 2, "atan2": 2}.get(op, 1)
    e, h = node(op, *params(count)), 1e-6
    args = [X * (1 + 0.3 * i) * (0.3 if op in ("log1p", "tanh", "tan", "asin", "acos") else 1) for i in range(count)]
    value = apply(e, args, np.dtype(np.float64))
    for i, slope in enumerate(adjoints.LOCAL[op](args, value)):
        up, down = ([a + s * h if i == j else a for j, a in enumerate(args)] for s in (1, -1))
        expected = (apply(e, up, value.dtype) - apply(e, down, value.dtype)) / (2 * h)
        np.testing.assert_allclose(np.broadcast_to(slope, X.shape), expected, rtol=1e-7)


@pytest.mark.parametrize(("op", "count"), [("add", 2), ("mul", 2), ("fma", 3), ("div", 2), ("exp", 1), ("sqrt", 1)])
def test_errors_of_operands_propagate(op: str, count: int) -> None:
    """Moving the operands by their errors moves the result by its error, to first order."""
    rng = np.random.default_rng(0)
    e = node(op, *params(count))
    args = [rng.uniform(0.5, 2, 1000) for _ in range(count)]
    errors = [rng.uniform(0, 1e-4, 1000) for _ in range(count)]
    value = apply(e, args, np.dtype(np.float64))
    found = Analysis().result(e, [Known(a, d) for a, d in zip(args, errors, strict=True)], value).error
    pairs = list(zip(args, errors, strict=True))
    corners = [
        apply(e, [a + np.where(k >> i & 1, d, -d) for i, (a, d) in enumerate(pairs)], value.dtype)
        for k in range(1 << count)
    ]
    moved = np.max([np.abs(c - value) for c in corners], axis=0)
    assert found is not None
    assert (moved <= found * 1.001).all()
    assert (found <= moved * 1.01 + 1e-15).all()


def test_a_condition_within_its_error_counts_both_branches() -> None:
    a, b = Known(np.array([1.0, 1.0, 1.0]), np.array([0.5, 0.5, 0.0])), Known(np.array([1.2, 2.0, 1.2]))
    less = node("lt", *params(2), t=BOOL)
    sure = Analysis().result(less, [a, b], a.value < b.value)
    assert sure.error is not None
    assert sure.error.tolist() == [1, 0, 0]
    chosen = node("where", node("param", t=BOOL), *params(2))
    value = np.where(sure.value, 10.0, 30.0)
    found = Analysis().result(chosen, [sure, Known(np.full(3, 10.0)), Known(np.full(3, 30.0))], value)
    assert found.error is not None
    assert found.error.tolist() == [20, 0, 0]


@pytest.mark.parametrize(
    ("source", "target", "rounded"), [(F32, F16, True), (F16, F32, False), (I64, F32, True), (I64, F64, True),
                                      (BOOL, F16, False), (F64, F32, True)],
)  # fmt: skip
def test_a_conversion_rounds_where_digits_get_lost(source: Any, target: Any, rounded: bool) -> None:
    assert running_error.rounds(node("cast", *params(1, source), t=target)) is rounded


@pytest.mark.parametrize("name", ["sum", "prod", "var", "logsumexp", "norm", "mean"])
@pytest.mark.parametrize("kind", ["random", "constant", "shifted"])
def test_sums_in_other_orders_and_narrow_types_are_within_the_bound(name: str, kind: str) -> None:
    """An f32 chain has as many levels as elements: the worst order."""
    rng = np.random.default_rng(0)
    x = {"random": rng.standard_normal((50, 300)), "constant": np.full((50, 300), 0.1),
         "shifted": rng.standard_normal((50, 300)) + 100}[kind].astype(np.float32)  # fmt: skip
    if name == "prod":
        x = np.exp((x - x.mean()) / 20).astype(np.float32)
    found = Evaluator(program(FUNCTIONS[name], (dtype("f32"),)), [x], (1,)).known(300)[0]
    state: Any = [np.float32(1 if name == "prod" else 0)] * 50
    n, mean, squares = np.float32(0), np.zeros(50, np.float32), np.zeros(50, np.float32)
    for column in x.T:
        n = np.float32(n + 1)
        delta = column - mean
        mean, squares = mean + delta / n, squares + delta * delta * ((n - 1) / n)
        state = (
            state * column
            if name == "prod"
            else state
            + (column * column if name == "norm" else np.exp(column - x.max(axis=1)) if name == "logsumexp" else column)
        )
    got = {"norm": lambda: np.sqrt(state), "var": lambda: squares / n, "mean": lambda: state / n,
           "logsumexp": lambda: x.max(axis=1) + np.log(state)}.get(name, lambda: state)()  # fmt: skip
    assert found.error is not None
    assert (np.abs(got.astype(np.float64) - found.value) <= found.error).all()


def test_the_order_of_matrices_matters_to_the_check() -> None:
    """A product of 2x2 matrices with swapped sides exceeds the bound by far."""

    @wf.monoid(identity=(1, 0, 0, 1), commutative=False)
    def matrices(x: Any, y: Any) -> Any:
        (a, b, c, d), (e, f, g, h) = x, y
        return a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h

    xs = [np.random.default_rng(i).standard_normal((20, 200)).astype(np.float32) for i in range(4)]
    folded = program(lambda *v: wf.fold(matrices, *v), (dtype("f32"),) * 4)
    found = Evaluator(folded, xs, (1,), random=True).known(16)
    whole = np.stack([np.stack([np.eye(2)] * 20)])[0]
    for k in range(200):
        whole = whole @ np.stack([x[:, k].astype(np.float64) for x in xs], axis=-1).reshape(20, 2, 2)
    for i, k in enumerate(found):
        assert k.error is not None
        np.testing.assert_allclose(k.value, whole.reshape(20, 4)[:, i], rtol=1e-10)
        assert (k.error < 1e-2 * np.abs(whole).max(axis=(1, 2))).all()


def test_allowances_are_relative_to_the_result() -> None:
    x = (np.random.default_rng(0).uniform(0.5, 1, (9, 200)) * np.geomspace(1, 0.8, 9)[:, None]).astype(np.float32)
    for random in (False, True):
        found = Evaluator(program(FUNCTIONS["prod"], (dtype("f32"),)), [x], (1,), random=random).known(12)[0]
        assert found.error is not None
        normal = np.abs(found.value) > 1e-37
        assert normal.any()
        assert (found.error[normal] <= 3e-5 * np.abs(found.value[normal])).all()


@pytest.mark.parametrize(("name", "squares"), [("sum", False), ("norm", True)])
@pytest.mark.parametrize("log", [12, 16, 20, 22])
def test_long_chains_of_numbers_of_one_sign_are_within_the_bound(name: str, squares: bool, log: int) -> None:
    """One thread adds all elements, so its roundings are biased; a missing 64th of the sum still fails the check."""
    x = np.random.default_rng(log).standard_exponential(1 << log, np.float32)
    total = np.cumsum(x * x if squares else x, dtype=np.float32)[-1]  # from left to right
    evaluator = Evaluator(program(FUNCTIONS[name], (dtype("f32"),)), [x], (0,), random=True)
    for share, passed in ((1, True), (63 / 64, False)):
        got = np.asarray([np.sqrt(total * share * share) if squares else total * share], np.float32)
        assert check(None, evaluator, [x], (0,), [got], 1 << log)[0].passed is passed
