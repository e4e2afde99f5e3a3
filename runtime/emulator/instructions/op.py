"""Ops, and forms to build them: an ``Op`` has typed reads, typed writes and a function; a ``Form`` reads modifiers.

A builder takes a ``Form`` and returns the op. It must take every modifier: a modifier left over, an operand too many or
a type that does not fit is an error. So an instruction is run as written or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ....compiler.errors import WarpfoldError, error
from ..ptx.types import WIDTH, Array, Instruction, Operand

Run = Callable[..., Any]
LEAST_BY_BITS = 1 << 10
"""From so many threads on, a choice by bits takes less time."""


@dataclass(eq=False)  # a frozen one takes three times as long to make
class Op:
    """One executable step.

    Attributes:
        reads: operands and the type each is viewed as.
        writes: destinations and the type of each result array.
        run: ``run(*values)``, or ``run(machine, lanes, mask, *values)`` when ``effect``.
        effect: it touches memory or needs the lanes; under a guard it gets the mask of the guarded lanes.
        member: the membermask operand; the op starts a block and waits until the masked lanes are there.
        end: it ends a block: branch, table, exit, barrier, arrive, cluster_arrive, cluster_wait, trap.
        targets: for a branch or table, the indices of the instructions it may go to.
        detail: words the scheduler reads, such as ``count`` for a barrier that names its number of threads.
        fault: for a trap, the code of the error and its facts.
    """

    reads: tuple[tuple[Operand, str], ...] = ()
    writes: tuple[tuple[Operand, str], ...] = ()
    run: Run | None = None
    effect: bool = False
    member: Operand | None = None
    end: str = ""
    targets: tuple[int, ...] = ()
    detail: tuple[str, ...] = ()
    fault: tuple[str, dict[str, object]] = ("", {})


Builder = Callable[["Form"], "Op | list[Op]"]


@dataclass
class Form:
    """An instruction while a builder takes it apart; ``left`` holds the modifiers that are not taken yet."""

    ins: Instruction
    left: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.left = list(self.ins.mods)

    def fail(self, problem: str) -> WarpfoldError:
        """The error for a form of a known opcode that is illegal or not supported."""
        return error("WF703", line=self.ins.line, text=self.ins.text, problem=problem)

    def flag(self, name: str) -> bool:
        """Takes the modifier ``name`` if it is there."""
        if name in self.left:
            self.left.remove(name)
            return True
        return False

    def pick(self, *names: str, default: str | None = None) -> str:
        """Takes the first modifier that is one of ``names``."""
        for mod in self.left:
            if mod in names:
                self.left.remove(mod)
                return mod
        if default is None:
            raise self.fail(f"expected one of .{', .'.join(names)}")
        return default

    def drop(self, *names: str) -> None:
        """Takes modifiers that change nothing here, such as cache hints."""
        self.left = [mod for mod in self.left if mod not in names]

    def type(self, allowed: str) -> str:
        """Takes the last modifier, which must be a type in the space-separated ``allowed``."""
        if not self.left or self.left[-1] not in allowed.split():
            got = "." + self.left[-1] if self.left else "none"
            raise self.fail(f"expected a type .{', .'.join(allowed.split())}, got {got}")
        return self.left.pop()

    def operands(self, *counts: int) -> tuple[Operand, ...]:
        """All operands, after checking their number and that no modifier is left."""
        if self.left:
            raise self.fail(f"expected no modifier .{self.left[0]} here")
        if len(self.ins.operands) not in counts:
            expected = " or ".join(str(c) for c in counts)
            raise self.fail(f"expected {expected} operands, got {len(self.ins.operands)}")
        return self.ins.operands

    def operand(self, at: int) -> Operand:
        """One operand, before their number is checked; from the end if ``at`` is negative."""
        given = self.ins.operands
        if not -len(given) <= at < len(given):
            raise self.fail(f"expected more operands, got {len(given)}")
        return given[at]

    def pure(self, run: Run, result: str, *types: str) -> Op:
        """The op of a side-effect-free instruction: one result, then one operand for each of ``types``."""
        first, *rest = self.operands(1 + len(types))
        return Op(tuple(zip(rest, types, strict=True)), ((first, result),), run)


def typed(types: str, run_of: Callable[[str], Run], operands: str, result: str = "t") -> Builder:
    """The builder of a side-effect-free opcode of one type, out of ``types``, for which ``run_of`` gives the function.

    Among the types of ``operands`` and ``result`` that type is ``t``, and the unsigned one of its width ``u``.
    """

    def build(form: Form) -> Op:
        type_ = form.type(types)
        named = {"t": type_, "u": f"u{WIDTH[type_]}"}
        return form.pure(run_of(type_), named.get(result, result), *(named.get(o, o) for o in operands.split()))

    return build


def always(run: Run) -> Callable[[str], Run]:
    """The same function for every type."""
    return lambda _: run


def broadcast(value: Array, n: int) -> Array:
    """``value`` (one element or ``n``) as ``n`` elements."""
    return value if value.shape[0] == n else np.broadcast_to(value, (n, *value.shape[1:]))


def choose(flags: Array, a: Array, b: Array) -> Array:
    """``a`` where ``flags`` are set, ``b`` elsewhere.

    Of many words it takes the bits: NumPy's choice branches, and takes ten times as long where flags vary.
    """
    if flags.size < LEAST_BY_BITS or a.dtype.kind not in "uif":
        return np.where(flags, a, b)
    words = np.dtype(f"u{a.itemsize}")
    other = b.view(words)
    bits: Array = (a.view(words) ^ other) * flags
    bits ^= other
    return bits.view(a.dtype)


def spread(values: Sequence[Array]) -> list[Array]:
    """All values, broadcast to the length of the longest."""
    n = max(v.shape[0] for v in values)
    return [broadcast(v, n) for v in values]
