"""mov with packing and unpacking, and conversions of addresses: cvta, mapa, getctarank, isspacep."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..machine.address_map import LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, WINDOW_MASK
from ..ptx.types import DTYPE, WIDTH, Array, Imm, Operand, Special, Sym, Vec
from .op import Builder, Form, Op, broadcast, spread

if TYPE_CHECKING:
    from ..machine.machine import Machine
    from ..machine.threads import Threads

_SCALARS = "pred b16 u16 s16 b32 u32 s32 b64 u64 s64 f16 bf16 f32 f64 b128"
_WINDOWS = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW, "param": PARAM_WINDOW, "global": 0, "const": 0}
TICKING = ("clock", "clock64", "clock_hi", "globaltimer", "globaltimer_lo", "globaltimer_hi")


def _mov(form: Form) -> Op:
    type_ = form.type(_SCALARS)
    d, a = form.operands(2)
    bits = f"b{WIDTH[type_]}" if type_ != "pred" else "pred"
    if isinstance(a, Vec):
        return _pack(form, d, a, bits)
    if isinstance(d, Vec):
        return _unpack(form, d, a, bits)
    if isinstance(a, Special) and a.name in TICKING:
        return _tick(d, a.name, bits)
    if isinstance(a, Sym) and a.variable.space == "param":
        base = np.uint64(PARAM_WINDOW)  # only through this window can a later load tell parameters from global memory
        return Op(((a, "b64"),), ((d, "b64"),), lambda x: x | base)
    return Op(((a, type_ if isinstance(a, Imm) else bits),), ((d, bits),), same)


def same(x: Array) -> Array:
    """``x`` itself, as unsigned words."""
    return x.view(f"u{x.itemsize}") if x.dtype.kind in "fi" else x


def _part(form: Form, bits: str, count: int) -> str:
    width = WIDTH[bits] // max(count, 1)
    if width not in (8, 16, 32, 64) or count not in (2, 4, 8, 16):
        raise form.fail(f"expected 2 or 4 elements that make up {WIDTH[bits]} bits, got {count}")
    return f"b{width}"


def _pack(form: Form, d: Operand, source: Vec, bits: str) -> Op:
    part = _part(form, bits, len(source.items))
    dtype = DTYPE[bits]

    def run(*xs: Array) -> Array:
        return np.stack(spread(xs), axis=1).view(dtype).reshape(-1)

    return Op(tuple((item, part) for item in source.items), ((d, bits),), run)


def _unpack(form: Form, d: Vec, source: Operand, bits: str) -> Op:
    count = len(d.items)
    part = _part(form, bits, count)
    dtype = DTYPE[part]

    def run(x: Array) -> list[Array]:
        parts = np.ascontiguousarray(x).view(dtype).reshape(-1, count)
        return [np.ascontiguousarray(parts[:, k]) for k in range(count)]

    return Op(((source, bits),), tuple((item, part) for item in d.items), run)


def _tick(d: Operand, name: str, bits: str) -> Op:
    """A clock. It counts the steps of the machine, so it rises, and is the same in every run."""

    def run(machine: Machine, _lanes: Threads, _mask: Array | None) -> Array:
        ticks = machine.ticks()
        value = ticks >> 32 if name.endswith("_hi") else ticks
        return np.array([value], np.uint64).astype(DTYPE[bits])

    return Op((), ((d, bits),), run, effect=True)


def _cvta(form: Form) -> Op:
    type_ = form.type("u32 u64")
    to = form.flag("to")
    space = form.pick("global", "shared", "shared::cta", "shared::cluster", "local", "const", "param")
    window = _WINDOWS[space.split(":")[0]]
    if window > np.iinfo(DTYPE[type_]).max:
        raise form.fail("expected .u64: an address without a space has 64 bits here")
    base = DTYPE[type_].type(window)
    if to:
        mask = np.uint64(WINDOW_MASK)
        return form.pure(lambda x: x & mask, type_, type_)
    return form.pure(lambda x: x | base, type_, type_)


def _isspacep(form: Form) -> Op:
    space = form.pick("global", "shared", "shared::cta", "shared::cluster", "local", "const", "param", "param::entry")
    window = np.uint64(_WINDOWS[space.split(":")[0]])

    def run(machine: Machine, lanes: Threads, _mask: Array | None, a: Array) -> Array:
        inside: Array = (a & ~np.uint64(WINDOW_MASK)) == window
        if space in ("global", "const"):
            constant = machine.launch.in_constant(a)
            return inside & (constant if space == "const" else ~constant)
        if space in ("shared", "shared::cta"):  # the window of other CTAs of the cluster is not this CTA's
            rank = (a & np.uint64(WINDOW_MASK)) >> np.uint64(24)
            own = machine.special(lanes, "cluster_ctarank").astype(np.uint64) + np.uint64(1)
            result: Array = inside & ((rank == 0) | (rank == own))
            return result
        return inside

    d, a = form.operands(2)
    return Op(((a, "u64"),), ((d, "pred"),), run, effect=True)


def _mapa(form: Form) -> Op:
    type_ = form.type("u32 u64")
    form.drop("shared::cluster")
    dtype = DTYPE[type_]

    def run(a: Array, rank: Array) -> Array:
        offset = a & dtype.type(0xFFFFFF)
        high = a & dtype.type(0xFFFFFFFFFFFFFFFF & ~WINDOW_MASK) if type_ == "u64" else dtype.type(0)
        result: Array = high | ((rank.astype(dtype) + dtype.type(1)) << dtype.type(24)) | offset
        return result

    d, a, b = form.operands(3)
    return Op(((a, type_), (b, "u32")), ((d, type_),), run)


def _getctarank(form: Form) -> Op:
    type_ = form.type("u32 u64")
    form.drop("shared::cluster")

    def run(machine: Machine, lanes: Threads, _mask: Array | None, a: Array) -> Array:
        rank = ((a >> a.dtype.type(24)) & a.dtype.type(0xFF)).astype(np.uint32)
        own = machine.special(lanes, "cluster_ctarank")
        return np.where(rank == 0, broadcast(own, own.shape[0]), rank - np.uint32(1))

    d, a = form.operands(2)
    return Op(((a, type_),), ((d, "u32"),), run, effect=True)


TABLE: dict[str, Builder] = {
    "mov": _mov,
    "cvta": _cvta,
    "isspacep": _isspacep,
    "mapa": _mapa,
    "getctarank": _getctarank,
}
