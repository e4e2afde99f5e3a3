"""Phases: a fold that uses the result of another one on the elements comes later."""

from __future__ import annotations

from typing import Any

import pytest

from tests.compiler.program.made_programs import Maker, softmax
from warpfold.compiler.program.cuts.grouped import grouped
from warpfold.compiler.program.library.monoids import MAX, SUM


def test_each_phase_uses_those_before_it() -> None:
    (group,) = grouped(softmax(), lambda *_: True, (0, 1))
    assert [len(phase) for phase in group.phases] == [1, 1]
    assert not group.is_plain


def test_rows_that_nobody_owns_have_one_phase_a_step() -> None:
    groups = grouped(softmax(), lambda *_: False, (0, 1))
    assert [(len(g.phases), g.is_plain) for g in groups] == [(1, True), (1, True), (0, False)]


def test_folds_of_a_phase_may_be_many() -> None:
    m = Maker((0, 1))
    x = m.array(0)
    greatest, total = m.fold([1], MAX, x)[0], m.fold([1], SUM, x)[0]
    m.write(m.op("sub", m.op("mul", x, greatest), total), (0, 1))
    (group,) = grouped(m.program(), lambda *_: True, (0, 1))
    assert [len(phase) for phase in group.phases] == [2]


def test_the_planner_is_asked_for_kept_and_reduced_dims() -> None:
    asked = []
    grouped(softmax(), lambda kept, reduced: asked.append((kept, reduced)) or True, (0, 1))  # type: ignore[func-returns-value]
    assert set(asked) == {((0,), (1,))}


def test_a_fold_that_a_row_needs_to_write_its_elements_comes_before_the_row() -> None:
    """The fold over the rows' results, along the same dims, comes after it."""
    m = Maker((0, 1), (0,))
    x, w = m.array(0), m.array(1)
    (of_row,) = m.fold([1], SUM, x)
    (factor,) = m.fold([0], SUM, w)
    (total,) = m.fold([0], SUM, of_row)
    m.write(total, ())
    m.write(m.op("mul", m.op("div", x, of_row), factor), (0, 1))
    groups = grouped(m.program(), lambda *_: True, (0, 1))
    assert [(g.kept, g.reduced) for g in groups] == [(0, 1), (1, 2), (0, 1)]
    assert [w.operand.number for w in groups[1].written] == [1]


def test_a_step_makes_no_fold_that_needs_its_own_where_nobody_owns_its_rows() -> None:
    """A value of each row needs both folds, and one over the rows, whose step comes after both of them."""
    m = Maker((0, 1), (0,))
    x, c = m.array(0), m.array(1)
    greatest = m.fold([1], MAX, x)[0]
    (of_row,) = m.fold([1], SUM, m.op("sub", x, greatest))
    (total,) = m.fold([0], SUM, c)
    m.write(m.op("mul", m.op("mul", c, total), of_row), (0,))
    groups = grouped(m.program(), lambda _, reduced: reduced == (0,), (0, 1))
    assert [(g.reduced, [len(phase) for phase in g.phases]) for g in groups] == [(2, [1]), (2, [1]), (1, [1])]


def _with_sides(*, of_result: bool = False) -> Any:
    """A softmax of each row, and the sum of its columns or of those of the array."""
    m = Maker((0, 1))
    x = m.array(0)
    greatest = m.fold([1], MAX, x)[0]
    m.write(m.op("sub", x, greatest), (0, 1))
    m.write(m.fold([0], SUM, m.op("sub", x, greatest) if of_result else x)[0], (1,))
    return m.program()


@pytest.mark.parametrize("of_result", [False, True])
def test_a_fold_over_the_rows_joins_their_step(of_result: bool) -> None:
    program = _with_sides(of_result=of_result)
    (group,) = grouped(program, lambda *_: True, (0, 1), joins=lambda kept, _: kept == (0,))
    assert [len(group.phases), len(group.sides)] == [1, 1]
    assert not group.is_plain
    assert [group.is_side(w) for w in group.written] == [True, False]


def test_no_fold_over_the_rows_joins_where_the_planner_says_no() -> None:
    groups = grouped(_with_sides(), lambda *_: True, (0, 1))
    assert [len(g.sides) for g in groups] == [0, 0]


def test_a_fold_that_needs_another_one_over_the_rows_does_not_join() -> None:
    m = Maker((0, 1))
    x = m.array(0)
    greatest, total = m.fold([1], MAX, x)[0], m.fold([0], SUM, x)[0]
    m.write(m.op("sub", x, greatest), (0, 1))
    m.write(m.fold([0], SUM, m.op("sub", x, total))[0], (1,))
    first, second = grouped(m.program(), lambda *_: True, (0, 1), joins=lambda kept, _: kept == (0,))
    assert [len(first.sides), len(second.sides)] == [1, 0]
