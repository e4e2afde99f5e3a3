"""docs/semantics.md: where PyTorch differs."""

from __future__ import annotations

import numpy as np
import pytest
from meanings import greatest, on_emulator, reduce, total

import warpfold as wf


def test_results_are_of_the_inputs_library() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    got = total(torch.ones(2, 3), 1)
    assert isinstance(got, torch.Tensor)
    assert got.tolist() == [3, 3]
    assert isinstance(total(np.ones((2, 3)), 1), np.ndarray)


def test_gradients() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x = torch.ones(3, requires_grad=True)
    total(x * 2).backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_no_gradients() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x = torch.ones(3, requires_grad=True)
    with pytest.raises(wf.WarpfoldError, match="WF165"):
        total(x, out=torch.zeros(()))
    with pytest.raises(wf.WarpfoldError, match="WF165"):
        wf.sum([1.0, 2.0], initial=x[0])
    assert total(x.detach()).item() == 3
    with torch.no_grad():
        assert total(x).item() == 3


@pytest.mark.filterwarnings("ignore")
def test_recorders() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    from torch.fx.experimental.proxy_tensor import make_fx

    with pytest.raises(wf.WarpfoldError, match=r"WF114.* records operations"):
        torch.jit.trace(lambda v: total(v), torch.ones(3))
    softmax = wf.softmax

    def rows(x: torch.Tensor) -> torch.Tensor:  # type: ignore[name-defined]
        return softmax(x)  # type: ignore[no-any-return]

    for scripted in (wf.sum, rows):
        with pytest.raises(wf.WarpfoldError, match=r"WF223.* is none"):
            torch.jit.script(scripted)
    assert make_fx(total)(torch.ones(3))(torch.ones(4)) == 4


def test_torch_compile() -> None:
    for function in (wf.segment_reduce, wf.unique, wf.Compiled.__call__):
        assert function._torchdynamo_disable  # for real in ``runtime/arrays/test_torch_compile.py``
    for function in (wf.sum, wf.reduce, wf.dot):
        assert not hasattr(function, "_torchdynamo_disable")


def test_pytorch_correction() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x = torch.tensor([1.0, 2.0, 4.0])
    assert float(on_emulator("var")(x)) == pytest.approx(np.var(x.numpy()))
    assert float(on_emulator("var")(x, correction=1)) == pytest.approx(float(torch.var(x)))


def test_pytorch_layout() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x = torch.ones(3, 4, 5).permute(2, 0, 1)
    assert torch.sum(x, 1).stride() == (4, 1)
    assert total(x, 1).stride() == (1, 5)
    assert total(x, 1).contiguous().view(20).tolist() == [3] * 20


def test_pytorch_types() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x = torch.tensor([1, 2, 3], dtype=torch.uint8)
    assert total(x).dtype == torch.uint64
    assert torch.sum(x).dtype == torch.int64
    for name, theirs in (("mean", torch.mean), ("norm", torch.linalg.vector_norm)):
        assert on_emulator(name)(x).dtype == torch.float64
        with pytest.raises(RuntimeError):
            theirs(x)


def test_pytorch_extremes() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x = torch.tensor([[1.0, 5.0, 5.0]])
    assert greatest(x, 1).tolist() == [5]
    values, places = torch.max(x, 1)
    assert [g.tolist() for g in reduce(x, what=("max", "argmax"), axis=1)] == [values.tolist(), places.tolist()]


def test_pytorch_axes_of_numbers() -> None:
    x = np.array(1.0)
    for call in (lambda: total(x, 0), lambda: wf.softmax(x, axis=-1), lambda: wf.cumulative_sum(x, axis=0)):
        with pytest.raises(wf.WarpfoldError, match=r"WF(101|256|292)"):
            call()


def test_calls_that_pytorch_refuses() -> None:
    x = np.array([1, 2, 6])
    assert wf.maximum(x, 2).tolist() == [2, 2, 6]
    assert (reduce(x, what="mean"), reduce(x[:2], what="mean", dtype="int64")) == (3.0, 1)
