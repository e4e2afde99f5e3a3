"""docs/semantics.md: ``out=``."""

from __future__ import annotations

import numpy as np
from meanings import F32, NAN, refused, total


def test_out_is_written() -> None:
    whole = np.full(6, 7, F32)
    out = whole[::3]
    assert total(np.ones((2, 5), F32), 1, out=out) is out
    assert whole.tolist() == [5, 7, 7, 5, 7, 7]


def test_out_must_fit() -> None:
    x = np.ones((2, 5), F32)
    refused("WF109", "sum", x, 1, out=np.zeros(2))
    refused("WF108", "sum", x, 1, out=np.zeros(3, F32))


def test_out_stands_apart() -> None:
    x = np.ones((2, 5), F32)
    refused("WF186", "sum", x, 1, out=x[:, 0])
    out = np.zeros(2, F32)
    refused("WF132", "minmax", x, 1, out=(out, out))
    refused("WF110", "sum", x, 1, out=np.lib.stride_tricks.as_strided(np.zeros(1, F32), (2,), (0,)))


def test_out_after_a_mistake() -> None:
    out = np.full(2, 7, F32)
    refused("WF133", "max", np.ones((2, 5), F32), 1, out=out, where=np.ones(5, bool))
    refused("WF127", "max", np.ones((2, 5), F32), 1, out=out, correction=1)
    assert out.tolist() == [7, 7]


def test_out_after_a_check() -> None:
    out = np.full(2, 7, F32)
    refused("WF135", "sum", np.array([[1, 2], [3, NAN]], F32), 1, out=out, nan="raise")
    assert out[0] == 3
