"""Kernels of one instruction over chosen operands: the table by which the emulator is compared with a GPU.

``CASES`` lists instructions; ``operands`` makes the same operand bits everywhere; ``kernel`` writes the PTX that
applies one instruction to element ``tid`` of every operand. ``data/h200.json`` holds a checksum of an H200's result
bits for each, so the comparison needs no GPU.
"""

from __future__ import annotations

import itertools
import zlib
from dataclasses import dataclass

import numpy as np

COUNT = 512
WIDTH = {"pred": 32, "b16": 16, "u16": 16, "s16": 16, "f16": 16, "bf16": 16, "f64": 64, "b64": 64, "u64": 64, "s64": 64}


@dataclass(frozen=True)
class Case:
    """``text`` is the instruction over %d (result) and %a %b %c (operands); ``types`` are those of d, a, b, c."""

    text: str
    types: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.text.replace("%", "").replace(";", "")


def width(type_: str) -> int:
    """Register bits of ``type_``; 32 unless listed."""
    return WIDTH.get(type_, 32)


def _op(name: str, types: str) -> Case:
    parts = tuple(types.split())
    return Case(f"{name} {', '.join('%' + x for x in 'dabc'[: len(parts)])};", parts)


def _float_cases() -> list[Case]:
    out = []
    for mode in ("", ".rn", ".rz", ".rm", ".rp"):
        for name in ("add", "sub", "mul"):
            out += [_op(f"{name}{mode}{f}.f32", "f32 f32 f32") for f in ("", ".ftz", ".sat", ".ftz.sat")]
            out.append(_op(f"{name}{mode}.f64", "f64 f64 f64"))
        if mode:
            out += [_op(f"fma{mode}{f}.f32", "f32 f32 f32 f32") for f in ("", ".ftz", ".sat", ".ftz.sat")]
            out += [_op(f"{name}{mode}.f64", t) for name, t in (("fma", "f64 f64 f64 f64"), ("div", "f64 f64 f64"))]
            out += [_op(f"div{mode}{f}.f32", "f32 f32 f32") for f in ("", ".ftz")]
            for name in ("sqrt", "rcp"):
                out += [_op(f"{name}{mode}{f}.f32", "f32 f32") for f in ("", ".ftz")]
                out.append(_op(f"{name}{mode}.f64", "f64 f64"))
    for name in ("min", "max"):
        out += [_op(f"{name}{f}.f32", "f32 f32 f32") for f in ("", ".ftz", ".NaN", ".ftz.NaN")]
        out += [_op(f"{name}{f}.xorsign.abs.f32", "f32 f32 f32") for f in ("", ".NaN")]
        out.append(_op(f"{name}.f64", "f64 f64 f64"))
    for name in ("abs", "neg"):
        out += [_op(f"{name}{f}.f32", "f32 f32") for f in ("", ".ftz")] + [_op(f"{name}.f64", "f64 f64")]
    for t in ("f32", "f64"):
        out.append(_op(f"copysign.{t}", f"{t} {t} {t}"))
        tests = ("finite", "infinite", "number", "notanumber", "normal", "subnormal")
        out += [_op(f"testp.{test}.{t}", f"pred {t}") for test in tests]
    return out


def _half_cases() -> list[Case]:
    out = []
    for t in ("f16", "f16x2"):
        for name in ("add", "sub", "mul"):
            out += [_op(f"{name}{f}.{t}", f"{t} {t} {t}") for f in ("", ".rn", ".ftz", ".sat", ".ftz.sat")]
        out += [_op(f"fma.rn{f}.{t}", f"{t} {t} {t} {t}") for f in ("", ".ftz", ".sat", ".relu")]
        for name in ("min", "max"):
            out += [_op(f"{name}{f}.{t}", f"{t} {t} {t}") for f in ("", ".ftz", ".NaN", ".NaN.xorsign.abs")]
        out += [_op(f"{name}{f}.{t}", f"{t} {t}") for name in ("abs", "neg") for f in ("", ".ftz")]
    for t in ("bf16", "bf16x2"):
        out += [_op(f"{name}.rn.{t}", f"{t} {t} {t}") for name in ("add", "sub", "mul")]
        out += [_op(f"fma.rn{f}.{t}", f"{t} {t} {t} {t}") for f in ("", ".relu")]
        out += [_op(f"{name}{f}.{t}", f"{t} {t} {t}") for name in ("min", "max") for f in ("", ".NaN")]
        out += [_op(f"{name}.{t}", f"{t} {t}") for name in ("abs", "neg")]
    return out


def _conversion_cases() -> list[Case]:
    out = []
    ints = ("s16", "u16", "s32", "u32", "s64", "u64")
    for f, i in itertools.product(("f16", "f32", "f64"), ints):
        out += [_op(f"cvt.{m}.{i}.{f}", f"{i} {f}") for m in ("rni", "rzi", "rmi", "rpi")]
        out += [_op(f"cvt.{m}.{f}.{i}", f"{f} {i}") for m in ("rn", "rz", "rm", "rp")]
    out += [_op(f"cvt.rzi.ftz.{i}.f32", f"{i} f32") for i in ints]
    for a, b in itertools.permutations(ints, 2):
        holds_all = int(a[1:]) > int(b[1:]) and (a[0] == b[0] or b[0] == "u")  # ptxas refuses .sat there
        out += [_op(f"cvt{s}.{a}.{b}", f"{a} {b}") for s in (("",) if holds_all else ("", ".sat"))]
    for a, b in (("f32", "f64"), ("f16", "f32"), ("f16", "f64")):
        out += [_op(f"cvt.{m}.{a}.{b}", f"{a} {b}") for m in ("rn", "rz", "rm", "rp", "rn.sat")]
        out.append(_op(f"cvt.{b}.{a}", f"{b} {a}"))
    for t in ("f16", "f32", "f64"):
        out += [_op(f"cvt.{m}.{t}.{t}", f"{t} {t}") for m in ("rni", "rzi", "rmi", "rpi", "rni.sat")]
    out += [_op(f"cvt.rn{f}.f32.f64", "f32 f64") for f in (".ftz", ".ftz.sat")]
    out += [
        _op("cvt.ftz.f32.f16", "f32 f16"),
        _op("cvt.rn.ftz.f16.f32", "f16 f32"),
        _op("cvt.ftz.sat.f32.f32", "f32 f32"),
    ]
    out += [_op(f"cvt.{m}.bf16.f32", "bf16 f32") for m in ("rn", "rz", "rn.relu")] + [_op("cvt.f32.bf16", "f32 bf16")]
    out += [_op(f"cvt.{m}.{t}.f32", f"{t} f32 f32") for t in ("f16x2", "bf16x2") for m in ("rn", "rz", "rn.relu")]
    out += [_op(f"cvt.rn.satfinite{r}.{t}.f32", "u16 f32 f32") for t in ("e4m3x2", "e5m2x2") for r in ("", ".relu")]
    out += [_op(f"cvt.rn.satfinite.{t}.f16x2", "u16 f16x2") for t in ("e4m3x2", "e5m2x2")]
    out += [_op(f"cvt.rn{r}.f16x2.{t}", "f16x2 u16") for t in ("e4m3x2", "e5m2x2") for r in ("", ".relu")]
    out += [
        _op("cvt.rna.tf32.f32", "b32 f32"),
        _op("cvt.rn.tf32.f32", "b32 f32"),
        _op("cvt.rz.relu.tf32.f32", "b32 f32"),
    ]
    out += [_op("cvt.pack.sat.s16.s32", "b32 s32 s32"), _op("cvt.pack.sat.u16.s32", "b32 s32 s32")]
    out += [_op("cvt.pack.sat.u8.s32.b32", "b32 s32 s32 b32"), _op("cvt.pack.sat.s8.s32.b32", "b32 s32 s32 b32")]
    return out


def _integer_cases() -> list[Case]:
    out = []
    for t in ("s16", "u16", "s32", "u32", "s64", "u64"):
        wide = f"{t[0]}{2 * int(t[1:])}"
        out += [_op(f"{n}.{t}", f"{t} {t} {t}") for n in ("add", "sub", "mul.lo", "mul.hi", "div", "rem", "min", "max")]
        out += [_op(f"{n}.{t}", f"{t} {t} {t} {t}") for n in ("mad.lo", "mad.hi", "sad")]
        if t[1:] != "64":
            out += [_op(f"mul.wide.{t}", f"{wide} {t} {t}"), _op(f"mad.wide.{t}", f"{wide} {t} {t} {wide}")]
        if t[0] == "s":
            out += [_op(f"{n}.{t}", f"{t} {t}") for n in ("abs", "neg")]
        for bits in ("u32", "u64", "s32", "s64"):
            if t == bits:
                out += [_op(f"bfe.{t}", f"{t} {t} n n"), _op(f"bfind.{t}", f"u32 {t}")]
                out.append(_op(f"bfind.shiftamt.{t}", f"u32 {t}"))
        out.append(_op(f"shr.{t}", f"{t} {t} n"))
    out += [_op(f"{n}.s32", "s32 s32 s32") for n in ("add.sat", "sub.sat", "max.relu", "min.relu")]
    out.append(_op("mad.hi.sat.s32", "s32 s32 s32 s32"))
    out += [_op(f"{n}.{t}", f"{t} {t} {t}") for t in ("u16x2", "s16x2") for n in ("add", "min", "max")]
    out += [_op(f"mul24.{h}.{t}", f"{t} {t} {t}") for h in ("lo", "hi") for t in ("u32", "s32")]
    out += [_op(f"mad24.{h}.{t}", f"{t} {t} {t} {t}") for h in ("lo", "hi") for t in ("u32", "s32")]
    out.append(_op("mad24.hi.sat.s32", "s32 s32 s32 s32"))
    for a, b in itertools.product(("u32", "s32"), repeat=2):
        out += [_op(f"{n}.{a}.{b}", "b32 b32 b32 b32") for n in ("dp4a", "dp2a.lo", "dp2a.hi")]
    return out


def _bit_cases() -> list[Case]:
    out = []
    for t in ("b16", "b32", "b64"):
        out += [_op(f"{n}.{t}", f"{t} {t} {t}") for n in ("and", "or", "xor")]
        out += [_op(f"{n}.{t}", f"{t} {t}") for n in ("not", "cnot")] + [_op(f"shl.{t}", f"{t} {t} n")]
    for t in ("b32", "b64"):
        out += [_op(f"{n}.{t}", f"b32 {t}") for n in ("clz", "popc")] + [_op(f"brev.{t}", f"{t} {t}")]
        out.append(Case(f"bfi.{t} %d, %a, %b, %c, 11;", (t, t, t, "n")))
        out.append(Case(f"bfi.{t} %d, %a, %b, 5, %c;", (t, t, t, "n")))
    out += [_op(f"shf.{s}.{w}.b32", "b32 b32 b32 n") for s in "lr" for w in ("clamp", "wrap")]
    out += [_op(f"prmt.b32{m}", "b32 b32 b32 b32") for m in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16")]
    out += [Case(f"lop3.b32 %d, %a, %b, %c, {lut:#x};", ("b32",) * 4) for lut in (0x96, 0xE8, 0x1B, 0xCA)]
    for joined, lut in (("or", 0x80), ("and", 0x16)):
        out.append(Case(f"lop3.{joined}.b32 %d|p, %a, %b, %c, {lut:#x}, r; @p not.b32 %d, %d;", ("b32",) * 4))
    out.append(Case("and.b32 %b, %b, 31; bfe.s32 %c, %c, 0, 5; fns.b32 %d, %a, %b, %c;", ("b32", "b32", "n", "b32")))
    for d, a, b in itertools.product(("u32", "s32"), repeat=3):
        out += [_op(f"vabsdiff4.{d}.{a}.{b}{more}", "b32 b32 b32 b32") for more in ("", ".sat", ".add")]
    out += [_op(f"bmsk.{w}.b32", "b32 n n") for w in ("clamp", "wrap")]
    out += [_op(f"szext.{w}.{t}", f"{t} {t} n") for w in ("clamp", "wrap") for t in ("u32", "s32")]
    for t in ("u32", "u64"):
        for lo, hi in (("add", "addc"), ("sub", "subc")):
            text = f"{lo}.cc.{t} %d, %a, %b; {hi}.{t} %d, %d, %c;"
            out.append(Case(text, (t, t, t, t)))
        out.append(Case(f"mad.lo.cc.{t} %d, %a, %b, %c; madc.hi.{t} %d, %a, %b, %d;", (t, t, t, t)))
    return out


def _compare_cases() -> list[Case]:
    out = []
    floats = ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"]
    for t in ("f16", "f32", "f64", "bf16"):
        out += [_op(f"setp.{c}.{t}", f"pred {t} {t}") for c in floats]
    out += [_op(f"setp.{c}.ftz.f32", "pred f32 f32") for c in ("eq", "lt", "geu")]
    for t in ("s16", "u16", "s32", "u32", "s64", "u64"):
        out += [_op(f"setp.{c}.{t}", f"pred {t} {t}") for c in ("eq", "ne", "lt", "le", "gt", "ge")]
    out += [
        _op(f"set.{c}.{d}.{t}", f"{d} {t} {t}") for c in ("lt", "ne") for d in ("u32", "f32") for t in ("f32", "s32")
    ]
    out += [_op(f"set.{c}.{d}.f16x2", "b32 f16x2 f16x2") for c in ("lt", "neu", "nan") for d in ("f16x2", "u32")]
    out += [_op(f"set.{c}.{d}.bf16x2", "b32 bf16x2 bf16x2") for c in ("ge", "equ") for d in ("bf16x2", "u32")]
    for t in ("f16x2", "bf16x2"):
        text = f"setp.le.or.{t} p|q, %a, %b, r; selp.b32 %d, 1, 0, p; @q or.b32 %d, %d, 2;"
        out.append(Case(text, ("b32", t, t)))
    out.append(
        Case("setp.lt.and.f32 p|q, %a, %b, r; selp.b32 %d, 1, 0, p; @q or.b32 %d, %d, 2;", ("b32", "f32", "f32"))
    )
    out.append(
        Case("setp.gt.xor.s32 p|q, %a, %b, !r; selp.b32 %d, 1, 0, p; @q or.b32 %d, %d, 2;", ("b32", "s32", "s32"))
    )
    out += [_op("slct.b32.s32", "b32 b32 b32 s32"), _op("slct.f32.f32", "f32 f32 f32 f32")]
    return out


def _warp_cases() -> list[Case]:
    out = []
    for mode in ("up", "down", "bfly", "idx"):
        clamp = 0 if mode == "up" else 31
        out.append(Case(f"shfl.sync.{mode}.b32 %d, %a, 3, {clamp}, -1;", ("b32", "b32")))
        out.append(Case(f"shfl.sync.{mode}.b32 %d|p, %a, %b, %c, -1; @!p not.b32 %d, %d;", ("b32", "b32", "n", "b32")))
    out += [Case(f"vote.sync.{m}.pred p, r, -1; selp.b32 %d, 1, 0, p;", ("b32", "b32")) for m in ("all", "any", "uni")]
    out.append(Case("vote.sync.ballot.b32 %d, r, -1;", ("b32", "b32")))
    out += [_op(f"redux.sync.{m}.{t}", f"{t} {t}") for m in ("add", "min", "max") for t in ("u32", "s32")]
    out += [_op(f"redux.sync.{m}.b32", "b32 b32") for m in ("and", "or", "xor")]
    out = [Case(c.text.replace("%a;", "%a, -1;"), c.types) for c in out]
    out.append(Case("and.b32 %a, %a, 3; match.any.sync.b32 %d, %a, -1;", ("b32", "b32")))
    out.append(Case("and.b32 %a, %a, 0; match.all.sync.b32 %d|p, %a, -1; @p add.u32 %d, %d, 1;", ("b32", "b32")))
    out.append(Case("activemask.b32 %d; elect.sync %c|p, -1; @p add.u32 %d, %d, 7;", ("b32", "b32", "b32", "b32")))
    return out


def _memory_cases() -> list[Case]:
    out = []
    for space, place in (("global", "%po"), ("shared", "%so")):
        for t, op in (("f32", "add"), ("f64", "add"), ("u32", "inc"), ("u32", "dec"), ("s32", "min"), ("u64", "max")):
            b = t if t[0] == "f" else f"b{t[1:]}"
            text = (
                f"st.{space}.{b} [{place}], %a; atom.{space}.{op}.{t} %c, [{place}], %b; ld.{space}.{b} %d, [{place}];"
            )
            out.append(Case(text, (t, t, t, t)))
        for t in ("f16x2", "bf16x2"):
            text = f"st.{space}.b32 [{place}], %a; atom.{space}.add.noftz.{t} %c, [{place}], %b; "
            text += f"ld.{space}.b32 %d, [{place}];"
            out.append(Case(text, (t, t, t, t)))
    return out


CASES: tuple[Case, ...] = tuple(
    _float_cases() + _half_cases() + _conversion_cases() + _integer_cases() + _bit_cases() + _compare_cases()
    + _warp_cases() + _memory_cases()
)  # fmt: skip

APPROXIMATE: tuple[Case, ...] = (
    *(
        _op(f"{n}.approx{f}.f32", "f32 f32")
        for n in ["rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos"]
        for f in ("", ".ftz")
    ),
    _op("tanh.approx.f32", "f32 f32"),
    _op("div.approx.f32", "f32 f32 f32"),
    _op("div.full.f32", "f32 f32 f32"),
    *(_op(f"{n}.approx.f16", "f16 f16") for n in ("ex2", "tanh")),
    _op("ex2.approx.ftz.bf16", "bf16 bf16"),
)

_EDGES = {
    "f32": [0, 1, 0x7FFFFF, 0x800000, 0x3F800000, 0x3F7FFFFF, 0x40490FDB, 0x4B000001, 0x7F7FFFFF, 0x7F800000,
            0x7FC01234],
    "f64": [0, 1, 0xFFFFFFFFFFFFF, 1 << 52, 0x3FF0000000000000, 0x3FEFFFFFFFFFFFFF, 0x400921FB54442D18,
            0x41E0000000000000, 0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000, 0x7FF8000012345678],
    "f16": [0, 1, 0x3FF, 0x400, 0x3C00, 0x3BFF, 0x4248, 0x6401, 0x7BFF, 0x7C00, 0x7E12],
    "bf16": [0, 1, 0x7F, 0x80, 0x3F80, 0x3F7F, 0x4049, 0x4B01, 0x7F7F, 0x7F80, 0x7FC1],
}  # fmt: skip
_SPREAD = {"f32": (23, 8, 127), "f64": (52, 11, 1023), "f16": (10, 5, 15), "bf16": (7, 8, 127)}


def _random(seed: int) -> np.ndarray:
    return np.random.Philox(seed).random_raw(COUNT)


def _floats(type_: str, which: int, seed: int) -> np.ndarray:
    """Half are pairs of edge values, a quarter random bits, a quarter of similar magnitude (so that sums round)."""
    bits = width(type_)
    edges = np.array([e | s << (bits - 1) for e in _EDGES[type_] for s in (0, 1)], np.uint64)
    k = np.arange(COUNT)
    raw = _random(seed) >> np.uint64(64 - bits)
    fraction, _, bias = _SPREAD[type_]
    keep = np.uint64(((1 << fraction) - 1) | 1 << (bits - 1))
    near = (raw & keep) | ((np.uint64(bias - 3) + (raw >> np.uint64(5)) % np.uint64(7)) << np.uint64(fraction))
    chosen = edges[(k // edges.size ** min(which, 1) * (1 if which < 2 else 7)) % edges.size]
    return np.where(k < COUNT // 2, chosen, np.where(k < 3 * COUNT // 4, raw, near))


def _integers(bits: int, which: int, seed: int) -> np.ndarray:
    top = 1 << bits - 1
    edges = np.array([0, 1, 2, 3, 7, top - 1, top, top + 1, 2 * top - 1, 2 * top - 2, 100, 2 * top - 7], np.uint64)
    k = np.arange(COUNT)
    raw = _random(seed) >> np.uint64(64 - bits)
    small = raw >> np.uint64(bits // 2)
    return np.where(k < 144, edges[(k // edges.size ** min(which, 1)) % edges.size], np.where(k < 328, raw, small))


def operands(case: Case) -> list[np.ndarray]:
    """The operand bits of a case, uint64, one array per operand; the same on every machine."""
    out = []
    for which, type_ in enumerate(case.types[1:]):
        seed = zlib.crc32(case.text.encode()) + which
        if type_ in ("f16x2", "bf16x2"):
            low, high = (_floats(type_[:-2], which ^ k, seed + 10 * k) for k in (0, 1))
            out.append(low | high << np.uint64(16))
        elif type_ in _EDGES:
            out.append(_floats(type_, which, seed))
        elif type_ == "n":  # counts and positions: mostly small
            out.append(
                np.where(np.arange(COUNT) % 3 != 0, _random(seed) % np.uint64(40), _random(seed) % np.uint64(300))
            )
        else:
            out.append(_integers(width(type_), which, seed))
    return out


def kernel(case: Case, name: str = "k") -> str:
    """The PTX of one entry: operands lie 8 bytes apart in one buffer each, the result likewise."""
    body = []
    for letter, type_ in zip("abc", case.types[1:], strict=False):
        bits = width(type_)
        body.append(f"  ld.param.b64 %p, [{name}_{letter}]; add.s64 %p, %p, %off; ld.global.b{bits} %{letter}, [%p];")
    body.append(f"  {case.text.replace('%d', 'p') if case.types[0] == 'pred' else case.text}")
    if case.types[0] == "pred":
        body.append("  selp.b32 %d, 1, 0, p;")
    bits = width(case.types[0])
    declared = [f"  .reg .b{bits} %d;"]
    declared += [f"  .reg .b{width(t)} %{x};" for x, t in zip("abc", case.types[1:], strict=False)]
    return f"""
.visible .entry {name}(.param .b64 {name}_a, .param .b64 {name}_b, .param .b64 {name}_c, .param .b64 {name}_d)
{{
  .reg .pred p, q, r; .reg .b32 %t, %so, %u; .reg .b64 %p, %po, %off;
  .shared .align 8 .b8 scratch_{name}[{8 * COUNT}];
{chr(10).join(declared)}
  mov.u32 %t, %tid.x; mul.wide.u32 %off, %t, 8; ld.param.b64 %po, [{name}_d]; add.s64 %po, %po, %off;
  mov.u32 %so, scratch_{name}; shl.b32 %u, %t, 3; add.u32 %so, %so, %u;
  and.b32 %u, %t, 5; setp.ne.u32 r, %u, 4;
{chr(10).join(body)}
  st.global.b{bits} [%po], %d;
  ret;
}}
"""


HEADER = ".version 8.2\n.target sm_90\n.address_size 64\n"
