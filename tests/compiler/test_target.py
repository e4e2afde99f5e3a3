"""Targets: their names, their facts, and which one serves a device."""

from __future__ import annotations

import pytest

from warpfold.compiler.errors import BackendError, PlanError
from warpfold.compiler.target import DEFAULT, TARGETS, Target, for_capability, target


@pytest.mark.parametrize("t", TARGETS.values(), ids=str)
def test_facts_are_within_what_hardware_has(t: Target) -> None:
    assert target(t.arch) is t
    assert t.capability >= (7, 5)
    assert t.max_threads <= t.threads_per_sm
    assert 48 * 1024 < t.shared_per_cta <= 227 * 1024
    assert t.has_redux == t.has_async_copies == (t.capability >= (8, 0))
    assert t.has_clusters == (t.capability >= (9, 0))


def test_targets_are_in_order_of_compute_capability() -> None:
    order = [t.capability for t in TARGETS.values()]
    assert order == sorted(order)
    assert [t.ptx for t in TARGETS.values()] == sorted(t.ptx for t in TARGETS.values())
    assert DEFAULT in TARGETS.values()


@pytest.mark.parametrize(
    ("capability", "arch"),
    [
        ((7, 5), "sm_75"),
        ((8, 0), "sm_80"),
        ((8, 6), "sm_86"),
        ((8, 7), "sm_86"),
        ((8, 9), "sm_89"),
        ((9, 0), "sm_90a"),
        ((10, 0), "sm_100a"),
        ((10, 3), "sm_89"),
        ((12, 0), "sm_120"),
        ((12, 1), "sm_120"),
    ],
    ids=str,
)
def test_a_device_gets_ptx_that_it_can_run(capability: tuple[int, int], arch: str) -> None:
    assert for_capability(*capability).arch == arch


def test_a_device_older_than_all_targets_is_refused() -> None:
    with pytest.raises(BackendError, match=r"WF602: .*7.0.*7.5"):
        for_capability(7, 0)


@pytest.mark.parametrize(
    ("arch", "near"),
    [("sm_90", r" \(did you mean sm_90a or "), ("sm90a", r" \(did you mean sm_90a "), ("foo", ":"), ("", ":")],
)
def test_an_unknown_target_suggests_similar_ones(arch: str, near: str) -> None:
    with pytest.raises(PlanError, match=f"WF401: no target is called '{arch}'{near}.* expected one of sm_75 sm_80"):
        target(arch)


def test_a_target_that_is_not_a_string_is_refused() -> None:
    with pytest.raises(PlanError, match="WF401: no target is called 90: "):
        target(90)  # type: ignore[arg-type]
