"""Calls of programs that are refused: the code, what is wrong and what to do, the caller's line; nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import warpfold as wf

X = np.random.default_rng(3).standard_normal((6, 50)).astype(np.float32)
LONG = np.ones((2, 100_000), np.float32)
SPREAD = np.lib.stride_tricks.as_strided(np.ones(3**11, np.float32), (2,) * 10, [4 * 3**i for i in range(10)])
"""An array of ten dims, none of which two are one in memory."""


def branch(x: Any) -> Any:
    return x if x > 0 else -x


def endless(x: Any) -> Any:
    while wf.sum(x) > 0:
        x = x - 1
    return x


def stretched(x: Any) -> Any:
    return x.__array_namespace__().broadcast_to(wf.sum(x, axis=0), (7, 50))


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "shapes that do not broadcast": (
        lambda x: wf.program(lambda x, y: x + y)(x, x[:, :3]),
        r"WF254: shapes \(6, 50\) and \(6, 3\) .* broadcast: axis -1 has size 50 in x and size 3 in y\n.*\n.*insert",
    ),
    "a result of dims that no array has": (
        lambda x: wf.program(stretched)(x), "WF266: 7 is a size that no axis of an array .*\n.*\n.*as an argument"
    ),
    "a fold over an axis that is gone": (
        lambda x: wf.program(lambda x: wf.sum(wf.sum(x, axis=1), axis=1))(x),
        "WF256: axis 1 is not an axis of .*, which has 1 of them.*\n.*\n.*keepdims=True keeps the axes",
    ),
    "a branch": (lambda x: wf.program(branch)(x), r"WF201: the function branches.*\n.*\n.*wf\.where\(condition, a"),
    "a loop": (lambda x: wf.program(endless)(x), "WF201: the function branches on a symbolic value"),
    "a weight of another length": (
        lambda x: wf.layer_norm(x, x[0, :3]), "WF254: .* axis -1 has size 50 in x and size 3 in weight"
    ),
    "a weight of complex numbers": (
        lambda x: wf.layer_norm(x, x[0].astype(np.complex64)), "WF268: weight is of type c64.*\n.*\n.*as two arrays"
    ),
    "a weight of words": (lambda x: wf.layer_norm(x, np.array(["a"] * 50)), "WF105: no rule for elements of type str"),
    "targets of floats": (
        lambda x: wf.cross_entropy(x, x[:, 0]), "WF271: the targets have rank 1 and type f32: expected integers"
    ),
    "too few targets": (
        lambda x: wf.cross_entropy(x, np.ones(5, int)), "WF254: .* axis -2 has size 6 in x and size 5 in target"
    ),
    "targets outside of the classes": (
        lambda x: wf.cross_entropy(x, np.full(6, 50), check=True),
        "WF189: in cross_entropy a target is not the number of a class.*\n.*\n.*correct the targets",
    ),
    "shared memory that is too small": (
        lambda _: wf.softmax(LONG, plan="resident=shared,lanes=32,warps=32,cluster=1"),
        r"WF429: resident=shared: rows that wait need 409\d\d\d bytes of shared memory a CTA: sm_90a gives 232448\n.*\n"
        r".*share a row among more CTAs \(cluster\), or choose resident=memory",
    ),
    "more than the shared memory of a CTA of the grid": (
        lambda _: wf.softmax(LONG, plan="resident=grid,warps=16,held=40"),
        r"WF429: resident=grid: rows that wait need 327\d\d\d bytes of shared memory a CTA: sm_90a gives 232448\n.*\n"
        r".*lower held, or choose resident=memory",
    ),
    "more rows than the grid has CTAs": (
        lambda _: wf.softmax(SPREAD.reshape(-1, 2), plan="resident=grid"),
        r"WF437: resident=grid: softmax has \d+ tile\(s\) of rows, whose CTAs wait for each other: \d+ run at a time",
    ),
    "a cluster where the grid shares rows": (
        lambda _: wf.softmax(LONG, plan="resident=grid,cluster=2"), "WF425: .*cluster=2 is for other programs"
    ),
    "accesses in registers where teams share rows": (
        lambda _: wf.softmax(LONG, plan="resident=grid,persistent=2,in_registers=4"),
        "WF425: .*in_registers=4 is for other programs",
    ),
    "accesses in the cache where teams share rows": (
        lambda _: wf.softmax(LONG, plan="resident=grid,persistent=2,in_cache=4"),
        "WF425: .*in_cache=4 is for other programs",
    ),
    "rows abreast in registers": (
        lambda x: wf.softmax(x, axis=0, plan="resident=registers,abreast=2"),
        "WF425: .*abreast=2 is for other programs.*\n.*\n.*leave out abreast, or set 0",
    ),
    "no access in shared memory": (
        lambda _: wf.softmax(LONG, plan="resident=grid,held=0"), "WF403: plan field held cannot be 0: .*from 1 to 64"
    ),
    "registers that are too few": (
        lambda _: wf.softmax(LONG, plan="resident=registers,lanes=32,warps=1"),
        "WF426: resident=registers: a row has 400000 bytes: a thread would keep 98 accesses, at most 64\n.*\n"
        ".*give the row more threads",
    ),
    "a cluster that is too large": (lambda x: wf.softmax(x, plan="cluster=32"), "WF403: plan field cluster cannot be "),
    "out of another shape": (lambda x: wf.softmax(x, out=x[:5]), r"WF108: out has shape \(5, 50\): expected \(6, 50\)"),
    "out of another type": (lambda x: wf.softmax(x, out=x.astype(np.float64)), "WF109"),
    "out over a part of the input": (
        lambda x: wf.softmax(x[:3], out=x[1:4]), "WF186: out shares memory with input 0: it is not the same elements"
    ),
    "two results in one place": (lambda x: wf.add_rms_norm(x, X, out=(x, x)), "WF132"),
    "more than eight dims": (
        lambda _: wf.softmax(SPREAD, axis=(0, 2, 4, 6, 8)),
        "WF185: the arrays of softmax lie in 10 dims that no stride joins: expected at most 8\n.*\n.*copy arrays",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_said_and_nothing_is_written(name: str) -> None:
    call, text = REFUSED[name]
    x = X.copy()
    with pytest.raises(wf.WarpfoldError, match=text) as e:
        call(x)
    assert f"at {__file__}:" in str(e.value)
    np.testing.assert_array_equal(x, X)
