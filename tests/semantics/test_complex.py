"""docs/semantics.md: complex numbers."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import types_page
from meanings import INF, NAN, on_emulator, product, reduce, refused

import warpfold as wf


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", ["sum", "prod", "mean", "norm", "dot", "vecdot", "any", "all", "count_nonzero",
                                  "allclose", "array_equal"])  # fmt: skip
def test_complex_functions(name: str, dtype: Any) -> None:
    x = np.array([3 + 4j, 1 - 2j, 0.5j], dtype)
    arrays = [x] * types_page.arrays_of(name)
    got, wanted = on_emulator(name)(*arrays), (np.linalg.norm if name == "norm" else getattr(np, name))(*arrays)
    assert np.asarray(got).dtype == np.asarray(wanted).dtype
    np.testing.assert_allclose(got, wanted, rtol=1e-6)
    for order in (0, 1, 3, INF, -INF):
        np.testing.assert_allclose(on_emulator("norm")(x, ord=order), np.linalg.norm(x, order), rtol=1e-6)


def test_vecdot_conjugates() -> None:
    x, y = np.array([1j, 2]), np.array([3, 1 + 1j])
    assert on_emulator("vecdot")(x, y) == np.vecdot(x, y) == 2 - 1j
    assert on_emulator("dot")(x, y) == np.dot(x, y) == 2 + 5j


@pytest.mark.parametrize("name", ["min", "max", "minmax", "ptp", "argmin", "argmax", "nanmin", "nanargmax"])
def test_complex_has_no_order(name: str) -> None:
    refused("WF225", name, np.array([1 + 1j]))
    assert np.max(np.array([1 + 9j, 2])) == 2


def test_complex_has_no_variance() -> None:
    for name in ("var", "std", "mean_var", "logsumexp", "describe"):
        refused("WF225", name, np.array([1 + 1j]))


def test_complex_zero() -> None:
    x = np.array([0, 1j, 1, complex(0, NAN), complex(-0.0, -0.0)])
    assert on_emulator("count_nonzero")(x) == np.count_nonzero(x) == 3


def test_complex_products() -> None:
    x = np.array([complex(INF, 0), complex(0, 1)])
    with np.errstate(invalid="ignore"):
        for got in (product(x), np.prod(x)):
            assert np.isnan(got.real)
            assert np.isnan(got.imag)
    assert product(np.array([1 + 2j, 3 - 1j])) == 5 + 5j


def test_complex_modulus() -> None:
    for scale in (1e30, 1e-30):
        x = (np.array([3 + 4j]) * scale).astype(np.complex64)
        assert on_emulator("norm")(x, ord=1) == pytest.approx(5 * scale, rel=1e-6)


def test_complex_infinity() -> None:
    for dtype, parts in itertools.product((np.complex64, np.complex128), ((INF, NAN), (NAN, -INF), (-INF, 2))):
        z = np.array([3 + 4j, complex(*parts)], dtype)
        assert reduce(z, what=lambda z: wf.fold(wf.MAX, abs(z))) == np.abs(z).max() == INF
        for how in ({"ord": 1}, {"ord": 2}, {"ord": 3}, {"ord": INF}, {"accumulate": "compensated"}):
            assert on_emulator("norm")(z, **how) == INF
            assert np.isnan(on_emulator("norm")(np.append(z, z.dtype.type(complex(NAN, 1))), **how))
        assert on_emulator("norm")(z, ord=-INF) == 5


def test_complex_to_real() -> None:
    refused("WF230", "sum", np.array([1 + 1j]), dtype="f64")
