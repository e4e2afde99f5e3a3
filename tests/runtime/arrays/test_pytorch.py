"""PyTorch tensors whose values are not in memory are refused by name, whatever they are passed for."""

from __future__ import annotations

import importlib
import inspect
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import warpfold as wf
from warpfold.compiler.errors import ArgumentError, DTypeError, WarpfoldError

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed")
KEPT = torch.arange(12.0).reshape(3, 4)


# --- gradients -----------------------------------------------------------------------------------------------------
def tracked() -> Any:
    return KEPT.clone().requires_grad_()


USES: dict[str, Callable[[Any], Any]] = {
    "a compiled one": lambda x: wf.compile("sum", (3, 4), axis=1)(x),
    "segments": lambda x: wf.segment_reduce(x, [0, 1, 3], "sum"),
    "out=": lambda x: wf.sum(KEPT, 1, out=x[:, 0]),
    "out= beside it": lambda x: wf.sum(x, 1, out=torch.zeros(3)),
    "out= of segments": lambda x: wf.segment_reduce(KEPT, [0, 1, 2, 3], "sum", out=x),
    "out= of a compiled one": lambda x: wf.compile("sum", (3, 4), axis=1)(KEPT, out=x[:, 0]),
    "a list of tensors": lambda x: wf.sum([x[0], x[1]]),
}
"""Calls whose results would have no gradient; ``tests/runtime/programs/test_autograd.py`` has the others."""


@pytest.mark.parametrize("use", USES)
def test_tensors_that_track_gradients_are_refused_and_read_under_no_grad(use: str) -> None:
    code = "WF114" if use == "a list of tensors" else "WF165"
    with pytest.raises(WarpfoldError, match=code) as caught:
        USES[use](tracked())
    assert "no_grad()" in str(caught.value) or "detach()" in str(caught.value)
    wanted = USES[use](KEPT.clone())
    for found in (USES[use](tracked().detach()), _without(torch.no_grad, use), _without(torch.inference_mode, use)):
        assert torch.equal(
            found.detach() if torch.is_tensor(found) else torch.tensor(found), torch.as_tensor(wanted)
        ), use


def _without(mode: Callable[[], Any], use: str) -> Any:
    with mode():
        return USES[use](tracked())


def test_parameters_and_results_of_modules() -> None:
    layer = torch.nn.Linear(4, 2)
    with torch.no_grad():
        assert wf.sum(layer.weight).item() == pytest.approx(layer.weight.sum().item())
        wf.sum(KEPT[:2], 1, out=layer.bias)
        assert torch.equal(layer.bias, KEPT[:2].sum(1))
    assert wf.sum(torch.nn.Parameter(torch.ones(3, dtype=torch.int64), requires_grad=False)).item() == 3


def test_forward_mode_tangents_and_tensors_of_torch_func() -> None:
    forward = torch.autograd.forward_ad
    with forward.dual_level():
        x = forward.make_dual(KEPT, KEPT)
        with pytest.raises(
            ArgumentError, match=r"^WF165: a tensor carries a tangent: (.*\n)*.*unpack_dual\(x\)\.primal"
        ):
            wf.sum(x)
        assert wf.sum(forward.unpack_dual(x).primal).item() == wf.sum(KEPT).item() == 66
    with pytest.raises(WarpfoldError, match=r"WF165: a tensor carries a tangent, as in forward mode"):
        torch.func.jvp(wf.sum, (KEPT,), (KEPT,))
    assert torch.func.functionalize(lambda v: wf.sum(v))(KEPT) == 66
    assert torch.func.vmap(lambda v: wf.sum(v))(KEPT).tolist() == KEPT.sum(-1).tolist()
    assert torch.equal(torch.func.jacrev(lambda v: wf.sum(v))(KEPT), torch.ones_like(KEPT))


# --- memory --------------------------------------------------------------------------------------------------------
class Own(torch.Tensor):  # type: ignore[misc]
    """A subclass with memory of its own."""


class Wrapper(torch.Tensor):  # type: ignore[misc]
    """A subclass that computes with another tensor."""

    @classmethod
    def __torch_dispatch__(cls, *_: Any) -> Any:
        raise AssertionError("nobody asks it")


def freed(first: int, left: int = 0) -> Any:
    x = torch.arange(20.0)[first:]
    x.untyped_storage().resize_(left)
    return x


def masked() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.masked.masked_tensor(KEPT, KEPT > 2)


def quantised() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.quantize_per_tensor(KEPT, 0.1, 0, torch.quint8)


NOWHERE: dict[str, tuple[Callable[[], Any], str]] = {
    "masked": (masked, r"^WF114: a torch\.masked\..*MaskedTensor .* wrapper (.*\n)*.* where=x\.get_mask"),
    "wrapper": (lambda: torch.Tensor._make_wrapper_subclass(Wrapper, (4,)), "WF114: .*Wrapper (.*\n)*.* that it wraps"),
    "with memory": (lambda: torch.Tensor._make_subclass(Wrapper, torch.ones(4)), "WF114: .*Wrapper "),
    "meta": (lambda: torch.ones(4, device="meta"), "WF114: .* it lies on device meta"),
    "zero": (lambda: torch._efficientzerotensor(4), r"WF166: a torch\.Tensor has no memory that (.*\n)*.* x\.clone"),
    "functional": (lambda: torch._to_functional_tensor(torch.ones(4)), r"WF166: a torch\.Tensor"),
    "freed": (lambda: freed(0), "WF166: .* its storage has 0 bytes: it was freed"),
    "freed from an offset on": (lambda: freed(4), "WF166: .* its storage has 0 bytes"),
    "made smaller": (lambda: freed(0, 40), "WF166: .* its storage has 40 bytes"),
    "uninitialised": (lambda: torch.nn.parameter.UninitializedParameter(), "WF114: .* it is not initialised"),
    "sparse": (lambda: torch.ones(4).to_sparse(), r"WF114: .* its layout is torch\.sparse_coo"),
    "compressed": (lambda: torch.eye(4).to_sparse_csr(), r"WF114: .* its layout is torch\.sparse_csr"),
    "mkldnn": (lambda: torch.ones(4).to_mkldnn(), r"WF114: .* its layout is torch\._mkldnn"),
    "nested": (lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]), "WF114: .* it is nested"),
    "jagged": (
        lambda: torch.nested.nested_tensor([torch.ones(2)] * 3, layout=torch.jagged), "WF114: .*NestedTensor",
    ),
    "quantised": (quantised, "WF105"),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", NOWHERE)
def test_tensors_without_elements_in_memory_are_refused(kind: str) -> None:
    make, text = NOWHERE[kind]
    x, y = make(), torch.ones(4)
    for use in (
        lambda: wf.sum(x), lambda: wf.reduce(y, x, "dot"), lambda: wf.segment_reduce(x, [0, 1], "sum"),
        lambda: wf.sum(y, axis=(), out=x), lambda: wf.compile("sum", (4,))(x), lambda: wf.sum(y, where=x),
        lambda: wf.segment_reduce(y, x, "sum"), lambda: wf.array_equal(y, x),
    ):  # fmt: skip
        with pytest.raises((ArgumentError, DTypeError), match=text):
            use()


def test_tensors_with_elements_in_memory_are_read() -> None:
    x = torch.arange(6.0)
    z = torch.tensor([1 + 2j, 3 - 1j])
    for own, wanted in (
        (x.as_subclass(Own), 15), (torch.nn.Parameter(x, requires_grad=False), 15), (torch.nn.Buffer(x), 15),
        (torch._neg_view(x), -15), (z.conj(), 4 - 1j), (z.conj().imag, -1), (x[2:], 14), (torch.ones(0), 0),
        (freed(20), 0), (torch.empty(0, 3)[1:], 0), (x.expand(2**20, 6)[:1], 15), (torch.empty_strided((0,), (5,)), 0),
    ):  # fmt: skip
        assert wf.sum(own).item() == wanted
    assert wf.sum(torch.empty((3, 0)), 1).tolist() == [0, 0, 0]


# --- parameters and records ------------------------------------------------------------------------------------------
@wf.monoid(identity=0.0, lift=lambda x, *, k=1.0: x * k)
def scaled(a: Any, b: Any) -> Any:
    return a + b


@wf.monoid(identity=(float("inf"), float("-inf")), lift=lambda x: (x, x))
def spread(a: Any, b: Any) -> Any:
    return wf.minimum(a[0], b[0]), wf.maximum(a[1], b[1])


NUMBERS: dict[str, Callable[[Any], Any]] = {
    "initial=": lambda k: wf.sum(KEPT, initial=k),
    "in a tuple": lambda k: wf.reduce(KEPT, spread, initial=(k, 9.0))[1],
    "correction=": lambda k: wf.var(KEPT, correction=k),
    "ord=": lambda k: wf.norm(KEPT, ord=k),
    "rtol=": lambda k: wf.allclose(KEPT, KEPT + 1, rtol=k),
    "of a monoid": lambda k: wf.reduce(KEPT, scaled, k=k),
    "beside others": lambda k: wf.reduce(KEPT, (wf.SUM, scaled), k=k)[1],
    "of segments": lambda k: wf.segment_reduce(KEPT, [0, 1, 3], scaled, k=k),
    "of a compiled one": lambda k: wf.compile(scaled, (3, 4), "float32", k=k)(KEPT),
}


@pytest.mark.parametrize("use", NUMBERS)
def test_a_number_in_a_tensor_is_read_like_elements(use: str) -> None:
    wanted = NUMBERS[use](2.0)
    assert torch.equal(torch.as_tensor(NUMBERS[use](torch.tensor(2.0))), torch.as_tensor(wanted))
    number = torch.tensor(2.0, requires_grad=True)
    with pytest.raises(ArgumentError, match=r"WF165(.*\n)*.*x\.detach\(\)"):
        NUMBERS[use](number)
    with torch.no_grad():
        assert torch.equal(torch.as_tensor(NUMBERS[use](number)), torch.as_tensor(wanted))
    with pytest.raises(DTypeError, match=r"WF114.*device meta"):
        NUMBERS[use](torch.tensor(2.0, device="meta"))
    for way in (torch.func.grad, torch.func.vmap):
        with pytest.raises(DTypeError, match="WF114"):
            way(NUMBERS[use])(torch.tensor([2.0]) if way is torch.func.vmap else torch.tensor(2.0))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "function",
    [wf.sum, wf.reduce, wf.exp, wf.dot, wf.softmax, wf.histogram, wf.vjp(wf.softmax), wf.compile("sum", (4,))],
)
def test_torch_jit_script_is_refused(function: Any) -> None:
    def calls(x: torch.Tensor) -> torch.Tensor:
        return wf.sum(x)  # type: ignore[no-any-return]

    with pytest.raises(wf.WarpfoldError, match=r"WF223: torch.jit.script .*(\n.*)*use torch.compile, or call"):
        torch.jit.script(function)
    with pytest.raises(wf.WarpfoldError, match="WF223"):
        torch.jit.script(calls)
    assert inspect.signature(function)  # others than scripts may ask for it


@pytest.mark.filterwarnings("ignore")
def test_torch_jit_script_of_a_module_is_refused() -> None:
    class Rows(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return wf.softmax(x)  # type: ignore[no-any-return]

    replaced = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.LayerNorm(4))
    importlib.import_module("warpfold.torch").replace_modules(replaced)
    for module in (Rows(), replaced):
        with pytest.raises(wf.WarpfoldError, match=r"WF223: .*\n.*test_pytorch"):
            torch.jit.script(module)


@pytest.mark.filterwarnings("ignore")
def test_torch_jit_trace_is_refused_and_make_fx_records_ops() -> None:
    from torch.fx.experimental.proxy_tensor import make_fx

    def two(x: Any) -> Any:
        return wf.sum(x * 2, 1) + 1

    refused = r"WF114.*torch.jit.trace records operations(.*\n)*.*call warpfold outside of"
    with pytest.raises(DTypeError, match=refused):
        torch.jit.trace(two, KEPT)
    for found in (two(KEPT), make_fx(two)(KEPT)(KEPT), make_fx(two, pre_dispatch=True)(KEPT)(KEPT)):
        assert torch.equal(found, KEPT.sum(1) * 2 + 1)
