"""Nodes of an array program as those of a kernel program: spaces, counts, numbers, names."""

from __future__ import annotations

from tests.compiler.program.made_programs import Maker, softmax
from warpfold.compiler.dtypes import F32, F64, I32
from warpfold.compiler.program.cuts.cut import cut
from warpfold.compiler.program.cuts.steps import Buffer, Operand
from warpfold.compiler.program.graph import ELEMENT, KEPT, REDUCED, SCALAR, walk
from warpfold.compiler.program.library.monoids import SUM
from warpfold.compiler.program.library.reductions import sum as total
from warpfold.compiler.program.tracing import program


def test_a_plain_reduction_is_the_program_of_the_named_one() -> None:
    """So both share a kernel."""
    m = Maker((0, 1), dtype=F32)
    m.write(m.fold([1], SUM, m.array(0))[0], (0,))
    (step,) = cut(m.program(), lambda *_: True).steps
    assert step.program.digest == program(total, (F32,)).digest


def test_where_all_dims_are_reduced_elements_have_the_space_of_elements() -> None:
    m = Maker((0, 1), (), (1,))
    x = m.op("mul", m.op("mul", m.array(0), m.array(1)), m.array(2))
    m.write(m.op("neg", x), (0, 1))
    m.write(m.fold([0, 1], SUM, x)[0], ())
    (step,) = cut(m.program(), lambda *_: True).steps
    assert step.program.input_spaces == (ELEMENT, KEPT, ELEMENT)


def test_steps_of_one_program_have_names_of_their_own() -> None:
    steps = cut(softmax(), lambda *_: False).steps
    assert [s.program.name for s in steps] == ["softmax_0", "softmax_1"]


def test_a_step_that_is_no_plain_reduction_counts_along_any_dims() -> None:
    m = Maker((0, 1))
    counted = m.op("mul", m.op("mul", m.array(0), m.count((0,))), m.count((1,)))
    m.write(m.op("mul", counted, m.op("cast", m.iota((1,)), dtype=F64)), (0, 1))
    (step,) = cut(m.program(), lambda *_: True).steps
    assert (step.counted, step.numbered, step.program.numberings) == ((0,), ((1,), (1,)), (SCALAR, REDUCED))


def test_a_second_count_of_a_plain_reduction_is_written_by_a_step_of_its_own() -> None:
    m = Maker((0, 1))
    (total,) = m.fold([1], SUM, m.op("mul", m.op("mul", m.array(0), m.count((0,))), m.count((1,))))
    m.write(total, (0,))
    steps = cut(m.program(), lambda *_: True)
    first, second = steps.steps
    assert (first.kept, first.reduced, first.counted, second.counted) == ((), (), (0,), (1,))
    assert steps.buffers == (Buffer(F64, ()),)
    assert second.inputs == (Operand("view", 0), Operand("buffer", 0))


def test_a_step_that_reads_its_rows_again_makes_all_numbers() -> None:
    m = Maker((0, 1))
    (total,) = m.fold([1], SUM, m.array(0))
    numbers = [m.op("cast", m.iota(dims), dtype=F64) for dims in ((0, 1), (1,), (0,), (1, 0))]
    y = m.op("div", m.array(0), total)
    for number in (*numbers, m.op("cast", m.iota((0,), I32), dtype=F64)):
        y = m.op("add", y, number)
    m.write(y, (0, 1))
    (step,) = cut(m.program(), lambda *_: True).steps
    assert step.numbered == ((0, 1), (1,), (0,), (1, 0))
    assert step.program.numberings == (ELEMENT, REDUCED, KEPT, ELEMENT)
    assert not step.program.uses_index


def test_a_plain_reduction_reads_numbers_along_kept_dims_from_a_buffer() -> None:
    m = Maker((0, 1))
    m.write(m.fold([1], SUM, m.op("mul", m.array(0), m.op("cast", m.iota((0, 1)), dtype=F64)))[0], (0,))
    first, second = cut(m.program(), lambda *_: True).steps
    assert (first.numbered, first.reduced, second.numbered) == (((0, 1),), (0,), ((0, 1),))
    assert (second.inputs[1], second.program.uses_index) == (Operand("buffer", 0), True)


def test_a_result_along_more_dims_than_its_value_is_broadcast() -> None:
    m = Maker((0, 1))
    m.write(m.fold([1], SUM, m.array(0))[0], (0, 1))
    (step,) = cut(m.program(), lambda *_: True).steps
    (output,) = step.program.outputs
    assert (output.op, output.space, output.args[0].space) == ("broadcast", ELEMENT, KEPT)
    m = Maker((0, 1), (1,))
    m.write(m.op("neg", m.array(0)), (0, 1))
    m.write(m.array(1), (0, 1))
    (step,) = cut(m.program(), lambda *_: True).steps
    assert [o.space for o in step.program.outputs] == [ELEMENT, REDUCED]


def test_a_costly_value_of_rows_is_computed_by_one_step() -> None:
    """The elements read the buffer that the fold reads."""
    m = Maker((0, 1), (0,))
    scaled = m.op("mul", m.array(0), m.op("sqrt", m.array(1)))
    m.write(m.op("add", scaled, m.fold([1], SUM, scaled)[0]), (0, 1))
    first, *others = cut(m.program(), lambda *_: False).steps
    assert [s.inputs.count(first.outputs[0]) for s in others] == [1, 1]
    assert [any(e.op == "sqrt" for e in walk(s.program.outputs)) for s in (first, *others)] == [True, False, False]


def test_a_step_of_rows_computes_what_the_elements_read_of_their_rows() -> None:
    """Without one they compute it: a step for that alone costs a launch."""
    for with_rows in (True, False):
        m = Maker((0, 1), (0,))
        (total,) = m.fold([1], SUM, m.array(0))
        scaled = m.op("mul", total, m.op("sqrt", m.array(1)))
        m.write(m.op("mul", m.array(0), m.op("neg", scaled)), (0, 1))
        if with_rows:
            m.write(scaled, (0,))
        steps = cut(m.program(), lambda *_: False).steps
        roots = [any(e.op == "sqrt" for e in walk(s.program.outputs)) for s in steps]
        assert roots == ([False, True, False] if with_rows else [False, True])
        assert [len(s.inputs) for s in steps] == ([1, 2, 2] if with_rows else [1, 3])


def test_costly_values_along_the_same_dims_are_computed_by_one_step() -> None:
    m = Maker((0, 1), (0,), (0,))
    for i in (1, 2):
        m.write(m.fold([1], SUM, m.op("mul", m.array(0), m.op("sqrt", m.array(i))))[0], (0,))
    first, *others = cut(m.program(), lambda *_: False).steps
    assert [sum(e.op == "sqrt" for e in walk(s.program.outputs)) for s in (first, *others)] == [2, 0]
    assert set(first.outputs) < set(others[0].inputs)
