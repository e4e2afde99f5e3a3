"""Mistakes in calls on shards that one rank makes: each has a code, and says what was expected."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import warpfold as wf  # noqa: E402 - after PyTorch was found
import warpfold.distributed as wd  # noqa: E402

X = torch.ones(4, 6)


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    """A process group of this process alone."""
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: wd.reduce(X.numpy(), "sum"), "WF164: warpfold.distributed.reduce got a numpy.ndarray for array 0: "
                                              "expected a tensor of PyTorch: ranks exchange no others"),
        (lambda: wd.run(wf.layer_norm, X, X[0].numpy(), shards=0), "WF164: layer_norm got a numpy.ndarray for array 1"),
        (lambda: wd.softmax([1.0, 2.0]), "WF164: softmax got a list for array 0: expected a tensor of PyTorch"),
        (lambda: wd.softmax(3.0), "WF124: softmax takes at least 1 input array"),
        (lambda: wd.reduce(X, "sum", shards=None), "WF174: .* shards= is None: expected the one axis that is cut"),
        (lambda: wd.reduce(X, "sum", shards=(0, 1)), "WF174: .* shards= is .0, 1.: expected the one axis that is cut"),
        (lambda: wd.run(wf.softmax, X, shards=None), "WF173: softmax .* shards= is None: expected an axis of"),
        (lambda: wd.run(wf.softmax, X, shards="x"), "WF103: axis must be an int, a tuple of ints or None, got 'x'"),
        (lambda: wd.run(wf.softmax, X, shards={"x": (0, 1)}), "WF173: .* shards= names axes .0, 1. of one array: exp"),
        (lambda: wd.run(wf.softmax, X, shards={"y": 1}), "WF173: .* shards= names 'y', and its arrays are x"),
        (lambda: wd.softmax(X, out=(torch.empty(4, 6), None)), "WF125: out holds 2 array.s.: .* has 1 result"),
        (lambda: wd.softmax(X.clone().requires_grad_(), out=(None, None)), "WF125: out holds 2 array.s."),
        (lambda: wd.batch_norm(X, training=True, out=X), "WF125: out holds 1 array.s.: .* has 3 result"),
        (lambda: wd.batch_norm(X, torch.zeros(6), torch.ones(6), training=True, out=X), "WF125: out holds 3 array.s."),
        (lambda: wd.softmax(X, group=[0]), "WF138: group cannot be .0.: expected a process group of torch.distributed"),
        (lambda: wd.reduce(X, "sum", group=torch.distributed.GroupMember.NON_GROUP_MEMBER),
         "WF168: this process is not one of the ranks of group="),
    ],
)  # fmt: skip
def test_mistakes_have_codes(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(wf.WarpfoldError, match=text):
        call()


def test_numbers_need_not_be_tensors() -> None:
    import numpy as np

    found = wd.run(lambda x, s: wf.sum(x * s, axis=0), X, np.array(2.0, np.float32), shards=0, device="emulator")
    assert found.tolist() == [8.0] * 6
