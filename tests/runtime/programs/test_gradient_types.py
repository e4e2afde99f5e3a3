"""The gradients of every program of the library in every type of elements, as kernels compute them for PyTorch.

In f64 they are compared with differences, in narrower types with those in f64 of the same elements.
"""

from __future__ import annotations

from typing import Any

import library_programs
import numpy as np
import pytest
from covering import some

import warpfold as wf
from warpfold.compiler.dtypes import BF16
from warpfold.compiler.program.library.programs.table import FUNCTIONS

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed")
TYPES = {torch.float32: 1e-5, torch.float16: 2.0**-9, torch.bfloat16: 2.0**-6}
"""The narrower types, and the error that is allowed in each, of the greatest gradient."""


def _one_of_each() -> dict[str, library_programs.Case]:
    """A case of each program that has a gradient."""
    found: dict[str, library_programs.Case] = {}
    for case in library_programs.cases():
        if "f32" in case.name and case.function not in library_programs.WITHOUT_GRADIENT:
            found.setdefault(case.function, case)
    return found


CASES = _one_of_each()
CALLS = [(n, t) for i, n in enumerate(CASES) for t in TYPES if t is torch.bfloat16 or i % 4 == 0]
"""Narrow types: bf16 with every program, the others with some, for their kernels take a third of a second each."""


def _arrays(case: library_programs.Case, kind: Any) -> dict[str, Any]:
    """The arrays of a case; those of floats are tensors of a type that require gradients."""
    found: dict[str, Any] = {}
    for name, a in case.arrays.items():
        if name in ("seed", "offset"):
            found[name] = a
        elif a.dtype == BF16.numpy or np.issubdtype(a.dtype, np.floating):
            x = torch.tensor(a.astype(np.float64)).to(kind)
            found[name] = x.requires_grad_(not name.startswith("running"))
        else:
            found[name] = torch.tensor(a)
    return found


def _results(case: library_programs.Case, given: dict[str, Any]) -> list[Any]:
    """The results of a case that have gradients."""
    found = getattr(wf, case.function)(**given, **case.params)
    return [r for r in (found if isinstance(found, tuple) else (found,)) if r.requires_grad]


def _gradients(case: library_programs.Case, given: dict[str, Any]) -> list[Any]:
    """The gradients of a sum of all results with weights."""
    total = 0.0
    for i, r in enumerate(_results(case, given)):
        weights = torch.randn(r.shape, generator=torch.Generator().manual_seed(i), dtype=torch.float64).to(r.dtype)
        total = total + (r.double() * weights.double()).sum()
    leaves = [x for x in given.values() if torch.is_tensor(x) and x.requires_grad]
    return list(torch.autograd.grad(total, leaves))


@pytest.mark.parametrize("name", some(CASES, 6))
def test_gradients_in_f64_are_differences(name: str) -> None:
    case = CASES[name]
    given = _arrays(case, torch.float64)
    names = [n for n, x in given.items() if torch.is_tensor(x) and x.requires_grad]

    def results(*xs: Any) -> tuple[Any, ...]:
        return tuple(_results(case, given | dict(zip(names, xs, strict=True))))

    assert torch.autograd.gradcheck(results, [given[n] for n in names], fast_mode=True)


@pytest.mark.parametrize(("name", "kind"), some(CALLS, 9))
def test_gradients_in_narrow_types_are_those_in_f64(name: str, kind: Any) -> None:
    case = CASES[name]
    given = _arrays(case, kind)
    wide = {n: _widened(x) for n, x in given.items()}
    for found, wanted in zip(_gradients(case, given), _gradients(case, wide), strict=True):
        assert found.dtype == kind
        assert float((found.double() - wanted).abs().max()) <= TYPES[kind] * float(wanted.abs().max())


def _widened(x: Any) -> Any:
    """A tensor of floats in f64; anything else as it is."""
    is_float = torch.is_tensor(x) and x.is_floating_point()
    return x.detach().double().requires_grad_(x.requires_grad) if is_float else x


def test_every_program_with_a_gradient_is_compared() -> None:
    assert set(CASES) == set(FUNCTIONS) - library_programs.WITHOUT_GRADIENT
