"""The benchmark's cases: what a name says, and what a choice of them means."""

from __future__ import annotations

import numpy as np
import pytest
from bench_fakes import HostArrays

from warpfold.commands.bench import cases
from warpfold.commands.bench.cases import CASES, MORE, PLAIN, Case, parse
from warpfold.commands.bench.inputs import drawn
from warpfold.commands.bench.selection import select
from warpfold.compiler.errors import ArgumentError
from warpfold.runtime import named_reductions
from warpfold.runtime.arrays.conversion import view


def test_all_names_are_distinct_cases() -> None:
    assert (len(PLAIN), len(MORE)) == (30, 28)
    same = {(c.what, c.dtype, c.shape, c.axis) for c in CASES.values()}
    assert len(same) == len(CASES) == 58


@pytest.mark.parametrize(
    ("name", "what", "shape", "axis", "nbytes"),
    [
        ("full.sum.f32.2^28", "sum", (1 << 28,), (0,), (1 << 30) + 4),
        ("full.norm2.f32.64", "norm", (64,), (0,), 260),
        ("row.sum.f32.1Mx64", "sum", (1 << 20, 64), (1,), (1 << 28) + (4 << 20)),
        ("col.max.bf16.2Kx3", "max", (2048, 3), (0,), 2 * 2048 * 3 + 6),
        ("mid.sum.f32.4x5x6", "sum", (4, 5, 6), (1,), 480 + 96),
        ("mid.sum.f32.NCHW.2x3x4x5", "sum", (2, 3, 4, 5), (0, 2, 3), 480 + 12),
        ("mid.mean.f64.HW.2x3x4x5", "mean", (2, 3, 4, 5), (2, 3), 960 + 48),
        ("full.any.b1.1000", "any", (1000,), (0,), 1001),
        ("row.argmax.i8.3x7", "argmax", (3, 7), (1,), 21 + 24),
        ("full.sum.i32.10x10", "sum", (10, 10), (0, 1), 408),
    ],
)
def test_a_name_determines_its_case(
    name: str, what: str, shape: tuple[int, ...], axis: tuple[int, ...], nbytes: int
) -> None:
    found = parse(name)
    assert found is not None
    assert (found.what, found.shape, found.axis, found.nbytes) == (what, shape, axis, nbytes)


@pytest.mark.parametrize(
    "name",
    [
        "", "sum", "row.sum.f32", "row.sum.f32.", "row.sum.f32.64", "col.sum.f32.x64", "mid.sum.f32.4x5",
        "row.sum.u9.4x4", "diag.sum.f32.4x4", "row.softmax.f32.4x4", "row.sum.f32.0x4", "row.sum.f32.4xx4",
        "row.sum.f32.NCHW.1x2x3x4", "mid.sum.f32.XY.1x2x3x4", "full.sum.f32.2^", "row.mean.i32.4x4",
        "full.prod.b1.64", "mid.argmax.f32.HW.1x2x3x4", "full.sum.f32.-4",
        "full.sum.f32.NCHW.extra.4",
    ],
)  # fmt: skip
def test_invalid_names_of_cases(name: str) -> None:
    assert parse(name) is None


@pytest.mark.parametrize("name", sorted({f"{c.what}.{c.dtype.name}": n for n, c in CASES.items()}.values()))
def test_results_have_the_types_that_warpfold_gives(name: str) -> None:
    case = CASES[name]
    rank = len(case.shape)
    small = Case(name, case.group, case.what, case.dtype, (2, 3, 4, 5)[:rank], case.axis)
    x = HostArrays().random(small, 0)
    assert view(getattr(named_reductions, small.what)(x, axis=small.axis, device="emulator")).dtype == small.result


def test_inputs_depend_on_name_and_set_alone() -> None:
    case = PLAIN["full.sum.f32.4096"]
    assert np.array_equal(drawn(case, 0), drawn(case, 0))
    assert not np.array_equal(drawn(case, 0), drawn(case, 1))


def test_choices() -> None:
    assert select("") == list(CASES.values())
    assert {c.name for c in select("plain")} == set(PLAIN)
    assert {c.group for c in select("full, mid")} == {"full", "mid"}
    assert [c.name for c in select("row.sum.*.1Mx64,row.sum.f32.1Mx64")] == ["row.sum.f32.1Mx64"]
    assert [c.name for c in select("row.sum.f32.12345x678")] == ["row.sum.f32.12345x678"]
    assert [c.name for c in select(" ,")] == [c.name for c in select("")] == list(CASES)
    assert len(select("col.*")) == sum(c.group == "col" for c in CASES.values())


@pytest.mark.parametrize(("text", "near"), [("rwo", "row"), ("row.sum.f32.1Mx6f", "row.sum.f32.1Mx64"), ("x.*", "")])
def test_unknown_cases(text: str, near: str) -> None:
    with pytest.raises(ArgumentError, match=r"^WF740: the benchmark has no case .*full row col mid") as caught:
        select(text)
    assert (f"(did you mean {near}" in str(caught.value)) == bool(near)
    assert "row.sum.f32.1000x1000" in caught.value.remedy
    assert cases.parse("row.sum.f32.1000x1000")


@pytest.mark.parametrize(
    ("text", "slip"),
    [
        ("row.sum.f33.1x2", "'f33' is none of f64 f32 f16"), ("row.sun.f32.1x2", "'sun' is none of sum prod"),
        ("raw.sum.f32.1x2", "'raw' is none of full row"), ("*.sum.f33.*", "'f33' is none of f64"),
    ],
)  # fmt: skip
def test_an_error_names_the_unknown_part_of_a_case_name(text: str, slip: str) -> None:
    with pytest.raises(ArgumentError, match=rf"^WF740: .* \({slip}"):
        select(text)
