"""The gradient of every program of the library, on its cases, beside differences."""

from __future__ import annotations

import library_programs
import pytest
from covering import some

from warpfold.commands.checking.gradients import compared
from warpfold.compiler.dtypes import dtype
from warpfold.compiler.program.library.programs.table import FUNCTIONS

CASES = {
    c.name: c
    for c in library_programs.cases()
    if c.function not in library_programs.WITHOUT_GRADIENT
    and ("f32" in c.name or "1000" not in c.name)  # the graph alone: sizes change little
}


@pytest.mark.parametrize("name", some(CASES, 21))
def test_gradients_are_differences(name: str) -> None:
    case = CASES[name]
    function, program = library_programs.positional(FUNCTIONS[case.function], case.arrays, **case.params)
    arrays = [a for a in case.arrays.values() if a is not None]
    found = compared(function, program, arrays, 0)  # the results of 8-bit types have no gradient
    assert {c.array for c in found} == {i for i, a in enumerate(arrays) if dtype(a.dtype).is_float}
    wrong = [c for c in found if not c.passed]
    assert not wrong, wrong[0]


def test_every_program_is_compared() -> None:
    assert {c.function for c in CASES.values()} == set(FUNCTIONS) - library_programs.WITHOUT_GRADIENT
