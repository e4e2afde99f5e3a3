"""Functions that move, add, drop or stretch axes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from array_programs import expect_equal, traced

from warpfold.compiler.errors import TraceError

X = np.random.default_rng(4).standard_normal((3, 1, 4, 2))


def call(name: str, *args: Any, **how: Any) -> Any:
    return lambda x: getattr(x.__array_namespace__(), name)(x, *args, **how)


@pytest.mark.parametrize(
    "function",
    [
        call("expand_dims", axis=0), call("expand_dims", axis=-1), call("expand_dims", axis=(0, 3)),
        call("squeeze", axis=1), call("permute_dims", (3, 0, 1, 2)), call("permute_dims", (-1, -2, 0, 1)),
        call("matrix_transpose"), call("moveaxis", 0, -1), call("moveaxis", (0, 1), (2, 0)),
        call("broadcast_to", (5 - 2, 1, 4, 2)), lambda x: x.T, lambda x: x.mT, lambda x: x.squeeze(),
        lambda x: x.transpose(), lambda x: x.transpose(3, 0, -2, 1), lambda x: x.transpose((3, 0, 2, 1)),
    ],
)  # fmt: skip
def test_axes_move_as_numpys(function: Any) -> None:
    expect_equal(function, function, X)


def test_a_transposed_result_is_written_in_its_order() -> None:
    program = traced(lambda x: x.T, X)
    assert (program.views[0].axes, program.outputs[0].axes) == ((0, None, 1, 2), (2, 1, None, 0))


def test_a_stretched_result_has_dims_along_which_it_is_the_same() -> None:
    def function(x: Any, y: Any) -> Any:
        xp = x.__array_namespace__()
        return xp.broadcast_to(y, x.shape), *xp.broadcast_arrays(x, y), xp.sum(xp.broadcast_to(y, x.shape), axis=0)

    expect_equal(function, function, X, X[0])


def test_a_number_in_a_shape_specialises_the_program() -> None:
    assert traced(call("broadcast_to", (3, 1, 4, 2)), X).sizes == ((0, 0, 3), (0, 2, 4), (0, 3, 2))
    assert traced(lambda x: call("broadcast_to", x.shape)(x), X).sizes == ()


@pytest.mark.parametrize(
    ("function", "code"),
    [
        (call("squeeze", axis=0), "WF265"), (call("expand_dims", axis=5), "WF256"),
        (call("permute_dims", (0, 1)), "WF256"), (call("permute_dims", (0, 0, 1, 2)), "WF256"),
        (call("broadcast_to", (5, 3, 1, 4, 2)), "WF266"), (lambda x: x.sum(axis=(1, 2, 3)).mT, "WF257"),
        (lambda x: len(x.sum()), "WF257"),
    ],
)  # fmt: skip
def test_mistakes(function: Any, code: str) -> None:
    with pytest.raises(TraceError, match=f"{code}: "):
        traced(function, X)
