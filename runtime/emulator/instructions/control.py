"""Control flow, barriers, fences, and instructions without effect on the emulator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..machine.threads import Threads
from ..ptx.types import Args, Array, Label, Operand
from .op import Builder, Form, Op

if TYPE_CHECKING:
    from ..machine.machine import Machine


def _bra(form: Form) -> Op:
    form.drop("uni")
    (label,) = form.operands(1)
    if not isinstance(label, Label):
        raise form.fail("expected a label")
    return Op(end="branch", targets=(label.target,))


def _brx(form: Form) -> Op:
    form.pick("idx")
    form.drop("uni")
    index, table = form.operands(2)
    if not isinstance(table, Args):
        raise form.fail("expected the label of a .branchtargets list")
    targets = tuple(label.target for label in table.items if isinstance(label, Label))
    return Op(((index, "u32"),), end="table", targets=targets)


def _exit(form: Form) -> Op:
    form.drop("uni")
    form.operands(0)
    return Op(end="exit")


def _trap(form: Form) -> Op:
    form.operands(0)
    return Op(end="trap", fault=("WF717", {}))


def _nothing(_form: Form) -> Op:
    """Sleeps and hints, which take no time."""
    return Op()


def _fence(form: Form) -> Op:
    """Fences. They order nothing in a machine that runs in order, but the tool is told of them."""
    ins = form.ins

    def run(machine: Machine, lanes: Threads, mask: Array | None) -> None:
        if machine.launch.tool is not None:
            machine.launch.tool.fence(machine, ins, lanes, mask)

    return Op(run=run, effect=True)


def _warp_barrier(form: Form) -> Op:
    form.pick("warp")
    form.pick("sync")
    (member,) = form.operands(1)
    return Op(member=member)


def _bar(form: Form) -> Op | list[Op]:
    form.drop("cta")
    if "warp" in form.left:
        return _warp_barrier(form)
    form.drop("aligned")
    kind = form.pick("sync", "red", "arrive")
    if kind == "red":
        return _bar_red(form)
    number, *count = form.operands(*((2,) if kind == "arrive" else (1, 2)))
    reads: tuple[tuple[Operand, str], ...] = ((number, "u32"), *((c, "u32") for c in count))
    detail = ("count",) if count else ()
    return Op(reads, end="arrive" if kind == "arrive" else "barrier", detail=detail)


def _bar_red(form: Form) -> list[Op]:
    """A barrier that reduces a predicate: one op arrives, and the next reads the result."""
    type_ = form.type("pred u32")
    name = form.pick("popc") if type_ == "u32" else form.pick("and", "or")
    d, number, *count, predicate = form.operands(3, 4)
    reads: tuple[tuple[Operand, str], ...] = (
        (number, "u32"),
        *((c, "u32") for c in count),
        (predicate, "pred"),
    )
    detail = ("red", "count") if count else ("red",)

    def result(machine: Machine, lanes: Threads, _mask: Array | None) -> Array:
        popc, voters = machine.barriers.popc[lanes.numbers], machine.barriers.voters[lanes.numbers]
        answers = {"popc": popc.astype(np.uint32), "and": popc == voters, "or": popc > 0}
        result: Array = answers[name]
        return result

    return [Op(reads, end="barrier", detail=detail), Op((), ((d, type_),), result, effect=True)]


def _barrier(form: Form) -> Op | list[Op]:
    if not form.flag("cluster"):
        return _bar(form)
    kind = form.pick("arrive", "wait")
    form.drop("aligned", "release", "relaxed", "acquire")
    form.operands(0)
    return Op(end=f"cluster_{kind}")


def _nop(form: Form) -> Op:
    form.left.clear()
    return Op()


TABLE: dict[str, Builder] = {
    "bra": _bra,
    "brx": _brx,
    "ret": _exit,
    "exit": _exit,
    "trap": _trap,
    "bar": _bar,
    "barrier": _barrier,
    "fence": _fence,
    "membar": _fence,
    "nanosleep": _nothing,
    "griddepcontrol": _nothing,
    "nop": _nop,
    "brkpt": _nothing,
    "pmevent": _nothing,
    "setmaxnreg": _nothing,
}
