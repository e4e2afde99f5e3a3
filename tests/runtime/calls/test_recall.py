"""Repeated calls: their cost at the driver, and that they give the results of the slow path."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "compiler" / "program"))
from fake_gpu import Gpu, Tensor, gpu
from test_closures import PLACES, Place

import warpfold as wf
from warpfold.compiler.errors import ArgumentError, BackendError, DTypeError
from warpfold.runtime.arrays.fast_readers import kinds_of
from warpfold.runtime.calls import recall

__all__ = ["gpu"]
ROWS = np.arange(60, dtype=np.float32).reshape(5, 12)
LAUNCH = "cuLaunchKernelEx"


def same(got: Any, wanted: Any) -> None:
    """Equal in every value, and of the same types."""
    if isinstance(wanted, tuple):
        assert type(got) is type(wanted)
        for g, w in zip(got, wanted, strict=True):
            same(g, w)
        return
    assert type(got) is Tensor
    assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_array_equal(got.a, wanted.a)


@wf.monoid(identity=0)
def total(a: Any, b: Any) -> Any:
    return a + b


CALLS = {
    "sum": lambda x: wf.sum(x),
    "an axis": lambda x: wf.sum(x, 1),
    "axes": lambda x: wf.sum(x, axis=(0, 1)),
    "keepdims": lambda x: wf.max(x, axis=0, keepdims=True),
    "a dtype": lambda x: wf.sum(x, dtype="f64"),
    "a plan": lambda x: wf.sum(x, plan="finish=two_kernels"),
    "two numbers": lambda x: wf.minmax(x, 0),
    "names": lambda x: wf.mean_var(x, correction=1),
    "reduce": lambda x: wf.reduce(x, wf.SUM, axis=1),
    "a monoid": lambda x: wf.reduce(x, total),
    "several": lambda x: wf.reduce(x, (wf.SUM, total), axis=0),
    "two arrays": lambda x: wf.vecdot(x, x),
    "dot": lambda x: wf.dot(x[0], x[1]),
    "array_equal": lambda x: wf.array_equal(x, x),
    "an initial value": lambda x: wf.sum(x, initial=3.0),
}


@pytest.mark.parametrize("what", CALLS)
def test_a_warm_call_launches_and_does_nothing_else(gpu: Gpu, what: str) -> None:
    call, x = CALLS[what], gpu.tensor(ROWS)
    wanted, cold = gpu.launched(lambda: call(x))
    gpu.made = 0
    got, warm = gpu.launched(lambda: call(x))
    same(got, wanted)
    assert warm == [LAUNCH] * cold.count(LAUNCH)
    assert warm
    assert gpu.made == (len(got) if isinstance(got, tuple) else 1)
    other = gpu.tensor(ROWS[::-1] * 2)
    got, warm = gpu.launched(lambda: call(other))
    assert set(warm) == {LAUNCH}
    recall.forget()
    same(got, call(other))


def test_a_prepared_call_with_out_launches_once_and_allocates_nothing(gpu: Gpu) -> None:
    k = wf.compile("sum", (4, 10), "f32", axis=1)
    x, out = gpu.tensor(ROWS), gpu.tensor(np.zeros(5, np.float32))
    assert k(x, out=out) is out
    gpu.made = 0
    for factor in (1, 2, 3):
        other = gpu.tensor(ROWS * factor)
        got, calls = gpu.launched(lambda: k(other, out=out))  # noqa: B023
        assert got is out
        assert calls == [LAUNCH]
        assert out.a.tolist() == (ROWS * factor).sum(1).tolist()
    assert gpu.made == 0
    assert gpu.launched(lambda: k(x))[0].a.tolist() == ROWS.sum(1).tolist()
    assert gpu.launched(lambda: k(x))[1] == [LAUNCH]


def test_a_backend_that_closes_is_forgotten(gpu: Gpu) -> None:
    wf.sum(gpu.tensor(ROWS))
    assert any(memo._table for memo in recall._memos)
    gpu.backends[0].close()
    assert not any(memo._table or memo.last for memo in recall._memos)


def test_calls_are_distinguished_by_arguments_and_types(gpu: Gpu) -> None:
    """An axis, a tuple of axes, an array for the result and keywords are not confused."""
    ones, out = gpu.tensor(np.ones((2, 2), np.float32)), gpu.tensor(np.zeros(2, np.float32))
    whole = gpu.tensor(np.zeros((), np.float32))
    for _ in range(3):
        assert wf.sum(ones, 1).shape == (2,)
        assert wf.sum(ones, (1, 0)).shape == wf.sum(ones, (0, 1)).shape == ()
        assert wf.sum(ones, 1, keepdims=True).shape == (2, 1)
        assert wf.sum(ones, 1, keepdims=False).shape == (2,)
        assert wf.sum(ones, 1, out=out) is out
        assert wf.sum(ones, 1, out=(out,)) is out
        assert wf.sum(ones, out=whole) is whole
        assert wf.sum(ones, dtype="f64").dtype.name == "float64"
        assert wf.sum(ones, initial=1).dtype.name == "float32"
        assert wf.reduce(ones, "sum").shape == ()
        assert wf.reduce(ones, "sum", axis=1).shape == wf.reduce(ones, "max", axis=1).shape == (2,)
        assert wf.reduce(ones, "sum", axis=1, keepdims=True).shape == (2, 1)


def test_two_streams_in_turn_stay_on_the_fast_path(gpu: Gpu) -> None:
    x, k, out = gpu.tensor(ROWS), wf.compile("sum", (5, 12)), gpu.tensor(np.zeros((), np.float32))
    for _ in range(2):
        for stream in (3, 4):
            gpu.stream.use(stream)
            calls = gpu.launched(lambda: (wf.sum(x), wf.reduce(x, scaled), k(x, out=out)))[1]
    for stream in (3, 4, 3):
        gpu.stream.use(stream)
        calls = gpu.launched(lambda: (wf.sum(x), wf.reduce(x, scaled), k(x, out=out)))[1]
        assert calls == [LAUNCH] * 3
        assert [done.stream for done in gpu.driver.launches[-3:]] == [stream] * 3


def test_random_arrays_give_the_results_of_the_slow_path(gpu: Gpu) -> None:
    """Shapes, strides, alignments, types, streams, addresses and arguments change from call to call."""
    rng = np.random.default_rng(0)

    def one_of(*choices: Any) -> Any:
        return choices[rng.integers(len(choices))]

    warm = 0
    for _ in range(300):
        name, dtype, axis = one_of("sum", "argmax"), one_of(np.float32, np.int64), one_of(None, -1)
        a = rng.integers(0, 9, one_of((6, 8), (48,))).astype(dtype)
        x = gpu.tensor(a, offset=a.itemsize * one_of(0, 1))[one_of(np.s_[:], np.s_[::-1], np.s_[..., ::2])]
        gpu.stream.use(one_of(0, 7))
        got, calls = gpu.launched(lambda: getattr(wf, name)(x, axis))  # noqa: B023
        warm += set(calls) == {LAUNCH}
        np.testing.assert_array_equal(got.a, getattr(np, name)(x.a, axis=axis))
        assert gpu.driver.launches[-1].stream == gpu.stream()
    assert warm > 100


def test_shapes_that_differ_in_one_property_are_distinguished(gpu: Gpu) -> None:
    x = gpu.tensor(np.arange(64, dtype=np.float32).reshape(8, 8))
    views = [x, x[:4], x[:, :4], x[::2], x[:, ::2], x[::-1], x[:, ::-1], x[1:], x[:, 1:], Tensor(x.a.T), x[0], x[:1]]
    for _ in range(2):
        for v in views:
            assert wf.sum(v).a == v.a.sum()
            np.testing.assert_array_equal(wf.sum(v, 0).a, v.a.sum(0))


def test_equal_values_of_different_types_are_different_calls(gpu: Gpu) -> None:
    x = gpu.tensor(np.ones(3, np.float32))
    for initial in (0.0, -0.0, 0.0, -0.0):
        assert np.signbit(wf.prod(x, initial=initial).a) == np.signbit(initial)
    ones = gpu.tensor(np.ones((2, 2), np.float32))
    assert wf.sum(ones, 1).a.tolist() == [2, 2]
    for axis in (True, (True,), 1.0):
        with pytest.raises(DTypeError, match="WF103"):
            wf.sum(ones, axis)
    for axis in ([1], (1,), np.int64(1)):
        assert wf.sum(ones, axis).a.tolist() == [2, 2]
    assert wf.var(ones, correction=0).a == 0
    with pytest.raises(ArgumentError, match="WF148"):
        wf.var(ones, correction=False)


scale = 2.0


@wf.monoid(identity=0, lift=lambda x: x * scale)
def scaled(a: Any, b: Any) -> Any:
    return a + b


def test_a_changed_global_is_traced_again(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    x = gpu.tensor(ROWS)
    for value in (2.0, 2.0, 3.0, 3.0, 2.0, 1, 1.0):
        monkeypatch.setitem(globals(), "scale", value)
        assert wf.reduce(x, scaled).a == ROWS.sum() * value
    assert set(gpu.launched(lambda: wf.reduce(x, scaled))[1]) == {LAUNCH}


def test_functions_of_mutable_objects_take_the_slow_path(gpu: Gpu) -> None:
    factors = [2.0]

    def program(x: Any) -> Any:
        return wf.fold(wf.SUM, x * factors[0])

    x = gpu.tensor(ROWS)
    for factor in (2.0, 2.0, 5.0):
        factors[0] = factor
        assert wf.reduce(x, program).a == ROWS.sum() * factor


@pytest.mark.parametrize("place", PLACES, ids=lambda p: p.__name__)
def test_a_changed_value_is_seen_wherever_it_is_stored(gpu: Gpu, place: Callable[[], Place]) -> None:
    reads, change = place()

    def program(v: Any) -> Any:
        return wf.fold(wf.SUM, reads(v))

    x = gpu.tensor(ROWS)
    made = wf.monoid(identity=0.0, lift=reads)(lambda a, b: a + b)
    for value in (2.0, 2.0, 3.0, 3.0, 5.0):
        change(value)
        assert wf.reduce(x, program).a == ROWS.sum() * value
        assert wf.reduce(x, made).a == ROWS.sum() * value


def test_unchanged_classes_modules_and_defaults_are_recalled(gpu: Gpu) -> None:
    """They can be watched, unlike objects with fields."""
    x, names = gpu.tensor(ROWS), "class base constructor module defaults"
    watched = [p for p in PLACES if p.__name__.rpartition("_")[2] in names.split() or "module" in p.__name__]
    assert len(watched) > 6
    for place in watched:
        reads, _ = place()
        made = wf.monoid(identity=0.0, lift=reads)(lambda a, b: a + b)
        wf.reduce(x, made)
        assert gpu.launched(lambda: wf.reduce(x, made))[1] == [LAUNCH], place  # noqa: B023


def test_a_function_at_the_address_of_another_is_a_different_one(gpu: Gpu) -> None:
    """Python reuses the ids of objects that are gone."""
    x = gpu.tensor(ROWS)
    for factor in range(1, 40):

        def program(v: Any, factor: int = factor) -> Any:
            return wf.fold(wf.SUM, v * factor)

        made = wf.monoid(identity=0, lift=eval(f"lambda x: x * {factor}"))(lambda a, b: a + b)
        assert wf.reduce(x, made).a == ROWS.sum() * factor
        del made, program


# --- errors --------------------------------------------------------------------------------------------------------
def test_a_call_without_gradients_is_not_repeated_where_they_are_recorded(
    gpu: Gpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, recorded = gpu.tensor(np.ones((2, 3), np.float32)), [False]
    x.requires_grad = True
    monkeypatch.setattr(sys.modules["torch"], "is_grad_enabled", lambda: recorded[0])
    for _ in range(2):
        np.testing.assert_array_equal(wf.sum(x, 1).a, [3, 3])
    recorded[0] = True
    assert kinds_of([x]) is None  # a recipe would give a result without a gradient
    with pytest.raises(ArgumentError, match="WF165: a tensor requires gradients, and out= is given"):
        wf.sum(x, 1, out=gpu.tensor(np.zeros(2, np.float32)))


def test_errors_come_as_before_after_a_warm_call(gpu: Gpu) -> None:
    x, out = gpu.tensor(ROWS), gpu.tensor(np.zeros(5, np.float32))
    for _ in range(3):
        wf.sum(x, 1, out=out)
    wrong = {
        "WF108": gpu.tensor(np.zeros(6, np.float32)),
        "WF109": gpu.tensor(np.zeros(5)),
        "WF110": Tensor(np.lib.stride_tricks.as_strided(out.a, (5,), (0,))),
        "WF186": Tensor(x.a[0, :5]),
        "WF112": np.zeros(5, np.float32),
        "WF125": (out, out),
    }
    for code, other in wrong.items():
        with pytest.raises((ArgumentError, DTypeError), match=code):
            wf.sum(x, 1, out=other)
    for tensor in (x, out):
        tensor.requires_grad = True
        with pytest.raises(ArgumentError, match="WF165"):
            wf.sum(x, 1, out=out)
        tensor.requires_grad = False
    with pytest.raises(ArgumentError, match="WF139"):
        wf.sum(x, 1, where=x)
    with pytest.raises(ArgumentError, match="WF101"):
        wf.sum(x, 2)
    with pytest.raises(ArgumentError, match="WF138"):
        wf.sum(x, 1, nan="no")
    with pytest.raises(ArgumentError, match="WF131"):
        wf.sum(x, 1, plan=["no hash"])
    with pytest.raises(ArgumentError, match="WF122"):
        wf.sum(x, 1, device="emulator")


def test_no_launch_reads_near_address_0(gpu: Gpu) -> None:
    """The address of a freed tensor is 0, or that of its first element relative to 0."""
    x, out = gpu.tensor(ROWS), gpu.tensor(np.zeros(5, np.float32))
    for _ in range(3):
        wf.sum(x, 1)
        wf.sum(x, 1, out=out)
    for array, calls in ((x, ({}, {"out": out})), (out, ({"out": out},))):
        for array.freed in (0, 48, 1 << 20):
            for how in calls:
                before = len(gpu.driver.launches)
                with pytest.raises(ArgumentError, match="WF166"):
                    wf.sum(x, 1, **how)
                assert len(gpu.driver.launches) == before
        array.freed = None
    assert wf.sum(x, 1, out=out) is out


def test_an_out_that_moves_onto_the_input_is_refused(gpu: Gpu) -> None:
    """The kind is the same and the answer differs: it depends on where the arrays are."""
    table = gpu.tensor(np.arange(64, dtype=np.float32).reshape(8, 8))
    out = gpu.tensor(np.zeros(8, np.float32))
    for _ in range(2):
        assert wf.sum(table, 1, out=out).a.tolist() == table.a.sum(1).tolist()
    for row in (0, 3, 7):
        with pytest.raises(ArgumentError, match="WF186"):
            wf.sum(table, 1, out=Tensor(table.a[row]))
    two = gpu.tensor(np.zeros(64, np.float32))
    low, high = Tensor(two.a[:8]), Tensor(two.a[8:16])
    for _ in range(2):
        got = wf.minmax(table, 1, out=(low, high))
        assert got[0] is low
        assert got[1] is high
    with pytest.raises(ArgumentError, match="WF132"):
        wf.minmax(table, 1, out=(low, Tensor(two.a[4:12])))
    assert got[1].a.tolist() == table.a.max(1).tolist()


def test_dot_still_asks_for_rank_1(gpu: Gpu) -> None:
    x = gpu.tensor(ROWS)
    for _ in range(2):
        wf.reduce(x, x, what="dot")
        with pytest.raises(ArgumentError, match="WF150"):
            wf.dot(x, x)
        assert not wf.array_equal(x, x[:2]).a


def test_a_mask_is_an_array_and_true_is_no_mask(gpu: Gpu) -> None:
    x, mask = gpu.tensor(ROWS), gpu.tensor(ROWS > 30)
    for _ in range(2):
        assert wf.sum(x, where=mask).a == ROWS[ROWS > 30].sum()
        assert wf.sum(x, where=True).a == ROWS.sum()
        assert wf.sum(x, where=None).a == ROWS.sum()
    assert gpu.launched(lambda: wf.sum(x, where=mask))[1] == [LAUNCH]
    k = wf.compile("sum", (5, 12), where=True)
    for _ in range(2):
        assert k(x, where=mask).a == ROWS[ROWS > 30].sum()
        with pytest.raises(ArgumentError, match="WF123"):
            k(x)
        with pytest.raises(ArgumentError, match="WF123"):
            k(x, where=True)


def test_lazy_and_foreign_arrays_take_the_slow_path(gpu: Gpu) -> None:
    x = gpu.tensor(ROWS)

    class Sub(Tensor):
        pass

    for _ in range(2):
        assert wf.sum(x).a == ROWS.sum()
        assert wf.sum(Tensor(x.a, neg=True)).a == -ROWS.sum()
        assert wf.sum(Sub(x.a)).a == ROWS.sum()
        assert wf.sum(ROWS, device="emulator") == ROWS.sum()
    with pytest.raises(ArgumentError, match="WF135"):
        wf.sum(gpu.tensor(np.array([np.nan], np.float32)), nan="raise")


def test_a_refused_launch_is_an_error_each_time(gpu: Gpu) -> None:
    from fake_driver import Status

    x = gpu.tensor(ROWS)
    assert wf.sum(x).a == ROWS.sum()
    gpu.driver.fail[LAUNCH] = Status.CUDA_ERROR_ILLEGAL_ADDRESS
    for _ in range(2):
        with pytest.raises(BackendError, match="WF601: cuLaunchKernelEx of sum failed with CUDA_ERROR_ILLEGAL_ADDRESS"):
            wf.sum(x)
    del gpu.driver.fail[LAUNCH]
    assert wf.sum(x).a == ROWS.sum()


def test_tracebacks_of_users_errors_are_short(gpu: Gpu) -> None:
    """The memory of calls does not show in a traceback."""
    for x, what in ((ROWS, wf.SUM), (gpu.tensor(ROWS), lambda x: wf.fold(wf.SUM, x) * [3][0] ** KEPT[0])):
        with pytest.raises(ArgumentError, match="WF101") as caught:
            wf.reduce(x, what, axis=7, device="auto" if x is not ROWS else "emulator")
        assert caught.value.__context__ is None


KEPT = [1]


# --- devices, streams, threads --------------------------------------------------------------------------------------
@pytest.mark.parametrize("current", [0, 42, 1001])
def test_the_device_context_is_found_wherever_the_thread_is(gpu: Gpu, current: int) -> None:
    x = gpu.tensor(ROWS)
    wf.sum(x)
    gpu.driver.current = current
    got, calls = gpu.launched(lambda: wf.sum(x))
    assert got.a == ROWS.sum()
    assert calls == [LAUNCH, "cuCtxPushCurrent", LAUNCH, "cuCtxPopCurrent"]
    assert (gpu.driver.current, gpu.driver.launches[-1].context) == (current, 1000)


def test_two_devices(gpu: Gpu) -> None:
    for _ in range(2):
        for number in (0, 1):
            x = gpu.tensor(ROWS + number, device=number)
            got = wf.sum(x)
            assert (got.a, got.number) == ((ROWS + number).sum(), number)
            assert gpu.driver.launches[-1].context == 1000 + number


def test_each_stream_has_its_workspace_and_a_captured_graph_its_own(gpu: Gpu) -> None:
    x = gpu.tensor(np.ones(1 << 16, np.float32))

    def partials(stream: int) -> tuple[int, list[str]]:
        gpu.stream.use(stream)
        got, calls = gpu.launched(lambda: wf.sum(x, plan="finish=last_block,coarsening=1"))
        assert got.a == 1 << 16
        return gpu.driver.launches[-1].words[2], calls

    places = {stream: partials(stream)[0] for stream in (0, 5, 6)}
    assert len(set(places.values())) == 3
    for stream, place in places.items():
        assert partials(stream) == (place, ["cuStreamIsCapturing", LAUNCH] if stream else [LAUNCH])
    gpu.driver.capturing[5] = 31
    captured, calls = partials(5)
    assert captured not in places.values()
    assert "cuStreamGetCaptureInfo" in calls
    assert partials(5)[0] == captured
    assert partials(6)[0] == places[6]
    gpu.driver.capturing.clear()
    assert partials(5) == (places[5], ["cuStreamIsCapturing", LAUNCH])


def test_threads_do_not_mix_their_addresses(gpu: Gpu) -> None:
    wanted, wrong = [float(n * ROWS.sum()) for n in range(4)], list[Any]()
    xs = [gpu.tensor(ROWS * n) for n in range(4)]
    wf.sum(xs[0])
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def work(n: int) -> None:
        gpu.stream.use(3 if n % 2 else 0)
        for _ in range(30):
            got = float(wf.sum(xs[n]).a)
            if got != wanted[n]:
                wrong.append((n, got))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    try:
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(switch)
    assert wrong == []


def test_a_call_inside_a_launch_has_memory_of_its_own(gpu: Gpu) -> None:
    """A finalizer or a signal may make the same kind of call between the packing and the launch of another one."""
    x, y = gpu.tensor(ROWS), gpu.tensor(ROWS * 2)
    wf.sum(x)
    entries, inner = gpu.backends[0].entries, list[Any]()
    launch = entries.launch

    def interrupted(*arguments: Any) -> int:
        if not inner:
            inner.append(None)
            inner.append(wf.sum(y))
        return int(launch(*arguments))

    recall.forget()
    entries.launch = interrupted
    inner.append(None)
    wf.sum(x)
    inner.clear()
    assert wf.sum(x).a == ROWS.sum()
    assert inner[1].a == 2 * ROWS.sum()


# --- memory --------------------------------------------------------------------------------------------------------
def test_the_memory_of_calls_is_bounded_and_can_be_cleared(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall, "KEPT", 8)
    k = wf.compile("sum", (1000,), "f32")
    for n in range(4, 80, 4):
        assert k(gpu.tensor(np.ones(n, np.float32))).a == n
    assert len(k._memo._table) == 8
    recall.forget()
    assert not k._memo._table
    x = gpu.tensor(ROWS[0])
    assert gpu.launched(lambda: k(x))[1][0] != LAUNCH
    assert gpu.launched(lambda: k(x))[1] == [LAUNCH]


def test_types_have_kinds_of_their_own(gpu: Gpu) -> None:
    for name in ("float32", "int32", "uint8", "float16", "bool"):
        x = gpu.tensor(np.ones((4, 4)).astype(name))
        for _ in range(2):
            assert wf.sum(x, dtype="f64").a == 16
            assert wf.count_nonzero(x).a == 16


# --- on a real device ----------------------------------------------------------------------------------------------
@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch", reason="PyTorch is not installed")


@pytest.mark.gpu
def test_gpu_random_tensors_give_the_results_of_the_slow_path(torch: Any) -> None:
    rng = np.random.default_rng(0)
    side = torch.cuda.Stream()

    def one_of(*choices: Any) -> Any:
        return choices[rng.integers(len(choices))]

    for _ in range(2000):
        dtype, axis = one_of(torch.float32, torch.int64, torch.complex64), one_of(None, 0, -1)
        shape = one_of((6, 8), (48,), (300, 70))
        flat = torch.arange(2 + int(np.prod(shape)), device="cuda").to(dtype) * (1j if dtype.is_complex else 1)
        x = flat[one_of(0, 1, 2) :][: int(np.prod(shape))].reshape(shape)
        x = one_of(lambda v: v, lambda v: v.t() if v.dim() == 2 else v, lambda v: v[..., ::2], torch.conj)(x)
        if one_of(False, True) and x.is_complex():
            x = x.imag  # of a conjugate a lazy negation
        wanted = x.sum() if axis is None else x.sum(axis)
        torch.cuda.synchronize()
        with torch.cuda.stream(one_of(torch.cuda.default_stream(), side)):
            got = wf.sum(x, axis)
        torch.cuda.synchronize()
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
        assert torch.allclose(got, wanted, rtol=1e-4)


@pytest.mark.gpu
def test_gpu_arrays_without_a_kind_take_the_slow_path(torch: Any) -> None:
    x = torch.ones((4, 8), device="cuda")
    k = wf.compile("sum", (4, 8), axis=1)
    out = torch.zeros(4, device="cuda")
    for _ in range(3):
        assert wf.sum(x).item() == 32
        assert k(x, out=out) is out
        with torch.no_grad():
            assert wf.sum(torch.nn.Parameter(x)).item() == 32
        for tracked in (torch.nn.Parameter(x), x.clone().requires_grad_()):
            wf.sum(tracked).backward()
            wf.exp(tracked * 0).sum().backward()
            assert torch.equal(tracked.grad, torch.ones_like(x))
        assert wf.sum(torch._neg_view(x)).item() == -32
        with torch.inference_mode():
            assert wf.sum(x).item() == 32
        with torch.no_grad():
            assert wf.sum(x).item() == 32
        with pytest.raises(DTypeError, match="WF114"):
            wf.sum(x.to_sparse())
        with pytest.raises(DTypeError, match="WF114"):
            wf.sum(torch.nested.nested_tensor([x[0], x[1]]))
        assert torch.equal(torch.func.grad(lambda v: wf.sum(v))(x), torch.ones_like(x))
        with pytest.raises(ArgumentError, match="WF165"):
            k(x, out=torch.zeros(4, device="cuda", requires_grad=True))
        freed = x.clone()[1:]
        freed.untyped_storage().resize_(0)
        with pytest.raises(ArgumentError, match="WF166"):
            wf.sum(freed)
        with pytest.raises(ArgumentError, match="WF186"):
            k(x, out=x.view(-1)[4:8])
        with pytest.raises(ArgumentError, match="WF108"):
            k(x, out=torch.zeros(5, device="cuda"))
    assert out.tolist() == [8] * 4


@pytest.mark.gpu
def test_gpu_warm_calls_allocate_only_results(torch: Any) -> None:
    def taken() -> int:
        return int(torch.cuda.memory_stats()["allocation.all.allocated"])

    x, out = torch.ones((64, 4096), device="cuda"), torch.zeros(64, device="cuda")
    k = wf.compile("sum", (64, 4096), axis=1)
    for call, blocks in ((lambda: wf.sum(x), 1), (lambda: wf.minmax(x, 1), 2), (lambda: k(x, out=out), 0)):
        call()
        before = taken()
        for _ in range(100):
            call()
        assert taken() - before == 100 * blocks


@pytest.mark.gpu
def test_gpu_warm_calls_are_captured_with_memory_of_their_own(torch: Any) -> None:
    """Also on a stream where the same call is warm: the graph may be replayed beside that call."""
    x = torch.ones(1 << 22, device="cuda")
    out, stream = torch.zeros((), device="cuda"), torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            wf.sum(x, out=out)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        wf.sum(x, out=out)
    y = torch.full((1 << 22,), 3.0, device="cuda")
    torch.cuda.synchronize()
    for value in (2.0, 5.0):
        x.fill_(value)
        torch.cuda.synchronize()
        graph.replay()
        with torch.cuda.stream(stream):
            beside = [wf.sum(y) for _ in range(20)]
        torch.cuda.synchronize()
        assert out.item() == value * (1 << 22)
        assert {b.item() for b in beside} == {3.0 * (1 << 22)}


@pytest.mark.gpu
def test_gpu_a_bare_thread_and_threads_at_once(torch: Any) -> None:
    xs = [torch.full((1 << 16,), float(n), device="cuda") for n in range(4)]
    wf.sum(xs[0])
    torch.cuda.synchronize()
    wrong: list[Any] = []

    def work(n: int) -> None:
        found = [wf.sum(xs[n]) for _ in range(500)]
        torch.cuda.synchronize()
        wrong.extend(f.item() for f in found if f.item() != n * (1 << 16))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


@pytest.mark.gpu
def test_gpu_cupy_is_remembered() -> None:
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    for n in range(1, 6):
        x = cupy.full((64, 128), n, cupy.float32)
        got = wf.sum(x, 1)
        assert isinstance(got, cupy.ndarray)
        assert got.tolist() == [128 * n] * 64
    with cupy.cuda.Stream(non_blocking=True):
        assert wf.sum(x, 1).tolist() == [128 * n] * 64
