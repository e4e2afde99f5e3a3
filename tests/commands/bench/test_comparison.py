"""One case of the benchmark: who is checked, timed and refused, and what is reported."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from bench_fakes import Device, HostArrays, Numpy, timer

from warpfold.commands.bench import reduction_trial
from warpfold.commands.bench.answers import answer, error_of
from warpfold.commands.bench.cases import Case, parse
from warpfold.commands.bench.comparison import Contest
from warpfold.commands.bench.inputs import Owned, drawn
from warpfold.compiler.plan.plan import Plan
from warpfold.compiler.planner.task import Choice
from warpfold.runtime import named_reductions
from warpfold.runtime.arrays.conversion import view
from warpfold.runtime.view import as_array


def case(name: str) -> Case:
    found = parse(name)
    assert found is not None
    return found


def contest(*medians: float, **peers: Any) -> Contest:
    return Contest(Device(), HostArrays(), peers, timer(*medians))  # type: ignore[arg-type]


def boom(_: Any) -> Any:
    raise ZeroDivisionError("it broke\nmore")


@pytest.mark.parametrize(
    "name",
    [
        "full.sum.f32.5000", "row.sum.bf16.30x100", "col.max.f16.64x33", "row.argmax.f32.20x300", "full.argmax.f32.999",
        "mid.sum.f32.4x5x6", "mid.mean.f32.NCHW.2x3x4x5", "col.argmax.f32.33x9", "full.prod.f64.500",
        "full.var.f32.700", "full.norm2.f32.300", "row.logsumexp.f32.9x80", "full.any.b1.4000",
        "full.count_nonzero.f32.100", "full.sum.i32.1000", "row.sum.i8.16x16", "row.any.b1.10x70",
        "mid.sum.f32.HW.2x3x4x5",
    ],
)  # fmt: skip
def test_warpfold_passes_the_check_of_every_reduction(name: str) -> None:
    row = contest(2.0).row(case(name))
    assert (row.ours.us, row.ours.word, row.ours.reason) == (2.0, "", "")
    assert row.plan["tree"]
    assert row.reasons


def test_each_contestant_has_an_entry() -> None:
    found = contest(
        2.0, 3.0, right=Numpy(), wrong=Numpy(lambda x: x + 1), gone="not installed", broken=Numpy(boom)
    ).row(case("row.sum.f32.8x64"))  # fmt: skip
    assert found.ours.us == 2.0
    assert {name: (e.us, e.word) for name, e in found.peers.items()} == {
        "right": (3.0, ""), "wrong": (None, "wrong"), "gone": (None, "missing"), "broken": (None, "failed"),
    }  # fmt: skip
    assert found.peers["wrong"].error == pytest.approx(1, rel=1e-4)
    assert found.peers["gone"].reason == "not installed"
    assert found.peers["broken"].reason == "ZeroDivisionError: it broke"
    assert (found.best, found.ratio) == (("right", 3.0), 1.5)


def test_a_peer_that_does_not_serve_a_case() -> None:
    found = contest(2.0, peer=Numpy()).row(case("full.norm2.f32.64"))
    assert (found.peers["peer"].word, found.peers["peer"].reason) == ("none", "no such function")
    assert found.ratio is None


def test_a_case_without_memory_for_its_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HostArrays, "random", lambda *_: boom(0))
    found = contest(peer=Numpy()).row(case("full.sum.f32.64"))
    assert found.ours.word == found.peers["peer"].word == "failed"
    assert "not prepared: ZeroDivisionError: it broke" in found.ours.reason


def test_arrays_of_our_own_are_checked_on_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without PyTorch, a device array is copied to the host once, for the answer."""
    x = np.arange(64, dtype=np.float32)
    device, held = Device(), SimpleNamespace(__exit__=lambda *_: None)
    device.get = lambda v, _: x if v.shape == (64,) else as_array(v).copy()  # type: ignore[attr-defined]
    monkeypatch.setattr(HostArrays, "random", lambda *_: Owned(view(x), held))
    monkeypatch.setattr(
        named_reductions, "sum", lambda owned, axis, out: np.asarray(as_array(owned.view).sum(axis), out.dtype)
    )
    step = SimpleNamespace(prepared=SimpleNamespace(choice=Choice(Plan(), None, None)))
    monkeypatch.setattr(reduction_trial, "prepared", lambda *_, **__: (None, SimpleNamespace(steps=[step])))
    found = Contest(device, HostArrays(), {}, timer(2.0)).row(case("full.sum.f32.64"))  # type: ignore[arg-type]
    assert (found.ours.us, found.ours.error) == (2.0, 0.0)


def test_an_interrupt_is_not_a_failure_of_a_contestant() -> None:
    def interrupt(_: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        contest(2.0, peer=Numpy(interrupt)).row(case("full.sum.f32.64"))


# --- the check of answers ------------------------------------------------------------------------------------------
def check(name: str, found: Any, index: int = 0) -> bool:
    this = case(name)
    x = drawn(this, index)
    return error_of(this, answer(this, x), np.asarray(found), x)[1]


def test_a_lost_element_of_a_large_sum_is_wrong() -> None:
    x = drawn(case("full.sum.f32.2^22"), 0).astype(np.float64)
    assert check("full.sum.f32.2^22", np.float32(x.sum()))
    lost = x[np.argmin(np.abs(np.abs(x) - 1))]  # one of about the usual size
    assert not check("full.sum.f32.2^22", np.float32(x.sum() - lost))


def test_positions_are_compared_by_the_elements_there() -> None:
    x = drawn(case("row.argmax.f32.5x40"), 0)
    right = x.argmax(1)
    assert check("row.argmax.f32.5x40", right)
    assert not check("row.argmax.f32.5x40", (right + 1) % 40)
    assert not check("row.argmax.f32.5x40", right + 40)  # outside
    columns = drawn(case("col.argmax.f32.5x40"), 0).argmax(0)
    assert check("col.argmax.f32.5x40", columns)
    assert not check("col.argmax.f32.5x40", (columns + 1) % 5)


def test_exact_answers_must_be_equal_and_nan_is_wrong() -> None:
    x = drawn(case("full.max.f32.1000"), 0)
    assert check("full.max.f32.1000", x.max())
    assert not check("full.max.f32.1000", np.nextafter(x.max(), np.float32(9)))
    assert not check("full.max.f32.1000", np.nan)
    assert not check("full.max.f32.1000", [1.0, 2.0])
    n = drawn(case("full.sum.i32.1000"), 0).sum(dtype=np.int64)
    assert check("full.sum.i32.1000", n)
    assert not check("full.sum.i32.1000", n + 1)
