"""What must hold of steps: planted violations are found, and programs whose steps once broke it are right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from array_programs import traced

from tests.compiler.program import steps_numpy
from tests.compiler.program.made_programs import Maker
from warpfold.commands.checking.array_values import evaluate
from warpfold.compiler.errors import CompileError
from warpfold.compiler.program.array_program import ArrayProgram
from warpfold.compiler.program.cuts.cut import checked, cut
from warpfold.compiler.program.cuts.steps import Operand, Step, Steps
from warpfold.compiler.program.graph import ELEMENT, KEPT, SECTION, Expr
from warpfold.compiler.program.library.monoids import MAX, SUM
from warpfold.compiler.program.rewrites.one_hot import gathered


def _yes(*_: Any) -> bool:
    return True


def _no(*_: Any) -> bool:
    return False


def _normed() -> ArrayProgram:
    """Rows less their sum, and the greatest of their elements: with sections two steps."""
    m = Maker((0, 1))
    x = m.array(0)
    m.write(m.op("sub", x, m.fold([1], SUM, x)[0]), (0, 1))
    m.write(m.fold([0, 1], MAX, x)[0], ())
    return m.program()


def _with(steps: Steps, number: int, **changes: Any) -> Steps:
    own = list(steps.steps)
    own[number] = replace(own[number], **changes)
    return replace(steps, steps=tuple(own))


def _kernel(step: Step, *outputs: Expr) -> Any:
    return replace(step.program, outputs=outputs)


def _input(space: int) -> Callable[[Steps], Steps]:
    """Steps of which the last one reads its only input along another space."""

    def planted(steps: Steps) -> Steps:
        (fold,) = steps.steps[-1].program.reduces
        e = replace(fold.args[0], space=space)
        made = replace(fold, args=(e,))
        return _with(steps, -1, program=_kernel(steps.steps[-1], Expr("result", (made,), made.dtype, KEPT, 0)))

    return planted


PLANTED: dict[str, Callable[[Steps], Steps]] = {
    "step 1 reads buffer 0 before a step has written it": lambda s: replace(s, steps=s.steps[::-1]),
    "no step writes output 1": lambda s: replace(s, steps=s.steps[:1]),
    "no step writes buffer 1": lambda s: replace(s, buffers=s.buffers * 2),
    "step 2 writes output 0, which is written already": lambda s: replace(s, steps=(s.steps[0], *s.steps)),
    "step 1 writes output 1 along other dims": lambda s: _with(
        s, 0, outputs=(Operand("output", 1), s.steps[0].outputs[1])),
    "step 1 leaves states of sections, and writes no elements": lambda s: _with(
        s, 0, outputs=s.steps[0].outputs[1:], program=_kernel(s.steps[0], s.steps[0].program.outputs[1])),
    "step 1 writes nothing": lambda s: _with(s, 0, outputs=(), program=_kernel(s.steps[0])),
    "step 1 uses the value of a fold": lambda s: _with(
        s, 0, outputs=s.steps[0].outputs[:1], program=_kernel(
            s.steps[0], replace(s.steps[0].program.outputs[0], op="fold"))),
    "step 2 reads buffer 0 along dims": _input(KEPT),
    "step 1 reads view 0 along dims": lambda s: _with(s, 0, reduced=(2,)),
}  # fmt: skip


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_violation_is_found(fault: str) -> None:
    program = _normed()
    steps = cut(program, _yes, splits=_yes)
    assert [o.space for o in steps.steps[0].program.outputs] == [ELEMENT, SECTION]
    with pytest.raises(CompileError, match=f"WF333: the kernels of made would give wrong numbers.*{fault}"):
        checked(program, PLANTED[fault](steps))


def _mean_less(x: Any) -> Any:
    """A fold of rows, a second one, and a fold of all that needs the first."""
    xp = x.__array_namespace__()
    m = xp.mean(x, axis=1, keepdims=True)
    return (x - m - xp.sum(x * x, axis=1, keepdims=True)) / xp.min(m), xp.max(x)


def _two_rows(x: Any) -> Any:
    """Rows and columns, both of which could leave states of sections for the same fold."""
    xp = x.__array_namespace__()
    return x - xp.sum(x, axis=1, keepdims=True), x - xp.sum(x, axis=0), xp.max(x)


def _chosen(x: Any) -> Any:
    """Elements at folded indices, an outer product of them, and norms: a step gathers for two later ones."""
    xp = x.__array_namespace__()
    g = xp.take_along_axis(x, xp.argmin(x * x, axis=0, keepdims=True), axis=0)[0]
    o = g[:, None] * g
    return o / xp.sqrt(xp.sum(o * o, axis=0)), xp.sqrt(xp.sum(o * o, axis=1))


def _constants(x: Any) -> Any:
    """A constant for each column, beside a side fold."""
    xp = x.__array_namespace__()
    return x - xp.sum(x, axis=1, keepdims=True), xp.sum(x, axis=0), xp.ones_like(x[0])


def _of_sides(x: Any) -> Any:
    """Rows of which a side fold is made, and a fold of the same rows that needs the side fold."""
    xp = x.__array_namespace__()
    greatest = xp.max(xp.maximum(xp.sum(x, axis=0), x), axis=1, keepdims=True)
    return xp.mean(x, axis=1), x - 0, x - greatest


def _gathers_of_gathers(x: Any) -> Any:
    xp = x.__array_namespace__()
    first = xp.astype(xp.argmax(x, axis=0, keepdims=True), xp.int64)
    index = xp.take_along_axis(xp.astype(xp.abs(x), xp.int64), first, axis=0) % x.shape[0]
    found = xp.take_along_axis(x, index, axis=0)
    return xp.sum(x * found, axis=0), xp.max(index + 0 * first, axis=1), xp.max(xp.sum(x * found, axis=1))


PROGRAMS = (_mean_less, _two_rows, _chosen, _constants, _of_sides, _gathers_of_gathers)


@pytest.mark.parametrize("function", PROGRAMS)
@pytest.mark.parametrize("owns", [_yes, _no, lambda kept, *_: len(kept) == 1])
def test_programs_that_broke_it_are_right(function: Any, owns: Any) -> None:
    x = np.random.default_rng(4).normal(size=(4, 6)) * 3
    program = gathered(traced(function, x))
    steps = cut(program, owns, joins=owns, splits=owns)
    for found, e in zip(steps_numpy.run(steps, program, [x]), function(x), strict=True):
        np.testing.assert_allclose(found, e, rtol=1e-9)


def test_a_fold_that_is_made_again_has_a_phase_behind_what_it_needs() -> None:
    """Two sums of rows are in two phases, and a third one waits for columns, which wait as well: rows begin twice."""
    m = Maker((0, 1))
    x = m.array(0)
    (first,) = m.fold([1], SUM, x)
    (second,) = m.fold([1], SUM, m.op("mul", x, first))
    (columns,) = m.fold([0], SUM, x)
    (third,) = m.fold([1], SUM, m.op("mul", x, columns))
    (fourth,) = m.fold([0], SUM, m.op("mul", x, columns))
    numbers = [*m.fold([0], SUM, third), *m.fold([1], SUM, fourth)]
    rows = m.op("add", second, third)
    m.write(m.op("add", m.op("add", rows, numbers[0]), numbers[1]), (0,))
    program, arrays = m.program(), [np.random.default_rng(4).normal(size=(3, 4))]
    steps = cut(program, lambda kept, _: kept != (1,))
    assert [len(s.program.reduces) for s in steps.steps if s.kept == (0,)] == [2]
    np.testing.assert_allclose(steps_numpy.run(steps, program, arrays)[0], evaluate(program, arrays)[0], rtol=1e-9)
