"""Every rung of the ladder serves every monoid and shape or says why not: against NumPy in wider types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from covering import covering

import warpfold as wf
from warpfold.compiler.errors import PlanError
from warpfold.compiler.plan.ladder import RUNGS, Rung
from warpfold.compiler.plan.shared_memory import global_states
from warpfold.runtime.api import plan_for
from warpfold.runtime.backends.kernel_calls import scratch
from warpfold.runtime.prepare import artifact

ATOMIC = [rung for rung in RUNGS if "finish=atomic" in rung.options]
SHAPES: list[tuple[tuple[int, ...], int | None]] = [((2357,), None), ((5, 301), 1), ((301, 37), 0), ((3, 1, 2), 1)]


@wf.monoid(identity=(0.0, 0.0, -np.inf))
def SPREAD(a: Any, b: Any) -> Any:  # noqa: N802
    """Two sums and a maximum."""
    return a[0] + b[0], a[1] + b[1], wf.maximum(a[2], b[2])


def spread(x: Any) -> Any:
    """A program around a user's monoid of three values."""
    return wf.fold(SPREAD, x, x * x, x)


@wf.monoid(identity=(1, 0), commutative=False)
def AFFINE(a: Any, b: Any) -> Any:  # noqa: N802
    """The composition of x -> s x + t: its order matters."""
    (s, t), (u, v) = a, b
    return s * u, t * u + v


def affine(x: Any) -> Any:
    """A program around a monoid that is not commutative."""
    return wf.fold(AFFINE, x, x + 1)


@dataclass(frozen=True)
class Case:
    """A reduction, the type of its elements, NumPy's answer along an axis, and whether there is an atomic for it."""

    what: Any
    dtype: str
    answer: Callable[[Any, Any], Any]
    atomic: bool = False

    def __str__(self) -> str:
        return f"{getattr(self.what, '__name__', self.what)}-{self.dtype}"


CASES = [
    Case("sum", "f4", lambda x, a: x.astype("f8").sum(a), atomic=True),
    Case("sum", "i4", lambda x, a: x.sum(a, dtype="i8"), atomic=True),
    Case("prod", "f4", lambda x, a: x.astype("f8").prod(a)),
    Case("max", "i4", lambda x, a: x.max(a), atomic=True),
    Case("argmax", "f4", lambda x, a: x.argmax(a), atomic=True),
    Case("argmax", "f8", lambda x, a: x.argmax(a)),
    Case("mean_var", "f4", lambda x, a: (x.astype("f8").mean(a), x.astype("f8").var(a))),
    Case("logsumexp", "f4", lambda x, a: np.log(np.exp(x.astype("f8")).sum(a))),
    Case(spread, "f4", lambda x, a: (x.astype("f8").sum(a), (x.astype("f8") ** 2).sum(a), x.max(a))),
    Case("any", "?", lambda x, a: x.any(a)),
]


def elements(case: Case, shape: tuple[int, ...]) -> Any:
    """Few distinct values, so that argmax has ties; powers of two for products."""
    rng = np.random.default_rng(sum(shape))
    if case.what == "prod":
        return rng.choice(np.array([-2, -1, 0.5, 1], "f4"), shape)
    x = rng.integers(-9, 9, shape)
    return x == 8 if case.dtype == "?" else x.astype(case.dtype)


def check(case: Case, options: str, shape: tuple[int, ...], axis: int | None) -> None:
    x = elements(case, shape)
    got = wf.reduce(x, what=case.what, axis=axis, plan=options, determinism="none", device="emulator")
    wanted = case.answer(x, axis)
    pairs = zip(got, wanted, strict=True) if isinstance(wanted, tuple) else [(got, wanted)]
    for g, w in pairs:
        np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-5)


@covering(("rung", RUNGS, lambda r: r.name), ("case", CASES, str))
def test_every_rung_serves_every_monoid(rung: Rung, case: Case) -> None:
    """Each pair on one shape: every shape is used with every rung and with every monoid."""
    shape, axis = SHAPES[(RUNGS.index(rung) + CASES.index(case)) % len(SHAPES)]
    if rung in ATOMIC and not case.atomic:
        with pytest.raises(PlanError, match=r"WF408: finish=atomic is not exact for .*: no atomic instruction"):
            check(case, rung.name, shape, axis)
        return
    check(case, rung.name, shape, axis)


@covering(
    ("method", ["serial", "interleaved", "sequential", "warp_sync", "unrolled"]), ("exchange", ["shared", "global"])
)
def test_order_is_kept_where_it_matters(method: str, exchange: str) -> None:
    x = np.random.default_rng(1).integers(-(2**31), 2**31, 3001).astype(np.int32)
    s, t = np.int64(1), np.int64(0)
    with np.errstate(over="ignore"):
        for v in x.astype(np.int64):  # as wide as a sum of such elements
            s, t = s * v, t * v + (v + 1)
    for finish in ("cta", "last_block", "two_kernels"):
        options = f"cta={method},exchange={exchange},finish={finish},unroll=2"
        assert wf.reduce(x, what=affine, plan=options, device="emulator") == (s, t)


@pytest.mark.parametrize("finish", ["last_block", "two_kernels"])
@pytest.mark.parametrize(("shape", "axis"), [((1 << 17,), None), ((3, 70000), 1), ((70000, 3), 0)])
def test_every_cta_has_a_buffer_of_its_own(finish: str, shape: tuple[int, ...], axis: int | None) -> None:
    """Beside the partials there is an array per value, one after the other; a later kernel may use them again."""
    ready = plan_for(
        "argmax", shape, "f64", axis=axis, plan=f"cta=sequential,exchange=global,finish={finish},coarsening=16"
    )
    found, run = artifact(ready), ready.choice.run
    space = scratch(found, ready.geometry, run)
    ctas, states = run.tiles * run.split, ready.geometry.n_kept * run.split
    assert run.split > 1
    sizes = [n * t.itemsize for n in (states, ctas * global_states(found.plan)) for t in found.state]
    starts = [*space.offsets, *space.exchange]
    assert [b - a >= n for a, b, n in zip(starts, [*starts[1:], space.nbytes], sizes, strict=True)] == [True] * 4
