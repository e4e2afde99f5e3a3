"""Single instructions: the bits of an H200, and the bounds of the approximate functions."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable

import numpy as np
import pytest
from emulator_harness import DATA, run
from emulator_instructions import APPROXIMATE, CASES, COUNT, HEADER, Case, kernel, operands

from warpfold.runtime import emulator

MEASURED = json.loads((DATA / "h200.json").read_text())


def emulate(case: Case) -> np.ndarray:
    """The result bits of a case, uint64."""
    module = emulator.parse(HEADER + kernel(case))
    memory = emulator.Memory()
    out = np.zeros(COUNT, np.uint64)
    args = [memory.bind(x.view(np.uint8)) for x in operands(case)]
    args += [0] * (3 - len(args)) + [memory.bind(out.view(np.uint8))]
    emulator.launch(module, "k", (1, 1, 1), (COUNT, 1, 1), args, memory)
    return out


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_same_bits_as_an_h200(case: Case) -> None:
    assert f"{zlib.crc32(emulate(case).tobytes()):08x}" == MEASURED[case.text]


def test_every_measured_instruction_is_in_the_table() -> None:
    assert set(MEASURED) == {case.text for case in CASES}


# The ISA's bounds: relative error, or absolute error where the second number is not 0.
_BOUNDS: dict[str, tuple[Callable[..., np.ndarray], float, float]] = {
    "rcp": (lambda x: 1 / x, 2.0**-23, 0),
    "sqrt": (np.sqrt, 2.0**-22, 0),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 2.0**-22.4, 0),
    "ex2": (np.exp2, 2.0**-22.5, 0),
    "lg2": (np.log2, 2.0**-22, 2.0**-22),
    "sin": (np.sin, 2.0**-20.5, 2.0**-20.5),
    "cos": (np.cos, 2.0**-20.5, 2.0**-20.5),
    "tanh": (np.tanh, 2.0**-11, 0),
    "div": (np.divide, 2.0**-22, 0),
}


@pytest.mark.parametrize("case", [c for c in APPROXIMATE if c.types[0] == "f32"], ids=lambda case: case.name)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_approximate_functions_keep_the_bounds_of_the_isa(case: Case) -> None:
    function, relative, absolute = _BOUNDS[case.text.split(".")[0]]
    xs = [x.astype(np.uint32).view(np.float32).astype(np.float64) for x in operands(case)]
    exact = function(*xs)
    got = emulate(case).astype(np.uint32).view(np.float32).astype(np.float64)
    usual = np.isfinite(exact) & (np.abs(exact) > 2.0**-120) & (np.abs(exact) < 2.0**127)
    for x in xs:
        usual &= (np.abs(x) > 2.0**-120) & (np.abs(x) < 2.0**126)
    assert usual.sum() > 20
    assert (np.abs(got - exact)[usual] <= np.maximum(relative * np.abs(exact), absolute)[usual]).all()


BLACKWELL = [
    # text over r1 r2 r3 (1.0, NaN, -3.0) or pairs of them, and the bits of r4
    ("max.f32 r4, r1, r2, r3;", 0x3F800000),
    ("min.NaN.f32 r4, r1, r2, r3;", 0x7FFFFFFF),
    ("max.abs.f32 r4, r1, r2, r3;", 0x40400000),
    ("mov.b64 d2, {r1, r3}; add.rn.f32x2 d3, d2, d2; mov.b64 {_, r4}, d3;", 0xC0C00000),
    ("mov.b64 d2, {r1, r3}; fma.rn.ftz.f32x2 d3, d2, d2, d2; mov.b64 {r4, _}, d3;", 0x40000000),
    ("mov.b64 d2, {r1, r2}; mul.rz.f32x2 d3, d2, d2; mov.b64 {_, r4}, d3;", 0x7FFFFFFF),
    # mixed: 2.0 in a half, and 1.0 or -3.0 in f32
    ("mov.b16 h1, 0x4000; sub.rn.f32.bf16 r4, h1, r3;", 0x40A00000),
    ("mov.b16 h1, 0x4000; fma.rz.sat.f32.f16 r4, h1, h1, r3;", 0x3F800000),
    ("mov.b16 h1, 0x4000; add.f32.f16 r4, h1, r1;", 0x40400000),
    # halves (1.0, 2.0) against (2.0, 2.0): only the low one is less
    ("mov.b32 r5, 0x40003c00; mov.b32 r6, 0x40004000; setp.lt.f16x2 p1|p2, r5, r6; selp.u32 r4, 1, 0, p1; "
     "@p2 add.u32 r4, r4, 2;", 1),
    ("mov.b32 r5, 0x40003f80; mov.b32 r6, 0x40004000; setp.ge.bf16x2 p1|p2, r5, r6; selp.u32 r4, 1, 0, p1; "
     "@p2 add.u32 r4, r4, 2;", 2),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), BLACKWELL)
def test_instructions_an_h200_lacks(text: str, expected: int) -> None:
    setup = "mov.b32 r1, 0f3F800000; mov.b32 r2, 0f7FC00000; mov.b32 r3, 0fC0400000;"
    assert (run(f"{setup} {text} st.global.b32 [d1], r4;") == expected).all()


def test_approximate_functions_of_special_values() -> None:
    # ex2(-inf) = +0, ex2(+inf) = +inf, lg2(0) = -inf, rsqrt(-0) = -inf, rcp(-0) = -inf, as the ISA's tables list
    cases = {"ex2": [(0xFF800000, 0), (0x7F800000, 0x7F800000)], "lg2": [(0, 0xFF800000), (0x80000000, 0xFF800000)]}
    cases |= {"rsqrt": [(0x80000000, 0xFF800000), (0xBF800000, 0x7FFFFFFF)], "rcp": [(0x80000000, 0xFF800000)]}
    for name, pairs in cases.items():
        for given, expected in pairs:
            got = run(f"mov.b32 r1, {given}; {name}.approx.f32 r2, r1; st.global.b32 [d1], r2;")
            assert (got == expected).all(), (name, hex(given))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # halves (1, -2) and (3, -5); differences 2 and 3
        ("vabsdiff2.u32.s32.s32 r4, r1, r2, 9;", 0x00030002),
        ("vabsdiff2.u32.s32.s32.add r4, r1, r2, 9;", 14),
        # as unsigned halves 1, 3 and 65534, 65531: differences 2 and 3 as well; against zero the high one is clamped
        ("vabsdiff2.u32.u32.u32.add r4, r1, r2, 0;", 5),
        ("vabsdiff2.s32.u32.u32.sat r4, r1, 0, 0;", 0x7FFF0001),
        ("max.s16x2.relu r4, r1, r2;", 0x00000003),
        ("max.relu.s16x2 r4, r1, r2;", 0x00000003),
        ("min.s32.relu r4, -3, 8;", 0),
    ],
)
def test_parts_of_words(text: str, expected: int) -> None:
    got = run(f"mov.b32 r1, 0xFFFE0001; mov.b32 r2, 0xFFFB0003; {text} pmevent 3; st.global.b32 [d1], r4;")
    assert (got == expected).all()


@pytest.mark.parametrize("type_", ["s32", "u32", "b32", "f32"])
def test_a_guarded_move_of_a_literal(type_: str) -> None:
    value = "0f3F800000" if type_ == "f32" else "1065353216"
    got = run(f"setp.lt.u32 p1, r0, 4; mov.u32 r1, 7; @p1 mov.{type_} r1, {value}; st.global.b32 [d1], r1;")
    assert got.tolist() == [0x3F800000] * 4 + [7] * 28


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sub.cc.u32 r1, 5, 3; addc.u32 r2, 0, 0;", 1),  # nothing borrowed
        ("sub.cc.u32 r1, 3, 5; addc.u32 r2, 0, 0;", 0),
        ("sub.cc.u32 r1, 3, 5; subc.u32 r2, 9, 2;", 6),  # borrowed: one less
        ("sub.cc.u32 r1, 5, 5; subc.cc.u32 r1, 0, 0; addc.u32 r2, 0, 0;", 1),
        ("sub.cc.u32 r1, 0, 1; subc.cc.u32 r1, 0, 0; addc.u32 r2, 0, 0;", 0),
        ("add.cc.u32 r1, -1, 1; subc.u32 r2, 9, 2;", 7),  # a carry is no borrow
    ],
)
def test_the_carry_flag_after_a_difference(text: str, expected: int) -> None:
    # nvcc's 128-bit division (wide_quotients in data/foreign/groups.cu) reads it so
    assert (run(f"{text} st.global.b32 [d1], r2;") == expected).all()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # e2m1: 0 0.5 1 1.5 2 3 4 6; ties to even: 2.5 is 2 (code 4), 5 is 4 (code 6), 0.25 is 0
        ("cvt.rn.satfinite.e2m1x2.f32 b, 0f40200000, 0f40A00000; mov.b16 h1, {b, 0}; cvt.u32.u16 r4, h1;", 0x46),
        ("cvt.rn.satfinite.e2m1x2.f32 b, 0fBE800000, 0fC2C80000; mov.b16 h1, {b, 0}; cvt.u32.u16 r4, h1;", 0x8F),
        ("cvt.rn.satfinite.e2m1x2.f32 b, 0f7FC00000, 0f3F800000; cvt.rn.f16x2.e2m1x2 r4, b;", 0x46003C00),  # NaN: 6
        # e2m3: 7.5 at most, steps of 1/8 below 2; e3m2: 28 at most, steps of 1/16 below 1/2
        ("cvt.rn.satfinite.e2m3x2.f32 h1, 0fC2C80000, 0f3E000000; cvt.u32.u16 r4, h1;", 0x3F01),
        ("cvt.rn.satfinite.e3m2x2.f32 h1, 0f42C80000, 0fBD800000; cvt.u32.u16 r4, h1;", 0x1F21),
        ("mov.b16 h1, 0x3F01; cvt.rn.f16x2.e2m3x2 r4, h1;", 0xC7803000),
        ("mov.b16 h1, 0x1F21; cvt.rn.f16x2.e3m2x2 r4, h1;", 0x4F00AC00),
    ],
)
def test_floats_of_four_and_six_bits(text: str, expected: int) -> None:
    got = run(f".reg .b8 b; {text} st.global.b32 [d1], r4;")
    assert [hex(v) for v in set(got.tolist())] == [hex(expected)]
