"""Modules of ``warpfold.torch`` beside PyTorch's, and ``replace_modules``."""

from __future__ import annotations

import copy
import importlib
from typing import Any

import pytest

import warpfold as wf

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed")
wt: Any = importlib.import_module("warpfold.torch")
transformer: Any = importlib.import_module("transformer")

nn = torch.nn


def randn(*shape: int, dtype: Any = torch.float32) -> Any:
    return torch.randn(shape, generator=torch.Generator().manual_seed(len(shape)), dtype=dtype)


ROWS, IMAGES, CLASSES = randn(3, 8), randn(2, 4, 5), torch.tensor([1, -100, 7])
CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "Softmax": (nn.Softmax(1), (ROWS,)),
    "Softmax of columns": (nn.Softmax(dim=0), (ROWS.t(),)),
    "Softmax of a number": (nn.Softmax(0), (ROWS[0, 0],)),
    "LogSoftmax of a number": (nn.LogSoftmax(-1), (ROWS[0, 0],)),
    "LogSoftmax": (nn.LogSoftmax(-1), (ROWS,)),
    "LayerNorm": (nn.LayerNorm(8), (ROWS,)),
    "LayerNorm of planes": (nn.LayerNorm((4, 5), eps=1e-3), (IMAGES,)),
    "LayerNorm without weights": (nn.LayerNorm(8, elementwise_affine=False), (ROWS,)),
    "LayerNorm without bias": (nn.LayerNorm(8, bias=False), (ROWS,)),
    "RMSNorm": (nn.RMSNorm(8), (ROWS,)),
    "GroupNorm": (nn.GroupNorm(2, 4), (IMAGES,)),
    "BatchNorm1d": (nn.BatchNorm1d(4), (IMAGES,)),
    "BatchNorm1d of an empty batch": (nn.BatchNorm1d(4), (ROWS[:0, :4],)),
    "BatchNorm2d of empty images": (nn.BatchNorm2d(4, momentum=0.5), (IMAGES[..., :0, None],)),
    "BatchNorm2d": (nn.BatchNorm2d(4, track_running_stats=False), (IMAGES[..., None],)),
    "BatchNorm3d in use": (nn.BatchNorm3d(4, affine=False).eval(), (IMAGES[..., None, None],)),
    "CrossEntropyLoss": (nn.CrossEntropyLoss(), (ROWS, CLASSES)),
    "CrossEntropyLoss with all": (
        nn.CrossEntropyLoss(torch.arange(1.0, 9), reduction="sum", label_smoothing=0.1, ignore_index=7),
        (ROWS, CLASSES.abs() % 8),
    ),
    "CrossEntropyLoss of probabilities": (nn.CrossEntropyLoss(), (ROWS, ROWS.softmax(1))),
    "ReLU": (nn.ReLU(), (ROWS,)),
    "Dropout in use": (nn.Dropout().eval(), (ROWS,)),
}  # fmt: skip


def trained(module: Any, xs: tuple[Any, ...]) -> list[Any]:
    """The result, the gradients and the state of a module."""
    leaves = [x.clone().requires_grad_(x.is_floating_point()) for x in xs]
    y = module(*leaves)
    if y.requires_grad:
        (y * (y.detach() + 1).cos()).sum().backward()
    found = [y.detach(), *(x.grad for x in leaves), *(p.grad for p in module.parameters())]
    return [*found, *module.state_dict().values()]


LEFT = {"Softmax of a number", "LogSoftmax of a number", "CrossEntropyLoss of probabilities", "Dropout in use"}
"""The cases in which the call is PyTorch's own."""


@pytest.mark.parametrize("name", CASES)
def test_modules_are_those_of_pytorch(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, xs = CASES[name]
    expected, swapped = trained(_copy(module), xs), _copy(module, swapped=True)
    with monkeypatch.context() as patch:
        theirs, calls = type(module).forward, []
        patch.setattr(type(module), "forward", lambda *args: calls.append(name) or theirs(*args))
        results = trained(swapped, xs)
    assert calls == [name] * (name in LEFT)
    for found, wanted in zip(results, expected, strict=True):
        if wanted is None:
            assert found is None
        else:
            assert (found.dtype, found.shape, found.stride()) == (wanted.dtype, wanted.shape, wanted.stride())
            torch.testing.assert_close(found, wanted, rtol=2e-5, atol=2e-5)


def _copy(module: Any, swapped: bool = False) -> Any:
    """A module of the same state."""
    made = copy.deepcopy(module)
    if swapped:
        assert wt.replace_modules(made).swapped == {"": type(module).__name__}
    return made


@pytest.mark.parametrize("eps", [0.0, -1.0])
def test_an_epsilon_that_pytorch_refuses_is_refused(eps: float) -> None:
    for module in (_copy(nn.BatchNorm1d(4, eps=eps), swapped=True), nn.BatchNorm1d(4, eps=eps)):
        with pytest.raises(ValueError, match="eps must be positive"):
            module(IMAGES)


def test_arguments_and_state_dicts_are_those_of_pytorch() -> None:
    ours, theirs = wt.LayerNorm(8, eps=1e-3), nn.LayerNorm(8, eps=1e-3)
    assert repr(ours) == repr(theirs)
    assert ours.load_state_dict(theirs.state_dict()).missing_keys == []
    assert isinstance(wt.BatchNorm2d(4, momentum=0.2), nn.BatchNorm2d)


class Own(nn.LayerNorm):
    """A subclass."""


def test_modules_are_swapped_where_they_stand() -> None:
    model = nn.Sequential(
        nn.LayerNorm(8), Own(8), nn.Softmax(), nn.ReLU(inplace=True), nn.BatchNorm1d(8, momentum=None), nn.Linear(8, 8),
        nn.Dropout(), nn.LayerNorm(8),
    ).eval()  # fmt: skip
    model[7].forward = lambda x: x
    seen: list[str] = []
    model[0].register_forward_hook(lambda *_: seen.append("hook"))
    before = dict(model.named_parameters())
    done = wt.replace_modules(model)
    assert done.swapped == {"0": "LayerNorm", "6": "Dropout"}
    assert str(done).splitlines() == [
        "0  LayerNorm swapped",
        "6  Dropout swapped",
        f"1  left: it is an instance of a subclass, {Own.__module__}.Own",
        "2  left: dim is None, so that it depends on the rank of the argument",
        "3  left: inplace is set: it changes its argument",
        "4  left: momentum is None: its running statistics are averages of all calls",
        "7  left: its forward was replaced",
    ]
    assert all(before[name] is p for name, p in model.named_parameters())
    assert not model[6].training
    model(ROWS)
    assert seen == ["hook"]
    assert not wt.replace_modules(model).swapped
    assert str(wt.replace_modules(nn.Linear(2, 2))) == "nothing to swap"


def test_an_object_that_is_no_module_is_refused() -> None:
    with pytest.raises(wf.WarpfoldError, match=r"WF197: replace_modules got a dict: expected a torch.nn.Module") as e:
        wt.replace_modules({})
    assert "pass the model itself" in str(e.value)


def test_a_dropout_drops_what_its_backward_drops() -> None:
    x = torch.ones(50, 40, requires_grad=True)
    torch.manual_seed(3)
    y = wt.Dropout(0.25)(x)
    y.sum().backward()
    assert torch.equal(x.grad, y)
    assert 0.7 < float((y > 0).float().mean()) < 0.8
    torch.manual_seed(3)
    assert torch.equal(wt.Dropout(0.25)(x), y)


SIZES = transformer.Sizes(layers=2, width=32, heads=4, vocabulary=64, length=8, batch=2)


def test_a_transformer_learns_as_with_pytorch() -> None:
    tokens = transformer.batches(SIZES, 3)
    theirs, ours = transformer.model(SIZES), transformer.model(SIZES)
    done = wt.replace_modules(ours)
    assert sorted(done.swapped.values()) == ["CrossEntropyLoss", *["LayerNorm"] * 3, *["RMSNorm"] * 2]
    found, wanted = (transformer.losses(net, tokens, rate=0.5) for net in (ours, theirs))
    assert wanted[2] < wanted[0] - 0.1
    assert found == pytest.approx(wanted, rel=1e-5)
    for own, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(own, other, rtol=1e-4, atol=1e-5)


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["bf16", "f32"])
def test_a_large_transformer_learns_as_with_pytorch_in_no_more_memory(precision: str) -> None:
    first, again, ours = (transformer.trained(own, precision) for own in (False, False, True))

    def apart(run: Any) -> float:
        return max(abs(a - b) for a, b in zip(run.losses, first.losses, strict=True))

    assert apart(ours) <= max(2 * apart(again), 0.02)
    assert ours.memory <= first.memory
