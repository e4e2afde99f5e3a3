"""The instruction table, with one builder for each opcode. A new instruction is an entry in its family's ``TABLE``."""

from __future__ import annotations

from ....compiler.errors import error
from ..ptx.types import Instruction
from . import (
    approximate,
    arithmetic,
    async_copy,
    async_store,
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
    video,
    warp,
)
from .matrices import ldmatrix, mma, wmma
from .op import Builder, Form, Op

TABLE: dict[str, Builder] = {}
for _family in (
    arithmetic,
    integer,
    bits,
    floating,
    approximate,
    conversion,
    compare,
    move,
    load_store,
    atomics,
    warp,
    ldmatrix,
    mma,
    wmma,
    async_copy,
    async_store,
    mbarrier,
    video,
    control,
):
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
