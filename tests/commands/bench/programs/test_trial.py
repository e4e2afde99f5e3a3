"""A program case, ready: warpfold's answers on the emulator, and one row of the benchmark."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from bench_fakes import Device, HostArrays, timer
from covering import some

from warpfold.commands.bench import comparison
from warpfold.commands.bench.comparison import Contest
from warpfold.commands.bench.peers import UnservedError, torch_programs
from warpfold.commands.bench.programs import ours
from warpfold.commands.bench.programs.case import ProgramCase, parse
from warpfold.commands.bench.programs.operations import OPERATIONS, base_of
from warpfold.commands.bench.programs.trial import trial

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

SMALL = (
    "softmax.f32.7x40", "softmax0.f32.40x9", "softmax1.bf16.3x17x5", "softmin.f32.5x6", "log_softmax.bf16.4x100",
    "logsumexp.f16.9x50", "logsumexp01.f32.3x4x5", "standardize.f32.8x33", "layernorm.bf16.7x40",
    "layernorm1.f32.2x8x3x3", "rmsnorm.f16.6x50", "add_rmsnorm.bf16.5x48", "quant_fp8.bf16.6x33",
    "cross_entropy.bf16.9x30", "groupnorm.f32.2x64x5x3", "batchnorm.f32.4x6x5x5", "batchnorm_nhwc.bf16.4x6x5x5",
    "cumsum.bf16.3x50", "cumsum0.f32.70", "cummax.f32.3x50", "logcumsumexp.f32.3x50",
    "recurrence0.bf16.50x3", "topk.bf16.3x50",
    "var_norm_cols.f32.60x5", "batchnorm_relu.f32.4x6x5x5", "batchnorm_relu_nhwc.bf16.4x6x5x5", "relu.f32.70",
    "relu_bits.f32.3x50", "relu_backward.bf16.3x50", "add.f32.70", "add_relu.bf16.70", "add_relu_bits.f32.3x50",
    "where.f32.3x50", "softmax_bwd.f32.7x40", "softmax_bwd0.bf16.40x9", "log_softmax_bwd.bf16.4x100",
    "layernorm_bwd.bf16.7x40", "rmsnorm_bwd.f16.6x50", "add_rmsnorm_bwd.bf16.5x48", "groupnorm_bwd.f32.2x64x5x3",
    "batchnorm_bwd.f32.4x6x5x5", "batchnorm_nhwc_bwd.bf16.4x6x5x5", "batchnorm_relu_bwd.f32.4x6x5x5",
    "batchnorm_relu_nhwc_bwd.bf16.4x6x5x5", "cross_entropy_fwdbwd.bf16.9x30", "cross_entropy_fwdbwd.f32.9x31",
    "dropout.f32.3000", "dropout_backward.bf16.3x50", "sum.f32.70", "sum_where.f32.3x50", "count_nonzero.bit.3000",
    "array_equal.bit.3000", "batchnorm_running_relu.f32.4x6x5x5", "batchnorm_running_relu_nhwc.bf16.4x6x5x5",
    "batchnorm_add_relu.f32.4x6x5x5", "batchnorm_add_relu_nhwc.bf16.4x6x5x5",
    "batchnorm_add_relu_backward.f32.4x6x5x5", "batchnorm_add_relu_backward_nhwc.bf16.4x6x5x5",
)  # fmt: skip


def case(name: str) -> ProgramCase:
    found = parse(name)
    assert found is not None, name
    return found


def test_every_operation_has_a_small_case() -> None:
    assert {case(name).what for name in SMALL} == set(OPERATIONS)
    assert {what for what in OPERATIONS if base_of(what) == what} == set(ours.FUNCTIONS)


@pytest.mark.parametrize("name", some(SMALL, 15))
def test_warpfold_passes_the_check(name: str) -> None:
    this = trial(case(name), "cpu")
    assert not isinstance(this.ours, str), this.ours
    error, right = this.check(this.ours[0](), True)
    assert right, f"off by {error}"


def test_a_trial_waits_until_the_driver_has_cleared_what_pytorch_gives_back(monkeypatch: pytest.MonkeyPatch) -> None:
    held, waited = [6_000_000_000], []
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda: held[0])
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: held.__setitem__(0, 2_000_000_000))
    monkeypatch.setattr("time.sleep", waited.append)
    trial(case("softmax.f32.7x40"), "cpu")
    assert waited == [pytest.approx(0.02)]


def test_a_copy_moves_as_many_bytes_as_the_case() -> None:
    this = trial(case("softmax.f32.7x40"), "cpu")
    assert this.copy is not None
    assert 2 * this.copy().numel() == 2 * 7 * 40 * 4


# --- a row ---------------------------------------------------------------------------------------------------------
class Fake:
    """A peer that PyTorch computes; ``change`` makes of its answers what it likes."""

    version = "1.0"

    def __init__(self, change: Any = lambda y: y) -> None:
        self.change = change

    def call(self, this: ProgramCase, x: Any) -> Any:
        if this.what == "softmin":
            raise UnservedError("no such function")
        return lambda: self.change(torch_programs.function(torch, this)(*x))


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch's functions in place of warpfold's, on the CPU."""
    monkeypatch.setattr(ours, "function", partial(torch_programs.function, torch))
    monkeypatch.setattr(comparison.program_trial, "trial", lambda this: trial(this, "cpu"))


def contest(*medians: float, **peers: Any) -> Contest:
    return Contest(Device(), HostArrays(), peers, timer(*medians))  # type: ignore[arg-type]


@pytest.mark.usefixtures("library")
def test_a_copy_is_timed_first_then_each_contestant() -> None:
    made = contest(3.0, 4.0, 6.0, right=Fake(), wrong=Fake(lambda y: y + 1), gone="not installed", cub=Fake())
    row = made.row(case("softmax.f32.7x40"))
    assert (row.name, row.group, row.plain, row.nbytes) == ("softmax.f32.7x40", "fused", False, 2240)
    assert row.copy is not None
    assert (row.copy.median, row.ours.us) == (3.0, 4.0)
    assert {name: (e.us, e.word) for name, e in row.peers.items()} == {
        "right": (6.0, ""), "wrong": (None, "wrong"), "gone": (None, "missing"),
    }  # fmt: skip  # CUB is asked for reductions only
    assert (row.ratio, row.of_copy) == (1.5, 0.75)


@pytest.mark.usefixtures("library")
def test_a_peer_without_the_function() -> None:
    row = contest(3.0, 4.0, peer=Fake()).row(case("softmin.f32.7x40"))
    assert (row.peers["peer"].word, row.peers["peer"].reason) == ("none", "no such function")


def test_a_function_that_warpfold_lacks_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison.program_trial, "trial", lambda this: trial(this, "cpu"))
    monkeypatch.setitem(ours.FUNCTIONS, "softmax", lambda _, wf: wf.soft_max)
    row = contest(3.0, 6.0, peer=Fake()).row(case("softmax.f32.7x40"))
    assert (row.ours.word, row.ours.reason) == ("missing", "warpfold has no soft_max")
    assert row.peers["peer"].us == 6.0
    assert row.of_copy is None


def test_peers_of_programs_are_not_asked_for_reductions() -> None:
    from warpfold.commands.bench.cases import parse as reduction

    this = reduction("row.sum.f32.4x8")
    assert this is not None
    row = contest(2.0, quack=Fake()).row(this)
    assert (row.ours.us, row.copy, row.peers) == (2.0, None, {})
