"""The program cases: what a name says, what must move, and which fraction of a copy is the goal."""

from __future__ import annotations

import pytest

from warpfold.commands.bench.programs.case import ProgramCase, parse
from warpfold.commands.bench.programs.cases import BACKWARD, FUSED, MASKS, SHAPES, STANDARD
from warpfold.commands.bench.selection import select
from warpfold.compiler.errors import ArgumentError


def case(name: str) -> ProgramCase:
    found = parse(name)
    assert found is not None, name
    return found


def test_no_case_is_listed_twice() -> None:
    assert len(STANDARD) == 26
    assert len(SHAPES) >= 60
    same = {(c.what, c.dtype, c.shape, c.axes) for c in FUSED.values()}
    assert len(MASKS) >= 20
    shared = MASKS.keys() & STANDARD.keys()
    assert len(same) == len(FUSED) == len(STANDARD) + len(SHAPES) + len(MASKS) - len(shared)


@pytest.mark.parametrize(
    ("name", "what", "shape", "axes", "nbytes"),
    [
        ("softmax.bf16.100x5000", "softmax", (100, 5000), (1,), 2 * 2 * 500_000),
        ("softmax.f32.2Kx3", "softmax", (2048, 3), (1,), 2 * 4 * 6144),
        ("softmax0.f64.4x5", "softmax", (4, 5), (0,), 2 * 8 * 20),
        ("softmax12.f16.4x5x6", "softmax", (4, 5, 6), (1, 2), 2 * 2 * 120),
        ("softmax.f32.77", "softmax", (77,), (0,), 2 * 4 * 77),
        ("logsumexp.bf16.8x16", "logsumexp", (8, 16), (1,), 2 * 128 + 2 * 8),
        ("layernorm.bf16.8x16", "layernorm", (8, 16), (1,), 2 * 2 * 128 + 2 * 2 * 16),
        ("layernorm1.f32.2x3x4x5", "layernorm", (2, 3, 4, 5), (1,), 2 * 4 * 120 + 2 * 4 * 3),
        ("add_rmsnorm.bf16.8x16", "add_rmsnorm", (8, 16), (1,), 4 * 2 * 128 + 2 * 16),
        ("quant_fp8.bf16.8x16", "quant_fp8", (8, 16), (1,), 3 * 128 + 4 * 8),
        ("cross_entropy.bf16.8x16", "cross_entropy", (8, 16), (1,), 2 * 128 + 8 * 8 + 4 * 8),
        ("groupnorm.f32.2x64x3x3", "groupnorm", (2, 64, 3, 3), (2, 3), 2 * 4 * 1152 + 2 * 4 * 64),
        ("batchnorm.f32.2x64x3x3", "batchnorm", (2, 64, 3, 3), (0, 2, 3), 3 * 4 * 1152 + 4 * 4 * 64),
        ("batchnorm.f32.9x5", "batchnorm", (9, 5), (0,), 3 * 4 * 45 + 4 * 4 * 5),
        ("var_norm_cols.f32.9x5", "var_norm_cols", (9, 5), (0,), 3 * 4 * 45),
        ("softmax_bwd0.bf16.8x16", "softmax_bwd", (8, 16), (0,), 3 * 2 * 128),
        ("layernorm_bwd.bf16.8x16", "layernorm_bwd", (8, 16), (1,), 3 * 2 * 128 + 4 * 2 * 16),
        ("add_rmsnorm_bwd.bf16.8x16", "add_rmsnorm_bwd", (8, 16), (1,), 4 * 2 * 128 + 2 * 2 * 16),
        ("batchnorm_bwd.f32.9x5", "batchnorm_bwd", (9, 5), (0,), 5 * 4 * 45 + 4 * 4 * 5),
        ("cross_entropy_fwdbwd.bf16.8x16", "cross_entropy_fwdbwd", (8, 16), (1,), 2 * 2 * 128 + 8 * 8 + 4),
    ],
)
def test_a_name_says_all(name: str, what: str, shape: tuple[int, ...], axes: tuple[int, ...], nbytes: int) -> None:
    found = case(name)
    assert (found.what, found.shape, found.axes, found.nbytes) == (what, shape, axes, nbytes)


@pytest.mark.parametrize(
    ("name", "megabytes"),
    [
        ("softmax.bf16.16384x32768", 2147), ("softmax.bf16.12x128x1000x77", 473), ("layernorm.bf16.50000x1000", 200),
        ("add_rmsnorm.bf16.32768x4096", 1074), ("quant_fp8.bf16.32768x4096", 403),
        ("cross_entropy.bf16.8192x32000", 524), ("groupnorm.f32.64x256x56x56", 411),
        ("batchnorm.f32.64x256x56x56", 617), ("batchnorm_nhwc.bf16.64x256x56x56", 308),
        ("var_norm_cols.f32.65536x1024", 805),
    ],
)  # fmt: skip
def test_the_bytes_of_standard_cases(name: str, megabytes: int) -> None:
    assert round(STANDARD[name].nbytes / 1e6) == megabytes


@pytest.mark.parametrize(
    "name",
    [
        "", "softmax", "softmax.f32", "softmax.f32.", "softmax.f32.0x4", "softmax.i32.4x4", "softmax2.f32.4x4",
        "softmax10.f32.4x4", "softmax00.f32.4x4", "row.softmax.f32.4x4", "cross_entropy.f32.4x4x4",
        "cross_entropy0.f32.4x4", "batchnorm.f32.4", "batchnorm1.f32.4x4", "batchnorm_nhwc.f32.4x4",
        "var_norm_cols.f32.4x4x4", "groupnorm.f32.8", "quant_fp9.f32.4x4", "7.f32.4x4",
    ],
)  # fmt: skip
def test_what_is_no_case(name: str) -> None:
    assert parse(name) is None


@pytest.mark.parametrize(
    ("name", "goal"),
    [
        ("softmax.bf16.8192x4096", 0.95), ("softmax.f32.8192x16384", 0.95), ("softmax.f32.1024x32768", 0.93),
        ("softmax.bf16.64x1M", 0.88), ("softmax.f32.65536x1004", 0.95),
        ("softmax.bf16.8192x4097", 0.90), ("softmax.bf16.64x1000001", 0.90),
        ("softmax0.f32.8192x8192", 0.88), ("softmax1.f32.64x256x56x56", 0.88), ("batchnorm.f32.64x256x56x56", 0.88),
        ("groupnorm.f32.64x256x56x56", 0.93), ("layernorm_bwd.bf16.32768x4096", 0.85),
        ("softmax_bwd.bf16.32768x4096", 0.95), ("cross_entropy_fwdbwd.bf16.8192x32000", 0.93),
        ("softmax.f32.64x1024", None), ("softmax.bf16.4096x4096", 0.95),
        ("softmax.bf16.3000x4096", None),
    ],
)  # fmt: skip
def test_goals(name: str, goal: float | None) -> None:
    assert case(name).goal == goal


def test_groups_of_channels() -> None:
    assert case("groupnorm.f32.2x64x3x3").groups == 32
    assert case("groupnorm.f32.2x64x3x3").grouped == (2, 32, 18)
    assert case("groupnorm.f32.2x20x3").groups == 4


def test_choices() -> None:
    assert select("fused") == list(FUSED.values())
    assert select("standard") == list(STANDARD.values())
    assert select("shapes") == list(SHAPES.values())
    assert select("masks") == list(MASKS.values())
    assert select("backward") == list(BACKWARD.values())
    assert [c.name for c in select("softmax.bf16.100x5000")] == ["softmax.bf16.100x5000"]
    assert {c.name.split(".")[0] for c in select("fused", "softmax*")} == {
        "softmax", "softmax0", "softmax1", "softmax23"
    }  # fmt: skip
    assert [c.name for c in select("row,fused", "*.4096x32000")] == [
        "row.argmax.f32.4096x32000", "row.logsumexp.f32.4096x32000"
    ]  # fmt: skip
    assert {c.what for c in select("fused", "rmsnorm*, layernorm*")} == {"rmsnorm", "layernorm"}
    assert not {c.name for c in select("")} & set(FUSED)
    assert {c.name for c in select("layernorm*")} == {name for name in FUSED | BACKWARD if name.startswith("layernorm")}


@pytest.mark.parametrize(
    ("text", "only", "part"),
    [
        ("softmax.f33.1x2", "*", "'softmax.f33.1x2' ('f33' is none of f64 f32 f16 bf16 bit)"),
        ("softmx.bf16.1x2", "*", "('softmx' is none of softmax softmin"),
        ("fusd", "*", "(did you mean fused?)"),
        ("fused", "row.*", "'row.*'"),
    ],
)
def test_unknown_cases(text: str, only: str, part: str) -> None:
    with pytest.raises(
        ArgumentError, match=r"^WF740: the benchmark has no case .*plain fused standard shapes"
    ) as caught:
        select(text, only)
    assert part in str(caught.value)
    assert parse("softmax.bf16.1000x1000")
    assert "softmax.bf16.1000x1000" in caught.value.remedy
