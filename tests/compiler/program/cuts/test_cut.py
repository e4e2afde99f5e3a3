"""The steps of an array program compute what the program says, and are as few as they can be."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from tests.compiler.program import steps_numpy
from tests.compiler.program.made_programs import Maker, batch_norm, random_program, softmax
from warpfold.commands.checking.array_values import evaluate
from warpfold.compiler.dtypes import F32, F64
from warpfold.compiler.program.array_program import ArrayProgram
from warpfold.compiler.program.cuts.cut import cut
from warpfold.compiler.program.cuts.groups import Owns
from warpfold.compiler.program.cuts.steps import Buffer, Operand, Steps
from warpfold.compiler.program.graph import ELEMENT, KEPT, REDUCED
from warpfold.compiler.program.library.monoids import MAX, SUM

Dims = tuple[int, ...]


def everything(*_: Dims) -> bool:
    return True


def nothing(*_: Dims) -> bool:
    return False


def _arrays(program: ArrayProgram, rng: np.random.Generator, sizes: Dims = (3, 4, 2)) -> list[np.ndarray]:
    shapes: dict[int, dict[int, int]] = {i: {} for i in range(len(program.arrays))}
    for d, axes in enumerate(program.dims):
        for a, i in axes:
            shapes[a][i] = sizes[d]
    return [rng.normal(size=[n for _, n in sorted(shapes[i].items())]) for i in range(len(program.arrays))]


def _agree(
    program: ArrayProgram,
    owns: Owns,
    order: Sequence[int] | None = None,
    rng: np.random.Generator | None = None,
    rtol: float = 1e-12,
) -> Steps:
    """The steps of a program, whose results are those of the program itself."""
    steps = cut(program, owns, order)
    arrays = _arrays(program, rng or np.random.default_rng(5))
    expected, found = evaluate(program, arrays), steps_numpy.run(steps, program, arrays)
    for e, f in zip(expected, found, strict=True):
        np.testing.assert_allclose(f, e, rtol=rtol, atol=1e-12)
    return steps


def test_softmax_of_owned_rows_is_one_step_of_two_phases() -> None:
    (step,) = _agree(softmax(), everything).steps
    assert (step.kept, step.reduced, step.inputs) == ((0,), (1,), (Operand("view", 0),))
    assert step.program.name == "softmax"
    assert len(step.program.reduces) == 2
    assert step.program.outputs[0].space == ELEMENT


def test_softmax_of_longer_rows_is_one_online_fold_and_a_map() -> None:
    steps = _agree(softmax(), nothing)
    first, last = steps.steps
    assert [e.value.name for e in first.program.reduces] == ["LOGSUMEXP"]
    assert [o.space for o in first.program.outputs] == [KEPT, KEPT]
    assert not last.program.reduces
    assert last.program.input_spaces == (ELEMENT, KEPT, KEPT)
    assert (last.kept, last.reduced) == ((0,), (1,))
    assert steps.buffers == (Buffer(F64, (0,)), Buffer(F64, (0,)))


def test_columns_of_a_batch_norm_cross_the_cut_as_finished_values() -> None:
    steps = _agree(batch_norm(), nothing, rtol=1e-9)
    first, last = steps.steps
    assert [e.value.name for e in first.program.reduces] == ["WELFORD"]
    assert first.counted == (0,)
    assert steps.buffers == (Buffer(F64, (1,)), Buffer(F64, (1,)))  # the mean and the root, not sum, count and squares
    assert not last.counted
    assert first.outputs.count(Operand("output", 1)) == 1


def test_a_weight_is_an_input_of_the_reduced_space() -> None:
    m = Maker((0, 1), (1,))
    x = m.array(0)
    m.write(m.op("mul", m.op("sub", x, m.fold([1], MAX, x)[0]), m.array(1)), (0, 1))
    (step,) = _agree(m.program(), everything).steps
    assert step.program.input_spaces == (ELEMENT, REDUCED)


def test_independent_folds_of_the_same_elements_are_one_reduction() -> None:
    m = Maker((0, 1))
    m.write(m.fold([1], SUM, m.array(0))[0], (0,))
    m.write(m.fold([1], MAX, m.array(0))[0], (0,))
    (step,) = _agree(m.program(), nothing).steps
    assert [e.value.name for e in step.program.reduces] == ["SUM+MAX"]


def test_folds_over_other_dims_are_other_steps() -> None:
    m = Maker((0, 1))
    m.write(m.fold([1], SUM, m.array(0))[0], (0,))
    m.write(m.fold([0], SUM, m.array(0))[0], (1,))
    assert [s.reduced for s in _agree(m.program(), everything).steps] == [(1,), (0,)]


def test_a_fold_waits_so_that_another_one_over_its_dims_needs_no_step_of_its_own() -> None:
    m = Maker((0, 1))
    x = m.array(0)
    (rows,) = m.fold([1], SUM, x)
    (columns,) = m.fold([0], SUM, x)
    (later,) = m.fold([1], SUM, m.op("mul", x, columns))
    m.write(m.op("add", rows, later), (0,))
    assert [s.reduced for s in _agree(m.program(), everything).steps] == [(0,), (1,)]


def test_a_result_of_other_dims_is_a_step_of_its_own() -> None:
    m = Maker((0, 1), (1,))
    m.write(m.fold([1], SUM, m.array(0))[0], (0,))
    m.write(m.op("neg", m.array(1)), (1,))
    _, second = _agree(m.program(), everything).steps
    assert (second.kept, second.reduced) == ((), (1,))


def test_results_along_the_same_dims_are_one_step() -> None:
    m = Maker((0, 1))
    x = m.array(0)
    m.write(m.op("neg", x), (0, 1))
    m.write(m.op("abs", x), (1, 0))
    (step,) = _agree(m.program(), everything).steps
    assert (step.kept, step.reduced) == ((), (0, 1))


def test_a_result_that_reads_the_elements_of_a_fold_is_written_with_it() -> None:
    m = Maker((0, 1))
    m.write(m.fold([1], SUM, m.array(0))[0], (0,))
    m.write(m.op("neg", m.array(0)), (0, 1))
    assert len(_agree(m.program(), everything).steps) == 1
    assert len(_agree(m.program(), nothing).steps) == 2


def test_a_map_shares_the_innermost_dims_in_memory_among_threads() -> None:
    m = Maker((0, 1, 2), (1,))
    m.write(m.op("mul", m.array(0), m.array(1)), (0, 1, 2))
    (step,) = _agree(m.program(), everything).steps
    assert (step.kept, step.reduced) == ((0, 1), (2,))
    (step,) = _agree(m.program(), everything, order=(0, 2, 1)).steps
    assert (step.kept, step.reduced) == ((0, 2), (1,))


def test_a_value_of_fewer_dims_than_its_array_is_broadcast() -> None:
    m = Maker((0, 1), (1,))
    m.write(m.fold([1], SUM, m.array(0))[0], (0, 1))
    m.write(m.array(1), (0, 1))
    _agree(m.program(), everything)
    _agree(m.program(), nothing)


def test_a_plain_step_writes_nothing_that_needs_another_array() -> None:
    m = Maker((0, 1), (0,))
    m.write(m.op("mul", m.fold([1], SUM, m.array(0))[0], m.array(1)), (0,))
    first, last = _agree(m.program(), nothing).steps
    assert first.program.inputs == (F64,)
    assert last.inputs == (Operand("view", 1), Operand("buffer", 0)) or len(last.inputs) == 2


def test_results_are_converted_to_the_type_of_their_array() -> None:
    m = Maker((0,))
    m.write(m.op("neg", m.array(0)), (0,))
    m.outputs[0] = m.outputs[0]._replace(dtype=F32)
    (step,) = _agree(m.program(), everything, rtol=1e-6).steps
    assert step.program.outputs[0].dtype == F32


def test_numbers_of_elements_along_kept_dims_are_written_once() -> None:
    m = Maker((0, 1))
    m.write(m.op("cast", m.op("add", m.iota((0,)), m.iota((1,))), dtype=F64), (0, 1))
    m.write(m.op("cast", m.iota((1, 0)), dtype=F64), (0, 1))
    _agree(m.program(), everything)


def test_a_program_of_numbers_alone() -> None:
    m = Maker((), ())
    m.write(m.op("add", m.array(0), m.array(1)), ())
    (step,) = _agree(m.program(), everything).steps
    assert (step.kept, step.reduced, step.program.input_spaces) == ((), (), (ELEMENT, ELEMENT))


@pytest.mark.parametrize("seed", range(400))
def test_random_programs_compute_the_same_in_steps(seed: int) -> None:
    rng = random.Random(seed)
    program = random_program(rng)
    answers: dict[object, bool] = {}
    order = rng.sample(range(len(program.dims)), len(program.dims))

    def owns(kept: Dims, reduced: Dims) -> bool:
        return answers.setdefault((kept, reduced), rng.random() < 0.5)

    _agree(program, owns, order, np.random.default_rng(seed), rtol=1e-9)
