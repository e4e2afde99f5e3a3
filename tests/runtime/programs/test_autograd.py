"""Results of PyTorch's tensors that require gradients: gradients beside PyTorch's own, and beside differences."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import warpfold as wf
from warpfold.runtime.calls.recipe import MISS
from warpfold.runtime.programs import autograd

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed")
F = torch.nn.functional


def tensor(*shape: int, seed: int = 0, dtype: Any = torch.float64) -> Any:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


X, W, B = tensor(3, 4), tensor(4, seed=1), tensor(4, seed=2)
IMAGES, CHANNELS = tensor(2, 4, 3, seed=3), tensor(4, seed=4)
TARGET = torch.tensor([1, 3, -100])
PAIRS: dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...]]] = {
    "softmax": (lambda x: wf.softmax(x, axis=1), lambda x: F.softmax(x, 1), (X,)),
    "softmax of columns": (lambda x: wf.softmax(x, axis=0), lambda x: F.softmax(x, 0), (X,)),
    "log_softmax": (wf.log_softmax, lambda x: F.log_softmax(x, -1), (X,)),
    "layer_norm": (wf.layer_norm, lambda x, w, b: F.layer_norm(x, (4,), w, b), (X, W, B)),
    "rms_norm": (wf.rms_norm, lambda x, w: F.rms_norm(x, (4,), w), (X, W)),
    "add_rms_norm": (wf.add_rms_norm, lambda x, r, w: (F.rms_norm(x + r, (4,), w), x + r), (X, X.flip(1), W)),
    "group_norm": (
        lambda x, w, b: wf.group_norm(x, 2, w, b), lambda x, w, b: F.group_norm(x, 2, w, b), (IMAGES, CHANNELS, W),
    ),
    "instance_norm": (
        lambda x, w, b: wf.instance_norm(x, weight=w, bias=b),
        lambda x, w, b: F.instance_norm(x, None, None, w, b),
        (IMAGES, CHANNELS, W),
    ),
    "normalize": (wf.normalize, F.normalize, (X,)),
    "cross_entropy": (
        lambda x: wf.cross_entropy(x, TARGET, label_smoothing=0.1),
        lambda x: F.cross_entropy(x, TARGET, label_smoothing=0.1), (X,),
    ),
    "relu": (wf.relu, F.relu, (X,)),
    "leaky_relu": (wf.leaky_relu, F.leaky_relu, (X,)),
    "sigmoid": (wf.sigmoid, torch.sigmoid, (X,)),
    "clip": (lambda x: wf.clip(x, -0.5, 0.5), lambda x: torch.clip(x, -0.5, 0.5), (X,)),
    "bounds that are met": (wf.clip, torch.clip, (X.round(), X.flip(1).round(), X.flip(0).round())),
    "sum": (lambda x: wf.sum(x, axis=1), lambda x: x.sum(1), (X,)),
    "a mask": (lambda x: wf.sum(x, axis=1, where=X > 0), lambda x: (x * (X > 0)).sum(1), (X,)),
    "mean of all": (wf.mean, torch.mean, (X,)),
    "max": (lambda x: wf.max(x, axis=1), lambda x: x.amax(1), (X.round(),)),
    "var": (lambda x: wf.var(x, axis=1, correction=1.0), lambda x: x.var(1), (X,)),
    "norm": (lambda x: wf.norm(x, axis=0), lambda x: x.norm(dim=0), (X,)),
    "prod": (lambda x: wf.prod(x, axis=1), lambda x: x.prod(1), (X.round(),)),
    "logsumexp": (lambda x: wf.logsumexp(x, axis=1), lambda x: x.logsumexp(1), (X,)),
    "two results": (lambda x: wf.mean_var(x, axis=1), lambda x: (x.mean(1), x.var(1, correction=0)), (X,)),
    "dot": (wf.dot, torch.dot, (W, B)),
    "vecdot": (wf.vecdot, torch.linalg.vecdot, (X, X.flip(1))),
    "a monoid": (
        lambda x: wf.reduce(x, lambda v: wf.fold(wf.SUM, v * v * v), axis=1), lambda x: (x**3).sum(1), (X,),
    ),
    "a transposed view": (lambda x: wf.softmax(x.t()[1:], axis=0), lambda x: F.softmax(x.t()[1:], 0), (X,)),
    "one tensor twice": (lambda x, w: wf.layer_norm(x, w, w), lambda x, w: F.layer_norm(x, (4,), w, w), (X, W)),
}  # fmt: skip


def _gradients(function: Callable[..., Any], arrays: tuple[Any, ...]) -> tuple[list[Any], list[Any]]:
    """The results, and the gradients of a weighted sum of them."""
    leaves = [a.clone().requires_grad_() for a in arrays]
    found = function(*leaves)
    results = list(found) if isinstance(found, tuple) else [found]
    sum((r * tensor(*r.shape, seed=7 + i)).sum() for i, r in enumerate(results)).backward()
    return results, [x.grad for x in leaves]


@pytest.mark.parametrize("name", PAIRS)
def test_gradients_are_those_of_pytorch(name: str) -> None:
    ours, theirs, arrays = PAIRS[name]
    for found, wanted in zip(_gradients(ours, arrays), _gradients(theirs, arrays), strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-11, atol=1e-11)


def test_transforms_of_functions() -> None:
    found = torch.func.grad(lambda x: wf.logsumexp(x, axis=1).sum())(X)
    torch.testing.assert_close(found, F.softmax(X, 1))
    _, pulled = torch.func.vjp(lambda x: wf.softmax(x, axis=1), X)
    assert pulled(X)[0].shape == X.shape


def test_differences_and_the_gradient_of_a_gradient() -> None:
    x = X[:2, :3].clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: wf.softmax(x, axis=1), (x,))
    assert torch.autograd.gradgradcheck(lambda x: wf.softmax(x, axis=1), (x,))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_types(dtype: Any) -> None:
    x, w = tensor(3, 40, dtype=dtype).requires_grad_(), tensor(40, dtype=torch.float32).requires_grad_()
    y = wf.rms_norm(x, w, eps=1e-5)
    y.sum().backward()
    assert (x.grad.dtype, w.grad.dtype, y.dtype) == (dtype, torch.float32, dtype)
    wide = x.detach().double().requires_grad_()
    F.rms_norm(wide, (40,), w.detach().double(), 1e-5).sum().backward()
    torch.testing.assert_close(x.grad.double(), wide.grad, rtol=2e-2, atol=2e-2)


def test_only_needed_gradients_are_computed_and_integers_have_none() -> None:
    x = X.clone().requires_grad_()
    y, bits = wf.relu(x, keep="bits")
    assert not bits.requires_grad
    assert not wf.argmax(x, axis=1).requires_grad
    (wf.layer_norm(x, W, B) * y).sum().backward()
    assert x.grad is not None
    assert W.grad is None


def test_running_statistics_are_updated_and_have_no_gradient() -> None:
    mean, var, theirs = torch.zeros(4).double(), torch.ones(4).double(), torch.zeros(4).double()
    x = IMAGES.clone().requires_grad_()
    found = wf.batch_norm(x, mean, var, CHANNELS, W, training=True)
    F.batch_norm(IMAGES, theirs, torch.ones(4).double(), CHANNELS, W, training=True)
    torch.testing.assert_close(mean, theirs)
    found.output.square().sum().backward()
    wanted = IMAGES.clone().requires_grad_()
    F.batch_norm(wanted, None, None, CHANNELS, W, training=True).square().sum().backward()
    torch.testing.assert_close(x.grad, wanted.grad, rtol=1e-9, atol=1e-9)


def test_dropout_has_the_gradient_of_its_own_mask() -> None:
    x = tensor(5, 40).requires_grad_()
    found = wf.dropout(x, p=0.25, seed=11)
    y = found if torch.is_tensor(found) else found[0]
    y.sum().backward()
    torch.testing.assert_close(x.grad, torch.where(y == 0, 0.0, 4 / 3).double())


def test_a_tensor_changed_after_the_forward_is_refused_by_pytorch() -> None:
    x, w, b = (a.clone().requires_grad_() for a in (X, W, B))
    y, z = wf.exp(x), wf.layer_norm(x, w, b)
    with torch.no_grad():
        b.add_(1)  # which is not read
        y.add_(0)
    z.sum().backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    with torch.no_grad():
        w.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_results_are_not_kept_alive() -> None:
    y = wf.softmax(X.clone().requires_grad_(), axis=1)
    seen = weakref.ref(y)
    gc.disable()
    try:
        del y
        assert seen() is None
    finally:
        gc.enable()


def test_without_gradients_nothing_is_recorded() -> None:
    x = X.clone().requires_grad_()
    with torch.no_grad():
        assert not wf.softmax(x, axis=1).requires_grad
    assert not wf.softmax(x.detach(), axis=1).requires_grad


SAVED: dict[str, tuple[Callable[..., Any], tuple[Any, ...], list[tuple[Any, ...]]]] = {
    "no bias": (wf.layer_norm, (X, W, B), [(3, 4), (4,)]),
    "a result in place of the argument": (wf.exp, (X,), [(3, 4)]),
    "bits in place of elements": (wf.leaky_relu, (X,), [(1,)]),
    "values of columns": (lambda x: wf.softmax(x, axis=0), (X,), [(3, 4), (4,), (4,)]),
    "a number": (lambda x: wf.cross_entropy(x, TARGET), (X,), [(3, 4), (3,), ()]),
    "no terms of a sum": (lambda x: wf.sum(x, axis=0), (X,), []),
    "one of two results": (wf.add_rms_norm, (X, X.flip(1), W), [(4,), (3, 4)]),
    "statistics of a batch": (
        lambda x, w, b: wf.batch_norm(x, None, None, w, b, training=True).output,
        (IMAGES, CHANNELS, W), [(2, 4, 3), (4,), (4,), (4,), (4,)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SAVED)
def test_what_the_backward_reads_is_saved_and_nothing_else(name: str) -> None:
    function, arrays, shapes = SAVED[name]
    xs = [a.clone().requires_grad_() for a in arrays]
    for _ in range(2):
        found = function(*xs)
        record = (found[0] if isinstance(found, tuple) else found).grad_fn
        assert [tuple(x.shape) for x in record.saved_tensors] == shapes
    assert torch.autograd.gradcheck(function, xs, fast_mode=True)
    assert torch.autograd.gradgradcheck(function, xs, fast_mode=True)


# --- repeated calls ------------------------------------------------------------------------------------------------
def test_repeated_calls_have_gradients_of_their_own_arguments() -> None:
    for seed in (1, 2, 3):
        x, w, b = tensor(3, 4, seed=seed), tensor(4, seed=seed + 1), tensor(4, seed=seed + 2)
        for eps in (1e-5, 1e-2):
            ours = _gradients(lambda *xs, e=eps: wf.layer_norm(*xs, eps=e), (x, w, b))
            theirs = _gradients(lambda x, w, b, e=eps: F.layer_norm(x, (4,), w, b, e), (x, w, b))
            for found, wanted in zip(ours, theirs, strict=True):
                torch.testing.assert_close(found, wanted, rtol=1e-11, atol=1e-11)
        with torch.no_grad():
            assert not wf.layer_norm(x, w, b).requires_grad
        only = w.clone().requires_grad_()
        wf.layer_norm(x, only, b).sum().backward()
        torch.testing.assert_close(only.grad, F.layer_norm(x, (4,)).sum(0))


@pytest.mark.parametrize("is_missed", [False, True])
def test_a_call_with_a_recipe_is_recorded_by_code_of_its_own(is_missed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which makes the call in full where the recipe does not apply."""
    x, w, b = (t.clone().requires_grad_(t is not W) for t in (X, W, B))
    calls, made = list[Any](), list[Any]()
    monkeypatch.setattr(autograd, "record_tracked", calls.append)
    wf.layer_norm(x, w, b, eps=0.5)
    (call,) = calls

    def recipe(*xs: Any) -> Any:
        made.append(MISS if is_missed else F.layer_norm(xs[0], (4,), *xs[1:], eps=0.5))
        return made[-1]

    call.recipe = recipe
    record = call.entered
    for scale in (1.0, 2.0):
        own = (x.detach() * scale).requires_grad_()
        y = record(own, w, b)
        assert y.grad_fn.name() == "layer_normBackward"
        found = torch.autograd.grad(y, (own, b), X.flip(0))
        wanted = torch.autograd.grad(F.layer_norm(own, (4,), w, b, eps=0.5), (own, b), X.flip(0))
        assert all(torch.allclose(f, v) for f, v in zip(found, wanted, strict=True))
    assert len(made) == 2


def test_repeated_calls_read_their_own_seeds_and_update_their_own_statistics() -> None:
    masks = []
    for seed in (1, 2, 1):
        x = tensor(5, 40).requires_grad_()
        wf.dropout(x, seed=seed).sum().backward()
        masks.append(x.grad)
    assert torch.equal(masks[0], masks[2])
    assert not torch.equal(masks[0], masks[1])
    for _ in range(3):
        mean, var = torch.zeros(4).double(), torch.ones(4).double()
        found = wf.batch_norm(IMAGES.clone().requires_grad_(), mean, var, training=True)
        assert found.running_mean is mean
        torch.testing.assert_close(mean, IMAGES.mean((0, 2)) * 0.1)
        assert found.output.grad_fn is not None


def test_a_program_that_reads_another_value_from_outside_is_recorded_anew() -> None:
    scale = 2.0

    @wf.program
    def scaled(x: Any) -> Any:
        return x * scale

    x = X.clone().requires_grad_()
    assert float(torch.autograd.grad(scaled(x).sum(), x)[0][0, 0]) == 2
    assert float(torch.autograd.grad(scaled(x).sum(), x)[0][0, 0]) == 2
    scale = 3.0
    assert float(torch.autograd.grad(scaled(x).sum(), x)[0][0, 0]) == 3


def test_arguments_are_not_kept_alive() -> None:
    x = X.clone().requires_grad_()
    for _ in range(2):
        wf.layer_norm(x, W, B)
    seen = weakref.ref(x)
    del x
    gc.collect()
    assert seen() is None


# --- what is refused -----------------------------------------------------------------------------------------------
def test_gradients_of_another_shape_are_refused_by_pytorch() -> None:
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        wf.softmax(X.clone().requires_grad_(), axis=1).backward(torch.ones(3))


def test_complex_tensors_that_require_gradients_are_refused() -> None:
    z = torch.complex(X, X).requires_grad_()
    with pytest.raises(
        wf.WarpfoldError, match=r"WF165: a tensor is complex and requires gradients: .* no gradient"
    ) as e:
        wf.sum(z, axis=1)
    assert "torch.view_as_real(x)" in str(e.value)
    assert wf.sum(z.detach(), axis=1).is_complex()


def test_records_have_the_names_of_functions() -> None:
    x = X.clone().requires_grad_()
    assert wf.softmax(x, axis=1).grad_fn.name() == "softmaxBackward"
    assert wf.sum(x, axis=1).grad_fn.name() == "sumBackward"
    y = wf.exp(x)
    with pytest.raises(RuntimeError, match="which is output 0 of exp, is at version 1"):
        y.add_(1).sum().backward()


def test_forward_mode_is_refused() -> None:
    with pytest.raises(wf.WarpfoldError, match=r"WF165: a tensor carries a tangent, as in forward mode") as e:
        torch.func.jvp(lambda x: wf.softmax(x, axis=1), (X,), (X,))
    assert "torch.func.vjp or torch.func.jacrev" in str(e.value)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(X, X)
        with pytest.raises(wf.WarpfoldError, match=r"WF165: a tensor carries a tangent"):
            wf.sum(dual, axis=1)


def _first_order(_value: Any, _state: Any, gradient: Any) -> Any:
    """The gradient of a sum, by functions that have none."""
    return wf.bitcast(wf.bitcast(gradient, "i64"), "f64")


def test_a_second_gradient_where_there_is_none_is_refused() -> None:
    plain = wf.monoid(identity=0)(lambda a, b: wf.bitcast(wf.bitcast(a, "i64") + wf.bitcast(b, "i64"), "f64"))
    x = X.clone().requires_grad_()
    with pytest.raises(wf.WarpfoldError, match=r"WF901: a fold with <lambda> has no gradient") as e:
        wf.reduce(x, plain, axis=1).sum().backward()
    assert "give the monoid its rule" in str(e.value)
    ruled = wf.monoid(identity=0, vjp=_first_order)(lambda a, b: a + b)
    weights = tensor(3).requires_grad_()
    (first,) = torch.autograd.grad((wf.reduce(x, ruled, axis=1) * weights).sum(), x, create_graph=True)
    torch.testing.assert_close(first, weights[:, None].expand(3, 4))
    with pytest.raises(wf.WarpfoldError, match=r"WF901: .*bitcast.* has no gradient"):
        first.sum().backward()
