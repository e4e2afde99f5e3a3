"""Monoids and programs of a user's: their order, states of several values, masks, all against a loop in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import warpfold as wf
from warpfold.compiler.dtypes import accumulator, dtype

from .budget import MONOIDS, search
from .case import Case
from .layouts import axes, broadcastable, layouts, shapes
from .reference import rows
from .user_monoids import SUBJECTS, Subject


@st.composite
def cases(draw: st.DrawFn, name: str) -> Case:
    """A call of one subject; its name is the function of the case."""
    subject = SUBJECTS[name]
    t = draw(st.sampled_from(subject.dtypes))
    shape = draw(shapes(most=2100))
    arrays = tuple(draw(layouts(t, shape)) for _ in range(subject.inputs))
    masked = subject.masks and subject.empty and draw(st.integers(0, 2)) == 0
    mask = draw(layouts("bool", draw(broadcastable(shape)))) if masked else None
    keepdims = (("keepdims", True),) if draw(st.booleans()) else ()
    return Case(name, arrays, draw(axes(len(shape))), subject.elements, draw(st.integers(0, 2**20)), keepdims, mask)


@pytest.mark.parametrize("name", SUBJECTS)
def test_the_result_is_that_of_a_loop(name: str, device: str) -> None:
    search(f"monoid {name}", cases(name), MONOIDS[name], lambda case: _check(case, SUBJECTS[name], device))


def _check(case: Case, subject: Subject, device: str) -> None:
    xs = [a.array(case.elements, case.seed + i) for i, a in enumerate(case.arrays)]
    mask = case.mask.array("whole", case.seed + 9) if case.mask else None
    arguments = {**dict(case.arguments), **dict(subject.params), "axis": case.axis, "device": device, "where": mask}
    flat = rows(np.broadcast_arrays(*xs), mask, case.axes)
    if not subject.empty and flat.mask.shape[1] == 0 and flat.mask.shape[0]:
        with pytest.raises(wf.WarpfoldError, match="WF104"):
            wf.reduce(*xs, what=subject.what, **arguments)
        return
    got = wf.reduce(*xs, what=subject.what, **arguments)
    found = list(got) if isinstance(got, tuple) else [got]
    types = [a.dtype if subject.selects else accumulator(dtype(a.dtype)).numpy for a in xs]
    wanted = _loop(subject, [x.astype(t) for x, t in zip(flat.arrays, types, strict=True)], flat.mask)
    assert len(found) == len(wanted)
    for g, w in zip(found, wanted, strict=True):
        assert np.shape(g) == case.result_shape, case
        assert dtype(np.asarray(g).dtype) == dtype(w.dtype), case
        assert np.array_equal(np.asarray(g).reshape(-1), w), f"{g} is not {w} for {case}"


def _loop(subject: Subject, xs: list[Any], mask: Any) -> list[Any]:
    """The state after one element after the other, for all results side by side, in the type of the arrays given."""
    t = xs[0].dtype
    state = tuple(np.full(len(mask), s, bool if isinstance(s, bool) else t) for s in subject.start)
    with np.errstate(all="ignore"):
        for i in range(mask.shape[1]):
            new = subject.step(state, tuple(x[:, i] for x in xs))
            state = tuple(np.where(mask[:, i], n, s).astype(s.dtype) for n, s in zip(new, state, strict=True))
    return [np.asarray(r) for r in subject.finish(*state)]
