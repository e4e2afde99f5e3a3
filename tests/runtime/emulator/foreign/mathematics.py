"""CUDA's math library, within the errors that its documentation states."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .case import Model, case, rng, zeros


def _applied(*functions: Callable[[float], float]) -> Model:
    return lambda x, _: [np.array([f(float(v)) for f in functions for v in x], "f8")]


_m = rng("math").normal(size=100).astype("f4") * 3
case(
    "math",
    "singles",
    2,
    64,
    [_m],
    [zeros(1700, "f4")],
    numbers=(100,),
    close=2e-6,
    model=_applied(
        math.exp,
        lambda v: 2.0**v,
        math.expm1,
        lambda v: math.log(abs(v)),
        lambda v: math.log2(abs(v)),
        lambda v: math.log1p(abs(v)),
        math.sin,
        lambda v: math.cos(float(np.float32(v) * np.float32(1e5))),
        math.tanh,
        math.erf,
        lambda v: abs(v) ** float(np.float32(1.7)),
        np.cbrt,
        lambda v: abs(v) ** -0.5,
        lambda v: math.hypot(v, 3),
        lambda v: math.atan2(v, 2),
        lambda v: math.fmod(v, 1.25),
        lambda v: math.lgamma(float(np.float32(abs(v)) + np.float32(1))),
    ),
)
case(
    "math",
    "fast",
    2,
    64,
    [_m],
    [zeros(600, "f4")],
    numbers=(100,),
    close=2e-5,
    model=_applied(
        math.exp, lambda v: math.log(abs(v)), math.sin, lambda v: v / 3, lambda v: abs(v) ** 0.5, lambda v: 1 / v
    ),
)
case(
    "math",
    "doubled",
    2,
    64,
    [_m.astype("f8") * 1.1],
    [zeros(800, "f8")],
    numbers=(100,),
    close=1e-14,
    model=_applied(
        math.exp,
        lambda v: math.log(abs(v)),
        lambda v: math.sin(v * 1e6),
        lambda v: abs(v) ** 1.25,
        math.tanh,
        math.erf,
        np.cbrt,
        lambda v: abs(v) ** -0.5,
    ),
)
