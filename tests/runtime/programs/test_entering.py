"""Calls that are written alike enter a function of their own; all others, and errors, are as without it."""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from fake_gpu import Gpu, Tensor, gpu
from made import layer_norm, softmax

import warpfold as wf
from warpfold.compiler.errors import WarpfoldError
from warpfold.runtime.calls import recall
from warpfold.runtime.programs import entering, function

__all__ = ["gpu"]
ROWS = np.random.default_rng(3).normal(size=(5, 12)).astype(np.float32)
LAUNCH = "cuLaunchKernelEx"


def _repeated(call: Callable[[], Any]) -> Any:
    """The result of a call that is made until what it enters is its own."""
    recall.forget()
    return [call() for _ in range(4)][-1]


def _is_own(program: Any) -> bool:
    return program.func is not program._calls.entry


@pytest.mark.parametrize("gpu", [True], indirect=True)
def test_a_call_enters_its_own_function_from_the_third_on(gpu: Gpu) -> None:
    x, seen = gpu.tensor(ROWS), []
    recall.forget()
    for _ in range(4):
        seen.append(_is_own(softmax))
        softmax(x, axis=-1)
    assert seen == [False, False, False, True]
    softmax(x, axis=0)
    assert not _is_own(softmax)


@pytest.mark.parametrize("gpu", [True], indirect=True)
def test_forms_that_take_turns_change_what_is_entered_less_and_less(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    x, changes, now = gpu.tensor(ROWS), list[int](), [0.0]
    recall.forget()
    own: Any = softmax._calls.memo.left.__self__  # type: ignore[attr-defined]
    enter = own.enter
    monkeypatch.setattr(own, "wait", 0)
    monkeypatch.setattr(own, "skip", 0)
    monkeypatch.setattr(own, "enter", lambda entry: (changes.append(i), enter(entry)))
    monkeypatch.setattr(entering, "monotonic", lambda: now[0])
    for i in range(400):
        softmax(x, axis=i // 3 % 2)
    assert 4 < len(changes) < 20
    before = len(changes)
    for i in range(1000):  # a form that stays, but for one call in a hundred
        now[0] += 1.0
        softmax(x, axis=-1 if i % 100 else 0)
    assert own.wait == 0
    assert before + 10 < len(changes) < before + 25


@pytest.mark.parametrize("gpu", [True], indirect=True)
def test_another_form_or_shape_takes_its_place_when_it_is_repeated(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    entered, own = set(), softmax._calls.memo.left.__self__  # type: ignore[attr-defined]
    monkeypatch.setattr(entering, "SHORT", 0.0)
    monkeypatch.setattr(own, "skip", 0)
    for x in (gpu.tensor(ROWS), gpu.tensor(ROWS[:2])):
        for axis in (-1, 0):
            for _ in range(10):
                softmax(x, axis=axis)
            assert _is_own(softmax)
            entered.add(softmax.func)
    assert len(entered) == 4


@pytest.mark.parametrize("gpu", [True], indirect=True)
def test_shapes_that_take_turns_need_no_key(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    xs = [gpu.tensor(ROWS[:n]) for n in (1, 2, 3)]
    for x in xs:
        _repeated(lambda: softmax(x, axis=-1))  # noqa: B023
    assert _is_own(softmax)
    wanted = {x: softmax(x, axis=-1).a for x in xs}
    monkeypatch.setattr(function, "READERS", {})  # which keys are made with
    for x in xs * 2:
        np.testing.assert_array_equal(softmax(x, axis=-1).a, wanted[x])


@pytest.mark.parametrize("gpu", [True], indirect=True)
def test_what_is_forgotten_is_not_entered(gpu: Gpu) -> None:
    x = gpu.tensor(ROWS)
    _repeated(lambda: softmax(x, axis=-1))
    assert _is_own(softmax)
    gpu.backends[0].close()
    assert not _is_own(softmax)
    assert not softmax._calls.memo.entries


def test_calls_of_all_forms_in_any_order(gpu: Gpu) -> None:
    """Each form is repeated a few times, so that what is entered changes; arrays, streams and alignments change too."""
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(6, 16)).astype(np.float32)
    w, b = ROWS[0], ROWS[1]
    forms: list[Callable[[Any, Any], Any]] = [
        lambda x, _: softmax(x),
        lambda x, _: softmax(x, axis=-1),
        lambda x, _: softmax(x, axis=0),
        lambda x, _: softmax(x=x, axis=0),
        lambda x, _: softmax(x, axis=0, determinism="portable"),
        lambda x, made: softmax(x, axis=0, out=made(np.zeros(x.shape, np.float32))),
        lambda x, made: layer_norm(x, *(made(np.resize(v, x.shape[-1])) for v in (w, b))),
        lambda x, made: layer_norm(x, made(np.resize(w, x.shape[-1]))),
        lambda x, made: wf.group_norm(x, 2, weight=made(np.ones(x.shape[1], np.float32) * 2)),
        lambda x, made: wf.group_norm(x, 2, made(np.ones(x.shape[1], np.float32) * 2), eps=1e-3),
        lambda x, made: layer_norm(x, b=made(np.resize(b, x.shape[-1])), w=made(np.resize(w, x.shape[-1]))),
        lambda x, made: layer_norm(x=x, w=made(np.resize(w, x.shape[-1]))),
    ]
    warm = 0
    for _ in range(60):
        form, a = forms[rng.integers(len(forms))], (ROWS, wide)[rng.integers(2)]
        wanted = form(a, np.asarray)
        for _ in range(rng.integers(1, 6)):
            x = gpu.tensor(a, offset=4 * int(rng.integers(2)))
            gpu.stream.use((0, 7)[rng.integers(2)])
            found, calls = gpu.launched(lambda: form(x, gpu.tensor))  # noqa: B023
            assert type(found) is Tensor
            np.testing.assert_allclose(found.a, wanted, rtol=1e-5)
            warm += set(calls) == {LAUNCH}
    assert warm > 60


@pytest.mark.parametrize("name", ["softmax", "layer_norm"])
def test_all_arrays_may_be_given_by_name(name: str) -> None:
    """A call that PyTorch records, with no tensor by position, is repeated, too."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x = torch.linspace(-1, 1, 12).reshape(3, 4).requires_grad_()
    wanted = getattr(wf, name)(x)
    for _ in range(5):
        assert torch.equal(getattr(wf, name)(x=x), wanted)


def test_parameters_may_have_any_name(gpu: Gpu) -> None:
    x, y = gpu.tensor(ROWS), gpu.tensor(ROWS + 1)

    @wf.program
    def odd(x: Any, y: Any, *, held: int = 0, given0: int = 0, how: int = 0, xs: int = 0, x0: int = 0) -> Any:
        return x * (1 + held) + y * (1 + given0) + how + xs + x0

    for name, wanted in (("held", 5), ("given0", 6), ("how", 3), ("xs", 3), ("x0", 3)):
        found = _repeated(lambda: odd(x, y, **{name: 2}))  # noqa: B023
        base = ROWS * 1 + (ROWS + 1)
        more = {5: 2 * ROWS, 6: 2 * (ROWS + 1), 3: 2}[wanted]
        np.testing.assert_allclose(found.a, base + more, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("gpu", [True], indirect=True)
def test_symbolic_arrays_keep_their_sizes_open(gpu: Gpu) -> None:
    """A function that repeats calls of real arrays looks at no size of a traced program."""
    x = gpu.tensor(ROWS)

    @wf.program
    def scaled(x: Any) -> Any:
        return wf.exp(x) / wf.sum(x)

    for form in (lambda: wf.exp(x), lambda: wf.exp(x, determinism="portable")):
        _repeated(form)
        assert _is_own(inspect.getclosurevars(wf.exp).nonlocals["program"])
        scaled(ROWS)
        scaled(ROWS[:3])
    assert [p.sizes for found in scaled._traces._found.values() for p in found] == [()]


def test_lists_and_other_arrays_after_a_repeated_call(gpu: Gpu) -> None:
    x, wanted = gpu.tensor(ROWS), wf.softmax(ROWS)
    for other in (ROWS.tolist(), ROWS, gpu.tensor(ROWS), ROWS.astype(np.float64)):
        _repeated(lambda: wf.softmax(x))
        found = wf.softmax(other)
        np.testing.assert_allclose(getattr(found, "a", found), wanted, rtol=1e-5)


def test_errors_are_those_of_a_first_call(gpu: Gpu) -> None:
    x = gpu.tensor(ROWS)
    bad: list[Callable[[], Any]] = [
        lambda: softmax(),
        lambda: softmax(x, x, x),
        lambda: softmax(x, axes=0),
        lambda: softmax(x, axis=5),
        lambda: softmax(x, axis=-1, plan="so few"),
        lambda: softmax(),
    ]

    def said(call: Callable[[], Any]) -> tuple[str, int]:
        with pytest.raises(WarpfoldError) as e:
            call()
        assert e.value.location is not None
        return str(e.value), e.value.location.line

    wanted = [said(call) for call in bad]
    for form in (lambda: softmax(x), lambda: softmax(x, axis=-1)):
        for call, text in zip(bad, wanted, strict=True):
            _repeated(form)
            assert said(call) == text


@pytest.mark.parametrize("gpu", [True], indirect=True)
def test_tracers_of_pytorch_see_the_same_function(gpu: Gpu) -> None:
    x, before = gpu.tensor(ROWS), wf.softmax.func.__dict__
    _repeated(lambda: wf.softmax(x, axis=-1))
    assert _is_own(wf.softmax)
    assert wf.softmax.func.__dict__ == before
    assert {"_torchdynamo_inline", "_warpfold_entry"} <= before.keys()


@pytest.mark.parametrize("gpu", [True], indirect=True)
def test_threads_that_write_calls_differently(gpu: Gpu) -> None:
    x, found = gpu.tensor(ROWS), dict[int, list[Any]]()
    wanted = [softmax(ROWS, axis=axis) for axis in (0, 1)]

    def work(axis: int) -> None:
        found[axis] = [softmax(x, axis=axis).a for _ in range(40)]

    threads = [threading.Thread(target=work, args=(axis,)) for axis in (0, 1)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for axis in (0, 1):
        assert len(found[axis]) == 40
        for a in found[axis]:
            np.testing.assert_array_equal(a, wanted[axis])


def test_a_call_that_pytorch_records_enters_its_own_function() -> None:
    torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed")
    x, w, b = (torch.tensor(a, requires_grad=True) for a in (ROWS, ROWS[0], ROWS[1]))
    recall.forget()
    wanted, *_ = [wf.layer_norm(x, w, b, eps=1e-3) for _ in range(4)]
    assert _is_own(wf.layer_norm)
    found = wf.layer_norm(x, w, b, eps=1e-3)
    assert torch.equal(found, wanted)
    (mine,), (theirs,) = (torch.autograd.grad(y.square().sum(), w) for y in (found, wanted))
    assert torch.equal(mine, theirs)
    with torch.no_grad():
        found = wf.layer_norm(x, w, b, eps=1e-3)
    assert torch.equal(found, wanted)
    assert not found.requires_grad
    assert wf.layer_norm(x.detach(), w.detach(), b.detach(), eps=1e-3).grad_fn is None
