"""Ops for PyTorch's tracers: ``torch.compile``, ``opcheck``, transforms of ``torch.func``, autocast."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold.runtime.programs import autocast
from warpfold.runtime.programs.torch_graphs import entry_of

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed")
ops: Any = importlib.import_module("warpfold.runtime.programs.torch_ops")
calls: Any = importlib.import_module("warpfold.runtime.programs.torch_calls")
F = torch.nn.functional


def tensor(*shape: int, seed: int = 0) -> Any:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


X, W, B = tensor(3, 4), tensor(4, seed=1), tensor(4, seed=2)
CLASSES = torch.tensor([1, 3, -100])


@wf.program
def centred(x: Any, *, scale: float = 1.0) -> tuple[Any, Any]:
    mean = wf.mean(x, axis=-1, keepdims=True)
    return (x - mean) * scale, mean


WAYS: dict[str, Callable[..., Any]] = {
    "a program": lambda x: centred(x, scale=2.0)[0] + centred(x)[1],
    "softmax of columns": lambda x: wf.softmax(x.t(), axis=0),
    "layer_norm": lambda x: wf.layer_norm(x, x[0], x[1]),
    "cross_entropy": lambda x: wf.cross_entropy(x, CLASSES[: x.shape[0]]),
    "sum": lambda x: wf.sum(x, 1) + wf.sum(x, axis=1, where=x > 0),
    "names and a function": lambda x: (
        wf.mean_var(x, axis=1).var + wf.reduce(x, lambda v: wf.fold(wf.MAX, v * v), axis=1)
    ),
    "elements and seeds": lambda x: wf.exp(x) + wf.dropout(x, seed=x.shape[0]),
    "bits and integers": lambda x: wf.relu(x, keep="bits").output + wf.argmax(x, axis=1)[:, None],
}


@pytest.mark.parametrize("name", WAYS)
def test_a_graph_of_the_whole_has_the_results_and_the_gradients_of_calls(name: str) -> None:
    way = WAYS[name]
    torch._dynamo.reset()
    compiled = torch.compile(way, backend="aot_eager", fullgraph=True, dynamic=True)
    for rows in (3, 2):
        x, y = (X[:rows].clone().requires_grad_() for _ in range(2))
        found, wanted = compiled(x), way(y)
        assert torch.equal(found, wanted)
        found.square().sum().backward()
        wanted.square().sum().backward()
        torch.testing.assert_close(x.grad, y.grad)


def test_running_statistics_are_updated_in_graphs() -> None:
    images = tensor(2, 4, 3)
    stats = [(torch.zeros(4), torch.ones(4)) for _ in range(2)]

    def way(x: Any, mean: Any, var: Any) -> Any:
        return wf.batch_norm(x, mean, var, W, B, training=True).output

    x, y = (images.clone().requires_grad_() for _ in range(2))
    torch._dynamo.reset()
    found = torch.compile(way, backend="aot_eager", fullgraph=True)(x, *stats[0])
    wanted = way(y, *stats[1])
    assert torch.equal(found, wanted)
    assert all(map(torch.equal, *stats))
    assert float(stats[0][0].abs().max()) > 0
    for r in (found, wanted):
        r.square().sum().backward()
    torch.testing.assert_close(x.grad, y.grad)


CHECKED: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = [
    (wf.layer_norm, (X, W, B), {"eps": 1e-3}),
    (wf.mean_var, (X,), {"axis": 0}),
    (centred, (X,), {}),
]


@pytest.mark.parametrize("case", CHECKED, ids=["layer_norm", "mean_var", "a program"])
def test_opcheck(case: Any) -> None:
    function, xs, how = case
    leaves = [x.clone().requires_grad_() for x in xs]
    text = calls.described(entry_of(function), tuple(how), *([calls.TENSOR] * len(xs)), *how.values())
    done = torch.library.opcheck(getattr(torch.ops.warpfold, ops.op_of(text)).default, (leaves, text))
    assert set(done.values()) == {"SUCCESS"}


BATCHES: dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...], Any]] = {
    "softmax": (lambda x: wf.softmax(x, axis=0), lambda x: x.softmax(0), (X,), 0),
    "along the last axis": (lambda x: wf.softmax(x, axis=0), lambda x: x.softmax(0), (X,), 1),
    "some": (lambda x, w: wf.layer_norm(x, w), lambda x, w: F.layer_norm(x, (4,), w), (X, W), (0, None)),
    "all": (wf.vecdot, torch.linalg.vecdot, (X, X.flip(0)), 0),
    "names": (lambda x: wf.mean_var(x).var, lambda x: x.var(correction=0), (X,), 0),
    "slices": (lambda x: wf.program(lambda v: v[1:] - v[:-1])(x), lambda x: x[1:] - x[:-1], (X,), 0),
    "groups": (
        lambda x: wf.group_norm(x, 2), lambda x: F.group_norm(x, 2), (tensor(3, 2, 4, 5),), 0,
    ),
    "elements": (lambda x: wf.argmax(x) + wf.exp(x), lambda x: x.argmax() + x.exp(), (X,), 0),
    "arrays of NumPy": (lambda x: wf.layer_norm(x, W.numpy()), lambda x: F.layer_norm(x, (4,), W), (X,), 0),
    "square arrays of NumPy": (
        lambda x: wf.layer_norm(x, W.numpy()), lambda x: F.layer_norm(x, (4,), W), (tensor(4, 4),), 0,
    ),
    "numbers of NumPy by name": (
        lambda x: wf.program(lambda v, k: v * k)(x, k=np.float32(2)), lambda x: x * 2, (X,), 0,
    ),
    "numbers of NumPy": (lambda x: wf.program(lambda v, k: v * k)(x, np.float32(2)), lambda x: x * 2, (X,), 0),
    "a dict": (
        lambda x: tuple(wf.program(lambda v: {"y": v * 2, "s": wf.sum(v)})(x)), lambda x: (x * 2, x.sum()), (X,), 0,
    ),
    "a list": (lambda x: tuple(wf.program(lambda v: [v * 2, wf.sum(v)])(x)), lambda x: (x * 2, x.sum()), (X,), 0),
}  # fmt: skip


@pytest.mark.parametrize("name", BATCHES)
def test_vmap(name: str) -> None:
    ours, theirs, xs, along = BATCHES[name]
    torch.testing.assert_close(torch.vmap(ours, in_dims=along)(*xs), torch.vmap(theirs, in_dims=along)(*xs))


def test_transforms_of_transforms() -> None:
    def ours(x: Any) -> Any:
        return wf.softmax(x, axis=0)

    def theirs(x: Any) -> Any:
        return x.softmax(0)

    x = tensor(2, 3, 4)
    for transform in (
        torch.func.jacrev,
        lambda f: torch.vmap(torch.func.grad(lambda v: f(v)[0].sum())),
        lambda f: torch.vmap(torch.vmap(f)),
        lambda f: torch.func.grad(lambda v: torch.func.grad(lambda y: f(y)[0].sum())(v).square().sum()),
    ):
        torch.testing.assert_close(transform(ours)(x), transform(theirs)(x))
    weights = torch.func.grad(lambda w: torch.vmap(lambda x: wf.layer_norm(x, w))(X).square().sum())(W)
    wanted = torch.func.grad(lambda w: F.layer_norm(X, (4,), w).square().sum())(W)
    torch.testing.assert_close(weights, wanted)


def test_a_fake_tensor_has_the_shape_of_the_result() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        found = wf.softmax(torch.empty(3, 4, dtype=torch.bfloat16).t(), axis=0)
        assert (found.shape, found.stride(), found.dtype) == ((4, 3), (1, 4), torch.bfloat16)
        assert wf.sum(torch.empty(3, 4, 5).permute(2, 0, 1), 1).stride() == (4, 1)


@pytest.fixture
def like_cuda(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Autocast of the CPU has the rules of CUDA."""
    autocast.is_cast.cache_clear()
    monkeypatch.setitem(autocast._KEYS, "cpu", "AutocastCUDA")
    yield
    autocast.is_cast.cache_clear()


@pytest.mark.usefixtures("like_cuda")
def test_autocast_has_pytorchs_types() -> None:
    x = X.bfloat16().requires_grad_()

    def way(x: Any) -> Any:
        return wf.softmax(x, axis=1), wf.layer_norm(x, W), wf.sum(x, 1), wf.exp(x), wf.sqrt(x), wf.mean(x)

    torch._dynamo.reset()
    compiled = torch.compile(way, backend="aot_eager", fullgraph=True)
    types = [torch.float32] * 4 + [torch.bfloat16] * 2
    for call in (way, way, compiled):
        with torch.autocast("cpu", torch.bfloat16):
            found = call(x)
        assert [r.dtype for r in found] == types
        torch.testing.assert_close(found[0], x.detach().float().softmax(1))
        (gradient,) = torch.autograd.grad(found[0].square().sum(), x)
        assert gradient.dtype == torch.bfloat16
        assert {r.dtype for r in call(x)} == {torch.bfloat16}


def test_autocast_of_the_host_is_pytorchs() -> None:
    with torch.autocast("cpu", torch.bfloat16):
        for ours, theirs in (
            (wf.softmax(X.bfloat16(), axis=1), X.bfloat16().softmax(1)),
            (wf.prod(X.bfloat16(), axis=1), X.bfloat16().prod(1)),
        ):
            assert ours.dtype == theirs.dtype


def test_graphs_name_calls_of_the_library_in_every_process_alike() -> None:
    assert calls.described(entry_of(wf.softmax), ("axis",), calls.TENSOR, -1) == "softmax('a tensor', axis=-1)"
    own = calls.described(entry_of(centred), ("scale",), calls.TENSOR, 2.0)
    assert own.startswith("centred#")
    assert own != calls.described(entry_of(wf.program(centred.function)), ("scale",), calls.TENSOR, 2.0)


def test_other_numbers_are_other_calls() -> None:
    texts = {
        calls.described(entry_of(wf.sum), ("initial",), calls.TENSOR, v) for v in (1, 1.0, True, 0.0, -0.0, np.int8(1))
    }
    assert len(texts) == 6


def test_a_graph_is_kept_when_calls_enter_another_function() -> None:
    """As those of a CUDA device do that are repeated; see ``entering.py``."""
    graphs: list[Any] = []
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: wf.softmax(x, axis=-1), backend=lambda graph, _: graphs.append(graph) or graph)
    call = wf.softmax.func

    def other(*xs: Any, **how: Any) -> Any:
        return call(*xs, **how)

    other.__dict__.update(call.__dict__)
    for entered in (call, other, call):
        wf.softmax._enter(entered)
        assert torch.equal(compiled(X), wf.softmax(X, axis=-1))
    assert len(graphs) == 1
