"""Online folds have the results of the two folds that they take the place of, also where these are not finite."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from identity_programs import twice

import warpfold as wf
from tests.compiler.program.made_programs import Maker, batch_norm, softmax
from warpfold.commands.checking.array_values import evaluate
from warpfold.compiler.dtypes import BOOL, F64
from warpfold.compiler.program.array_program import ArrayProgram
from warpfold.compiler.program.arrays.trace import ArrayArg, trace_arrays
from warpfold.compiler.program.graph import Expr, walk
from warpfold.compiler.program.library.monoids import MAX, SUM
from warpfold.compiler.program.library.programs.norms import moments
from warpfold.compiler.program.rewrites.online import online, two_pass

INF, NAN = np.inf, np.nan
ROWS = np.array(
    [[1, 2, 3, 4], [-700, 700, 0, 0], [1e308, -1e308, 0, 1], [-INF, 1, 2, -INF], [-INF] * 4, [INF, 1, 2, 3],
     [INF, -INF, 0, 0], [NAN, 1, 2, 3], [0, 0, NAN, INF]]
)  # fmt: skip


def _folds(program: ArrayProgram) -> list[str]:
    return [e.value.monoid.name for e in program.folds]  # type: ignore[attr-defined]


def _same(program: ArrayProgram, *arrays: np.ndarray) -> ArrayProgram:
    found = online(program, lambda *_: True)
    for a, b in zip(evaluate(found, arrays), evaluate(program, arrays), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    return found


def _maximum_and_sum(*, masked: bool = False, apart: bool = False) -> ArrayProgram:
    """Both folds as results; with masks that differ if ``apart``."""
    m = Maker((0, 1), (0, 1))
    x = m.array(0)

    def only(e: Expr, nothing: float, bound: float) -> Expr:
        mask = m.op("gt", m.array(1), m.const(bound), dtype=BOOL)
        return m.op("where", mask, e, m.const(nothing)) if masked else e

    lowest = MAX.typed(F64).identity[0]
    (greatest,) = m.fold([1], MAX, only(x, lowest, 0.5))
    (total,) = m.fold([1], SUM, only(m.op("exp", m.op("sub", x, greatest)), 0.0, 0.7 if apart else 0.5))
    m.write(greatest, (0,))
    m.write(total, (0,))
    return m.program()


def test_a_softmax_is_one_fold() -> None:
    assert _folds(_same(softmax(), ROWS)) == ["LOGSUMEXP"]


def test_maximum_and_sum_keep_their_values() -> None:
    assert _folds(_same(_maximum_and_sum(), ROWS, ROWS)) == ["LOGSUMEXP"]


def test_both_folds_may_leave_out_the_same_elements() -> None:
    masks = np.random.default_rng(3).random((9, 4)) * (np.arange(9) % 3 > 0)[:, None]  # of some rows nothing is left
    assert _folds(_same(_maximum_and_sum(masked=True), ROWS, masks)) == ["LOGSUMEXP"]


def test_elements_that_are_left_out_of_both_may_be_minus_infinity() -> None:
    m = Maker((0, 1), (0, 1))
    mask = m.op("gt", m.array(1), m.const(0.5), dtype=BOOL)
    x = m.op("where", mask, m.array(0), m.const(-INF))
    (greatest,) = m.fold([1], MAX, x)
    m.write(m.fold([1], SUM, m.op("exp", m.op("sub", x, greatest)))[0], (0,))
    masks = np.random.default_rng(3).random((9, 4)) * (np.arange(9) % 3 > 0)[:, None]
    assert _folds(_same(m.program(), ROWS, masks)) == ["LOGSUMEXP"]


def test_folds_of_different_elements_stay() -> None:
    masks = np.random.default_rng(3).random((9, 4))
    assert _folds(_same(_maximum_and_sum(masked=True, apart=True), ROWS, masks)) == ["MAX", "SUM"]


def test_mean_and_squares_are_one_fold() -> None:
    rng = np.random.default_rng(5)
    assert _folds(_same(batch_norm(), rng.normal(size=(9, 4)), rng.normal(size=4))) == ["WELFORD"]


def test_the_sum_of_a_mean_keeps_its_value() -> None:
    m = Maker((0, 1))
    x = m.array(0)
    (total,) = m.fold([0], SUM, x)
    centred = m.op("sub", x, m.op("div", total, m.count([0])))
    m.write(total, (1,))
    m.write(m.fold([0], SUM, m.op("mul", centred, centred))[0], (1,))
    assert _folds(_same(m.program(), np.random.default_rng(5).normal(size=(9, 4)))) == ["WELFORD"]


@pytest.mark.parametrize("wrong", ["count", "dims"])
def test_other_differences_stay_two_folds(wrong: str) -> None:
    """A sum divided by another count is no mean, and one over other dims is another one."""
    m = Maker((0, 1))
    x = m.array(0)
    (total,) = m.fold([0, 1] if wrong == "dims" else [0], SUM, x)
    centred = m.op("sub", x, m.op("div", total, m.count([1] if wrong == "count" else [0])))
    m.write(m.fold([0], SUM, m.op("mul", centred, centred))[0], (1,))
    assert _folds(_same(m.program(), np.random.default_rng(5).normal(size=(9, 4)))) == ["SUM", "SUM"]


def test_folds_of_one_kernel_stay() -> None:
    program = softmax()
    assert online(program, lambda *_: False) == program


def test_what_a_rounded_mean_lacks_has_no_pass_of_its_own() -> None:
    """It is 0 beside Welford's mean, and so is the choice whether it counts, which would need a variance."""
    program = trace_arrays(lambda x: moments(x, -1), [ArrayArg(F64, (4, 50))], {})
    found = online(program, lambda *_: True)
    assert set(_folds(program)) == {"SUM"}
    assert set(_folds(found)) == {"WELFORD"}
    assert all(e.op != "gt" or e.args[0].value == 0 for e in walk(found.roots))  # that of Welford's finish stays
    x = np.random.default_rng(0).standard_normal((4, 50)) + 3
    for a, b in zip(evaluate(found, [x]), evaluate(program, [x]), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def test_differences_that_a_program_adds_itself_stay() -> None:
    program = trace_arrays(lambda x: wf.sum(x - wf.mean(x, 1, keepdims=True), 1), [ArrayArg(F64, (9, 4))], {})
    assert _folds(_same(program, ROWS)) == ["SUM", "SUM"]


def test_the_maximum_of_a_monoid_with_another_identity_stays() -> None:
    """Of no elements it is 0, and the one of the pair minus infinity."""

    @wf.monoid(identity=0.0)
    def greatest_size(a: Any, b: Any) -> Any:
        return wf.maximum(a, b)

    m = Maker((0, 1))
    x = m.op("abs", m.array(0))
    (greatest,) = m.fold([1], greatest_size, x)
    m.write(m.fold([1], SUM, m.op("exp", m.op("sub", x, greatest)))[0], (0,))
    m.write(greatest, (0,))
    assert _folds(_same(m.program(), np.zeros((3, 0)))) == ["greatest_size", "SUM"]


SPECIAL = (INF, -INF, NAN, 0.0, 1e200)


@pytest.mark.parametrize("seed", range(0, 160, 40))
def test_random_programs_keep_their_results(seed: int) -> None:
    """Also beyond the range: of other elements, over other axes, with another divisor, and not finite."""
    rng = np.random.default_rng(seed)
    for function in map(twice, range(seed, seed + 40)):
        program = trace_arrays(function, [ArrayArg(F64, (3, 4)), ArrayArg(F64, (1, 4))], {})
        found = online(program, lambda *_: True)
        own = two_pass(found, lambda *_: True)
        for count in range(0 if found == program else 4):
            x, y = rng.standard_normal((3, 4)), rng.standard_normal((1, 4))
            x.flat[rng.integers(12, size=count)] = rng.choice(SPECIAL, count)
            for rewritten in (found, own):
                for a, b in zip(evaluate(rewritten, [x, y]), evaluate(program, [x, y]), strict=True):
                    moments_of = any("WELFORD" in _folds(p) for p in (found, own))
                    a, b = (np.where(np.isfinite(v) | ~np.bool(moments_of), v, NAN) for v in (a, b))
                    np.testing.assert_allclose(
                        a, b, rtol=1e-7, atol=1e-12 * max(1, np.abs(b[np.isfinite(b)]).max(initial=0))
                    )
