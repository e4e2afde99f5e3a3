"""The lines that cases of masks are to reach: which a case has, and what a run says of them."""

from __future__ import annotations

import pytest

from warpfold.commands.bench.programs.case import parse
from warpfold.commands.bench.programs.cases import MASKS
from warpfold.commands.bench.programs.goals import Goal, goals, words
from warpfold.commands.bench.results import Entry, Row
from warpfold.runtime.tuning.measure import Ceilings, Timing

TOP = Ceilings(3000.0, 2900.0, 2.0, ((1 << 20, 3.0), (1 << 30, 360.0)))


def entry(us: float) -> Entry:
    return Entry(Timing(us, us, us, 1))


def row(name: str, us: float, copy: float = 400.0, **peers: float) -> Row:
    case = parse(name)
    assert case is not None
    entries = {peer: entry(t) for peer, t in peers.items()}
    return Row(name, case.group, case.nbytes, False, entry(us), entries, copy=Timing(copy, copy, copy, 1))


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("relu_backward.f32.128M", [Goal("copy", 0.95), Goal("torch", 1.40)]),
        ("relu_bits.bf16.128M", [Goal("copy", 0.95), Goal("relu.bf16.128M", 1 / 1.04)]),
        ("sum_where.f32.128M", [Goal("sum.f32.128M", 1 / 1.05)]),
        ("count_nonzero.bit.4096M", [Goal("read", 0.95)]),
        ("batchnorm_relu.f32.64x256x56x56", [Goal("compile", 1.0)]),
        ("batchnorm_relu_nhwc.bf16.64x256x56x56", [Goal("compile", 1.35)]),
        ("batchnorm_add_relu_backward_nhwc.bf16.64x256x56x56", [Goal("compile", 1.15)]),
        ("batchnorm.f32.64x256x56x56", []),
        ("relu_backward.f32.1000", []),
    ],
)
def test_what_a_case_is_to_reach(name: str, wanted: list[Goal]) -> None:
    case = parse(name)
    assert case is not None
    assert goals(case) == wanted


def test_the_case_without_a_mask_is_in_the_list() -> None:
    named = [g.beside for case in MASKS.values() for g in goals(case) if "." in g.beside]
    assert named
    assert set(named) <= set(MASKS)


def test_what_was_reached_and_missed() -> None:
    back = row("relu_backward.f32.128M", 400.0, copy=390.0, torch=600.0, compile=500.0)
    assert words(back, [back], TOP) == "0.95 of copy: 0.97; 1.40 of torch: 1.50"
    bare, masked = row("sum.f32.128M", 200.0), row("sum_where.f32.128M", 212.0)
    assert words(masked, [bare, masked], TOP) == "0.95 of sum: 0.94 missed"
    assert words(masked, [masked], TOP) == ""
    count = row("count_nonzero.bit.4096M", TOP.read_at(1 << 29) / 0.9)
    assert words(count, [count], TOP) == "0.95 of read: 0.90 missed"
