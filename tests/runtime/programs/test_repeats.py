"""Repeated calls of programs: their cost at the driver, and that they give the results of the slow path."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from fake_gpu import Gpu, Tensor, gpu
from made import layer_norm, scaled, several, softmax, softmax_numpy

import warpfold as wf
from warpfold.compiler.errors import ArgumentError
from warpfold.runtime.arrays import fast_readers
from warpfold.runtime.calls import recall
from warpfold.runtime.programs import function

__all__ = ["gpu"]
ROWS = np.random.default_rng(2).normal(size=(5, 12)).astype(np.float32)
LAUNCH = "cuLaunchKernelEx"


@wf.program
def both(x: Any, y: Any) -> Any:
    return x + y, x - y


CALLS: dict[str, Callable[[Any], Any]] = {
    "softmax": softmax,
    "an axis": lambda x: softmax(x, axis=0),
    "axes": lambda x: softmax(x, axis=(0, 1)),
    "a float": lambda x: layer_norm(x, x[0], eps=1e-3),
    "by name": lambda x: layer_norm(x, w=x[0], b=x[1]),
    "by name, other order": lambda x: layer_norm(x, b=x[1], w=x[0]),
    "a number": lambda x: scaled(x, 2.0),
    "a number between arrays": lambda x: wf.group_norm(x, 4, x[0], x[1]),
    "several steps": several,
    "two results": lambda x: both(x, x),
    "an option": lambda x: softmax(x, determinism="portable"),
}


def _same(found: Any, wanted: Any) -> None:
    for f, w in zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]:
        assert type(f) is Tensor
        assert (f.shape, f.dtype) == (w.shape, w.dtype)
        np.testing.assert_array_equal(f.a, w.a)


def test_seeds_are_words_of_a_launch(gpu: Gpu) -> None:
    x = gpu.tensor(ROWS)
    _, cold = gpu.launched(lambda: wf.dropout(x, seed=3, offset=2**40))
    assert not {"cuMemcpyHtoDAsync", "cuMemsetD32Async", "cuStreamSynchronize"} & set(cold)
    for seed, offset in ((5, 2**40 + 1), (2**64 - 1, 0), (0, 7)):
        found, warm = gpu.launched(lambda: wf.dropout(x, seed=seed, offset=offset))  # noqa: B023
        assert warm == [LAUNCH]
        np.testing.assert_array_equal(found.a, wf.dropout(ROWS, seed=seed, offset=offset))
    wanted = wf.dropout(ROWS, seed=5)
    for own in (5, np.uint64(5), np.array(5)):
        for _ in range(2):
            np.testing.assert_array_equal(wf.dropout(x, seed=own).a, wanted)


def test_running_statistics_cost_no_more(gpu: Gpu) -> None:
    x, mean, var = gpu.tensor(ROWS), gpu.tensor(ROWS[0]), gpu.tensor(ROWS[1])
    _, cold = gpu.launched(lambda: wf.batch_norm(x, mean, var, training=True))
    found, warm = gpu.launched(lambda: wf.batch_norm(x, mean, var, training=True))
    assert warm == [LAUNCH] * cold.count(LAUNCH)
    assert found.running_mean is mean
    np.testing.assert_allclose(mean.a, ROWS[0] * 0.81 + ROWS.mean(0) * 0.19, rtol=1e-5)
    fresh, again = gpu.tensor(ROWS[0]), gpu.tensor(ROWS[1])
    _, warm = gpu.launched(lambda: wf.batch_norm(x, fresh, again, training=True))
    assert warm == [LAUNCH] * cold.count(LAUNCH)
    np.testing.assert_allclose(fresh.a, ROWS[0] * 0.9 + ROWS.mean(0) * 0.1, rtol=1e-5)


@pytest.mark.parametrize("what", CALLS)
def test_a_warm_call_launches_and_does_nothing_else(gpu: Gpu, what: str) -> None:
    call, x = CALLS[what], gpu.tensor(ROWS)
    wanted, cold = gpu.launched(lambda: call(x))
    found, warm = gpu.launched(lambda: call(x))
    _same(found, wanted)
    assert warm == [LAUNCH] * cold.count(LAUNCH)
    assert warm
    other = gpu.tensor(ROWS[::-1] * 2)
    found, warm = gpu.launched(lambda: call(other))
    assert set(warm) == {LAUNCH}
    recall.forget()
    _same(found, call(other))


def functions_of(call: Callable[[], Any]) -> set[str]:
    """The functions of the package, and recipes, that a call enters outside of the driver."""
    folders = tuple(str(Path(wf.__file__).with_name(name)) for name in ("runtime", "compiler"))
    found, inside = set[str](), [0]

    def enter(frame: Any, event: str, _: Any) -> None:
        code = frame.f_code
        if code.co_name == "at_cuLaunchKernelEx":
            inside[0] += {"call": 1, "return": -1}.get(event, 0)
        ours = code.co_filename.startswith(folders) or code.co_name == "recipe"
        if event == "call" and not inside[0] and ours:
            found.add(code.co_name)

    sys.setprofile(enter)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.parametrize("gpu", [True], indirect=True)
@pytest.mark.parametrize("what", [*CALLS, "results given", "parameters of a module"])
def test_a_warm_call_enters_a_recipe_and_little_else(gpu: Gpu, what: str) -> None:
    x, w = gpu.tensor(ROWS), [gpu.tensor(ROWS[i]) for i in range(2)]
    outs = gpu.tensor(ROWS), gpu.tensor(ROWS)
    given: dict[str, Callable[[], Any]] = {
        "by name": lambda: layer_norm(x, w=w[0], b=w[1]),
        "results given": lambda: both(x, y, out=outs),
        "two results": lambda: both(x, y),
        "parameters of a module": lambda: layer_norm(x, *(Parameter(v.a) for v in w)),
    }
    y = gpu.tensor(ROWS)
    call = given.get(what) or (lambda: CALLS[what](x))
    call()
    call()  # makes a buffer for arguments
    call()  # is written like the latest one: from here on calls enter what repeats it
    assert functions_of(call) - {"_same"} == ({"call", "keyed", "recipe"} if what == "results given" else {"recipe"})


@pytest.mark.parametrize("gpu", [True], indirect=True)
def test_a_number_that_changes_enters_the_recipe(gpu: Gpu) -> None:
    x = gpu.tensor(ROWS)
    for i in range(3):
        wf.dropout(x, seed=i)
        scaled(x, np.array(i, np.float32))
    assert functions_of(lambda: wf.dropout(x, seed=77)) <= {"call", "recipe", "_seed", "checked", "_value", "is_array"}
    seen = set[str]()
    for value in (-2.5, 0.0, 3.0):
        c = np.array(value, np.float32)
        seen |= functions_of(lambda: scaled(x, c))  # noqa: B023
        np.testing.assert_array_equal(scaled(x, c).a, ROWS * c)
    assert seen <= {"call", "recipe", "_value"}
    for other in (np.array(2), np.array(True), np.float32(4)):
        np.testing.assert_array_equal(scaled(x, other).a, scaled(ROWS, other))


@pytest.mark.parametrize("gpu", [True], indirect=True)
def test_a_reduction_where_bits_are_set_enters_its_recipe(gpu: Gpu) -> None:
    x, mask = gpu.tensor(ROWS), ROWS > 0
    bits = gpu.tensor(wf.pack(mask).view(np.int32))
    for _ in range(3):
        np.testing.assert_allclose(wf.sum(x, 1, where=bits).a, ROWS.sum(1, where=mask), rtol=1e-6)
    _, warm = gpu.launched(lambda: wf.sum(x, 1, where=bits))
    assert warm == [LAUNCH]
    assert {"reduced", "missed", "reduced_where"}.isdisjoint(functions_of(lambda: wf.sum(x, 1, where=bits)))


@pytest.mark.parametrize("gpu", [True], indirect=True)
def test_one_tensor_in_two_places(gpu: Gpu) -> None:
    x, w, b = gpu.tensor(ROWS), gpu.tensor(ROWS[0]), gpu.tensor(ROWS[1])
    for _ in range(3):
        wf.layer_norm(x, w, w)
        softmax(x, out=x)
    assert functions_of(lambda: wf.layer_norm(x, w, w)) == {"recipe"}
    assert functions_of(lambda: softmax(x, out=x)) <= {"call", "keyed", "recipe", "_same"}
    x = gpu.tensor(ROWS)
    for first, second in ((w, b), (w, w), (b, b), (b, w)):
        found = wf.layer_norm(x, first, second).a
        np.testing.assert_array_equal(found, wf.layer_norm(ROWS, first.a, second.a))


class Parameter(Tensor):
    """A minimal ``torch.nn.Parameter``."""

    __module__ = "torch.nn.parameter"


@pytest.mark.parametrize("gpu", [True], indirect=True)
def test_calls_that_take_turns_are_all_repeated(gpu: Gpu) -> None:
    xs = [gpu.tensor(ROWS[: n + 1]) for n in range(5)]
    wanted = [softmax(x) for x in [*xs, *xs]]
    for x, w in zip(xs, wanted, strict=False):
        assert functions_of(lambda x=x: softmax(x)) <= {"call", "keyed", "recipe", "recent", "of_shape", "_same"}  # type: ignore[misc]
        _same(softmax(x), w)


@pytest.mark.parametrize("gpu", [True], indirect=True)
def test_a_call_written_like_the_latest_one_makes_no_key(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parameters are compared by identity: 1, 1.0 and True are equal, and mean different things."""
    x, read = gpu.tensor(ROWS), list[type]()

    class Readers(dict[type, Any]):
        def __getitem__(self, kind: type) -> Any:
            read.append(kind)
            return fast_readers.READERS[kind]

    @wf.program
    def joined(x: Any, *, plus: Any = 0, by: Any) -> Any:
        return x * by + plus

    monkeypatch.setattr(function, "READERS", Readers())
    for by in (2, 1000003, 1.0, True, 1):
        read.clear()
        wanted = [joined(x, plus=0, by=by) for _ in range(4)]
        assert read
        read.clear()
        _same(joined(x, plus=0, by=by), wanted[0])
        assert not read
    recall.forget()
    joined(x, by=1)
    assert read


def test_zeros_of_either_sign_are_told_apart(gpu: Gpu) -> None:
    x = gpu.tensor(np.zeros((2, 3), np.float32))

    @wf.program
    def joined(x: Any, *, by: float) -> Any:
        return x * by

    for by in (0.0, -0.0, 1.0, 1) * 2:
        assert np.signbit(joined(x, by=by).a).all() == np.signbit(by)
    _, warm = gpu.launched(lambda: joined(x, by=-0.0))
    assert warm == [LAUNCH]


def test_a_call_in_place_is_repeated_in_place_alone(gpu: Gpu) -> None:
    x = gpu.tensor(ROWS)
    softmax(x, out=x)
    np.testing.assert_allclose(x.a, softmax_numpy(ROWS), rtol=1e-6)
    again, other = gpu.tensor(ROWS), gpu.tensor(np.zeros_like(ROWS))
    _, warm = gpu.launched(lambda: softmax(again, out=again))
    assert warm == [LAUNCH]
    np.testing.assert_array_equal(again.a, x.a)
    again = gpu.tensor(ROWS)
    softmax(again, out=other)
    np.testing.assert_array_equal(other.a, x.a)
    np.testing.assert_array_equal(again.a, ROWS)


def test_an_overlap_of_a_later_call_is_found(gpu: Gpu) -> None:
    memory = gpu.tensor(np.zeros((8, 12), np.float32))
    softmax(memory[:3], out=memory[4:7])
    softmax(memory[:3], out=memory[4:7])
    with pytest.raises(ArgumentError, match="WF186: out shares memory with input 0"):
        softmax(memory[:3], out=memory[1:4])


def test_a_number_from_the_host_stands_beside_arrays_of_a_device(gpu: Gpu) -> None:
    found = scaled(gpu.tensor(ROWS), np.array(2.0, np.float32))
    assert type(found) is Tensor
    np.testing.assert_array_equal(found.a, ROWS * 2)
    found = scaled(np.array(2.0, np.float32), gpu.tensor(ROWS))
    assert type(found) is Tensor


def test_arrays_of_two_devices_are_refused(gpu: Gpu) -> None:
    with pytest.raises(ArgumentError, match="WF107"):
        both(gpu.tensor(ROWS), gpu.tensor(ROWS, 1))
