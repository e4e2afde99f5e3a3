"""The instruction table, with one builder for each opcode. A new instruction is an entry in its family's ``TABLE``."""

from __future__ import annotations

from ....compiler.errors import error
from ..ptx.types import Instruction, is_float
from . import (
    approximate,
    async_copy,
    atomics,
    bits,
    compare,
    control,
    conversion,
    driver_functions,
    floating,
    integer,
    load_store,
    mbarrier,
    move,
    warp,
)
from .matrices import mma, wmma
from .op import Builder, Form, Op


def _either(of_float: Builder, of_integer: Builder) -> Builder:
    def build(form: Form) -> Op | list[Op]:
        return (of_float if form.left and is_float(form.left[-1]) else of_integer)(form)

    return build


_SHARED: dict[str, Builder] = {
    "add": _either(floating.arithmetic_form("add", 2), integer.add),
    "sub": _either(floating.arithmetic_form("sub", 2), integer.sub),
    "mul": _either(floating.arithmetic_form("mul", 2), integer.mul),
    "mad": _either(floating.arithmetic_form("fma", 3), integer.mad),
    "fma": floating.arithmetic_form("fma", 3),
    "div": _either(floating.arithmetic_form("div", 2), integer.div),
    "min": _either(floating.extreme_form("min"), integer.extreme("min")),
    "max": _either(floating.extreme_form("max"), integer.extreme("max")),
    "abs": _either(floating.magnitude_form("abs"), integer.abs_),
    "neg": _either(floating.magnitude_form("neg"), integer.neg),
}
"""The opcodes that integers and floats share: the type decides which family builds them."""
_FAMILIES = (
    integer, bits, floating, approximate, conversion, compare, move, load_store, atomics, warp, mma, wmma, async_copy,
    mbarrier, control,
)  # fmt: skip
TABLE: dict[str, Builder] = dict(_SHARED)
for _family in _FAMILIES:
    TABLE.update(_family.TABLE)

SUPPORTED: tuple[str, ...] = tuple(sorted(TABLE))


def build(ins: Instruction) -> list[Op]:
    """The ops of one instruction; raises WF702, with its line, if the opcode is unknown."""
    builder = _refusal if ins.lacks else TABLE.get(ins.opcode) or driver_functions.TABLE.get(ins.opcode)
    if builder is None:
        raise error("WF702", line=ins.line, text=ins.text, opcode=ins.opcode, supported=", ".join(SUPPORTED))
    ops = builder(Form(ins))
    return ops if isinstance(ops, list) else [ops]


def _refusal(form: Form) -> Op:
    """The op of an instruction that is not supported: it ends the launch when a thread comes to it."""
    return Op(end="trap", fault=("WF721", {"what": form.ins.lacks}))
