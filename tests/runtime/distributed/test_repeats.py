"""Calls on shards that repeat an earlier one: what was found out about that serves them, as long as it holds."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import warpfold as wf  # noqa: E402 - after PyTorch was found
import warpfold.distributed as wd  # noqa: E402
from warpfold.compiler.errors import ArgumentError  # noqa: E402
from warpfold.runtime.distributed import reductions  # noqa: E402
from warpfold.runtime.distributed.group import REDUCTION, REFUSED, Ranks  # noqa: E402
from warpfold.runtime.distributed.known_calls import MOST_CALLS, MOST_FOUND, KnownCall, KnownCalls  # noqa: E402

HOW = {"device": "emulator"}
factor = 1.0


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    """A process group of this process alone."""
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


def scaled(x: Any) -> Any:
    return wf.fold(wf.SUM, x * factor)


def test_a_call_that_is_alike_finds_nothing_out(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.arange(6.0).reshape(2, 3)
    for what, axis, wanted in (("argmax", None, 5), ((wf.SUM, wf.MAX), 0, ([3, 5, 7], [3, 4, 5]))):
        wd.reduce(x, what, axis=axis, **HOW)
        with monkeypatch.context() as m:
            m.setattr(reductions, "_shard_of", None)
            found = wd.reduce(x.clone(), what, axis=axis, **HOW)
        for own, value in zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]:
            assert own.tolist() == value
    assert wd.reduce(x.T, "argmax", **HOW) == 5
    assert wd.reduce(x[:1], "sum", axis=0, keepdims=True, **HOW).shape == (1, 3)


def test_variables_that_functions_read_may_change(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.ones(4)
    assert wd.reduce(x, scaled, **HOW) == 4
    monkeypatch.setitem(globals(), "factor", 3.0)
    assert wd.reduce(x, scaled, **HOW) == 12


def test_tensors_that_require_gradients_are_refused_before_others_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[int] = []
    plain = Ranks.meet
    monkeypatch.setattr(Ranks, "meet", lambda self, call, *rest: said.append(call) or plain(self, call, *rest))
    x = torch.ones(4)
    assert wd.reduce(x, "sum", **HOW) == 4
    with pytest.raises(wf.WarpfoldError, match="WF165"):
        wd.reduce(x.clone().requires_grad_(), "sum", **HOW)
    assert said == [REDUCTION, REFUSED]


def test_a_group_has_one_object_and_a_new_group_another() -> None:
    first = Ranks.of(None)
    assert Ranks.of(torch.distributed.group.WORLD) is first
    torch.distributed.destroy_process_group()
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    assert Ranks.of(None) is not first
    assert wd.reduce(torch.ones(4), "sum", **HOW) == 4


def test_a_group_that_was_destroyed_is_not_kept() -> None:
    group = torch.distributed.new_group([0])
    own = Ranks.of(group)
    assert own.group is group
    assert wd.reduce(torch.ones(4), "sum", group=group, **HOW) == 4
    torch.distributed.destroy_process_group(group)
    del group
    gc.collect()
    with pytest.raises(ArgumentError, match="WF170"):
        _ = own.group


def test_the_oldest_of_what_is_found_out_is_forgotten() -> None:
    made: list[int] = []

    def make(key: int) -> KnownCall:
        made.append(key)
        return KnownCall("sum")

    calls = KnownCalls[KnownCall]()
    for ask, most in ((calls.of, MOST_CALLS), (KnownCall("sum").once, MOST_FOUND)):
        made.clear()
        for key in (*range(most + 1), 1, 0):
            ask(key, partial(make, key))
        assert made == [*range(most + 1), 0]
