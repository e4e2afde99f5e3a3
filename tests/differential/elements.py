"""What arrays are filled with: elements on which a wrong answer shows, and on which NumPy's is known exactly."""

from __future__ import annotations

from typing import Any

import numpy as np

from warpfold.compiler.dtypes import DType, dtype

KINDS = ("whole", "whole", "spread", "ties", "special")
"""``whole``: small whole numbers, whose sums are exact. ``spread``: over the type's range (integers), normally
distributed (floats). ``ties``: three values. ``special``: NaN, infinities, both zeros and denormals among others."""


def elements(kind: str, name: str, size: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """``size`` elements of the type called ``name``; kinds besides KINDS are for products, exponents and masks."""
    t = dtype(name)
    if t.kind == "complex":
        if kind == "factors":
            return _turns(size, rng).astype(t.numpy)
        found = np.empty(size, t.numpy)
        found.real, found.imag = (elements(kind, t.part.name, size, rng) for _ in range(2))
        return found
    if t.kind == "bool":
        odds = {"ties": 0.98, "special": 0.002}.get(kind, 0.5)
        return rng.random(size) < odds
    if t.is_integer:
        return _integers(kind, t, size, rng)
    with np.errstate(all="ignore"):
        return _floats(kind, t, size, rng).astype(t.numpy)


def _integers(kind: str, t: DType, size: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    low, high = int(t.lowest), int(t.highest)
    if kind in ("spread", "special"):
        found = rng.integers(low, high, size, t.numpy, endpoint=True)
        if kind == "special" and size:
            found[rng.integers(0, size, 1 + size // 50)] = rng.choice(np.array([low, high, 0], t.numpy), 1 + size // 50)
        return found
    if kind == "signs":
        return rng.choice(np.array([1, -1], t.numpy), size)
    if kind == "odd":
        return (-2 * rng.integers(0, 100, size) - 1).astype(t.numpy)
    if kind == "ties":
        return rng.choice(np.array([low, high, 1], t.numpy), size)
    return rng.integers(max(low, -9), 9, size, endpoint=True).astype(t.numpy)


def _floats(kind: str, t: DType, size: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    if kind == "whole":
        return rng.integers(-4, 4, size, endpoint=True).astype(float)
    if kind == "ties":
        return rng.choice([-1.5, 0.0, 2.0], size)
    if kind == "signs":
        return rng.choice([1.0, -1.0], size)
    if kind == "zeros":
        return rng.choice([0.0, -0.0], size)
    if kind == "factors":
        return _factors(size, rng)
    if kind == "near factors":
        return 1 + 0.01 * rng.standard_normal(size)
    found = rng.standard_normal(size)
    if kind == "special" and size:
        denormal = float(np.finfo(np.float32).smallest_subnormal) if t.bits > 16 else 2.0**-20
        odd = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, denormal, -denormal])
        odd = rng.choice(odd, 1 + int(rng.integers(0, 3)))  # a few of them, so that not every result is NaN
        found[rng.integers(0, size, 1 + size // 200)] = rng.choice(odd, 1 + size // 200)
    return found


def _factors(size: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Signs, and up to eight factors of 2 or 1/2: products that are exact and leave no type's range."""
    found = rng.choice([1.0, -1.0], size)
    places = rng.integers(0, max(1, size), min(size, 8))
    found[places] *= rng.choice([2.0, 0.5], places.size)
    return found


def _turns(size: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Complex numbers of modulus 1, whose products are exact."""
    return rng.choice(np.array([1, -1, 1j, -1j]), size)
