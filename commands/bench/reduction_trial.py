"""Prepares a reduction: its arrays, warpfold's calls, its plan, and the check of its result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...runtime import named_reductions
from ...runtime.arrays.conversion import to_numpy
from ...runtime.programs.reductions import prepared
from ...runtime.view import View
from .answers import answer, error_of
from .cases import Case
from .inputs import SETS, Arrays, Owned
from .trial import Trial

if TYPE_CHECKING:
    from ...runtime.backends.cuda_backend import CudaBackend


def trial(case: Case, arrays: Arrays, backend: CudaBackend) -> Trial:
    """A reduction, ready."""
    xs = [arrays.random(case, i) for i in range(SETS)]
    out = arrays.empty(case.kept, case.result)
    seen = backend.get(xs[0].view, 0) if isinstance(xs[0], Owned) else xs[0]
    expected = answer(case, seen)
    chosen = prepared([xs[0]], case.what, case.axis, out=out)[1].steps[0].prepared.choice
    reduce = getattr(named_reductions, case.what)
    ours = [lambda x=x: reduce(x, axis=case.axis, out=out) for x in xs]

    def check(result: Any, _: bool) -> tuple[float, bool]:
        return error_of(case, expected, _host(result, backend), seen)

    return Trial(xs, ours, check, plan=chosen.plan.to_dict(), reasons=list(chosen.reasons))


def _host(result: Any, backend: CudaBackend) -> np.ndarray[Any, Any]:
    return backend.get(result, 0) if isinstance(result, View) else to_numpy(result)
