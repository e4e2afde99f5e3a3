"""Targets: their names, their facts, and which one serves a device."""

from __future__ import annotations

import pytest

from warpfold.compiler.errors import BackendError, PlanError
from warpfold.compiler.target import DEFAULT, TARGETS, WARP, Target, for_capability, target


@pytest.mark.parametrize("t", TARGETS.values(), ids=str)
def test_facts_are_within_what_hardware_has(t: Target) -> None:
    assert target(t.arch) is t
    assert t.capability >= (7, 5)
    assert t.max_threads <= t.threads_per_sm
    assert 48 * 1024 < t.shared_per_cta <= t.shared_per_sm - t.reserved_shared
    assert t.ctas_per_sm * WARP <= t.threads_per_sm
    assert t.has_redux == t.has_async_copies == (t.capability >= (8, 0))
    assert t.has_clusters == (t.capability >= (9, 0))


def test_targets_are_in_order_of_compute_capability() -> None:
    order = [t.capability for t in TARGETS.values()]
    assert order == sorted(order)
    assert [t.ptx for t in TARGETS.values()] == sorted(t.ptx for t in TARGETS.values())
    assert DEFAULT in TARGETS.values()


@pytest.mark.parametrize(
    ("arch", "threads", "shared", "registers", "expected"),
    [
        ("sm_90a", 512, 64 * 1024, 40, (3, "shared memory")),
        ("sm_90a", 512, 48 * 1024, 40, (3, "registers")),  # a slice has registers for 12 warps of 40
        ("sm_90a", 512, 48 * 1024, 32, (4, "shared memory")),
        ("sm_90a", 512, 0, 0, (4, "threads")),
        ("sm_90a", 100, 0, 0, (16, "threads")),  # four warps
        ("sm_90a", 32, 0, 24, (32, "CTAs")),
        ("sm_90a", 1024, 0, 65, (0, "registers")),
        ("sm_90a", 32, 227 * 1024, 0, (1, "shared memory")),
        ("sm_90a", 32, 113 * 1024 + 1, 0, (1, "shared memory")),  # given in units of 128 bytes
        ("sm_80", 256, 54 * 1024, 0, (2, "shared memory")),
        ("sm_80", 256, 53 * 1024, 0, (3, "shared memory")),
        ("sm_75", 32, 32 * 1024, 0, (2, "shared memory")),  # no CTA takes more than it asks for
        ("sm_86", 32, 0, 0, (16, "CTAs")),
        ("sm_100a", 256, 64 * 1024, 0, (3, "shared memory")),
    ],
)
def test_the_ctas_that_an_sm_holds(
    arch: str, threads: int, shared: int, registers: int, expected: tuple[int, str]
) -> None:
    assert TARGETS[arch].occupancy(threads, shared, registers) == expected


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
