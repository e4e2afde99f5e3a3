"""A kernel with its device functions inlined: one flat code list, one register file, variables laid out.

Calls are direct and not recursive. So a call becomes a copy of the callee's code, with its registers renumbered, its
stack parameters bound to the caller's, and ``ret`` as a branch behind the copy. The machine needs no call stack.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ....compiler.errors import error
from . import unsupported
from .limits import CALLS, COPIED, COPIES, short
from .module import Function, Module
from .regions import Region
from .types import Args, Imm, Instruction, Label, Mem, Name, Operand, Pair, Reg, Sink, Special, Sym, Variable, Vec
from .types import Not as Negated


@dataclass
class Frame:
    """One copy of a function: ``base`` is added to its register numbers, ``bound`` maps its variables.

    ``site`` is the call, which stands for what has no line of its own.
    """

    function: Function
    number: int
    base: int
    bound: dict[Variable, Variable]
    site: Instruction | None = None


class Flat:
    """The flat form of one kernel.

    Attributes:
        code: instructions whose labels hold indices into ``code``.
        registers: how many registers there are.
        params, shared, local: the layout of the three spaces.
    """

    def __init__(self, module: Module, kernel: Function) -> None:
        self.module, self.kernel = module, kernel
        self.code: list[Instruction] = []
        self.registers = 0
        self.params, self.shared, self.local = Region(), Region(), Region()
        self._starts: dict[tuple[int, int], int] = {}
        self._frames = self._copied = 0
        self._active: list[str] = []
        self._layout()
        self._expand(Frame(kernel, self._number(), self._grow(kernel), {}))
        self.code = [self._resolved(ins) for ins in self.code]

    def _layout(self) -> None:
        for param in self.kernel.params:
            if isinstance(param, Variable):
                self.params.place(param)
        reachable = [self.kernel, *(f for f in self.module.functions.values() if not f.entry)]
        shared = [v for v in self.module.variables if v.space == "shared"]
        shared += [v for f in reachable for v in f.variables if v.space == "shared"]
        for variable in shared:
            if not variable.external:
                self.shared.place(variable)
        self.shared.place_external(shared)

    def _number(self) -> int:
        self._frames += 1
        return self._frames

    def _grow(self, function: Function) -> int:
        base = self.registers
        self.registers += len(function.registers)
        return base

    def _expand(self, frame: Frame) -> None:
        function = frame.function
        self._active.append(function.name)
        for k, ins in enumerate(function.code):
            self._starts[frame.number, k] = len(self.code)
            if ins.opcode == "call":
                self._call(frame, k, ins)
            elif ins.opcode == "ret" and len(self._active) > 1:
                self._jump(frame, ins, len(function.code), ins.guard, ins.negated)
            else:
                self.code.append(self._renamed(frame, ins))
        self._starts[frame.number, len(function.code)] = len(self.code)
        self._active.pop()

    def _jump(self, frame: Frame, ins: Instruction, to: int, guard: Reg | None, negated: bool) -> None:
        label = Label("", (frame.number,), to)
        moved = self._operand(frame, guard) if guard is not None else None
        assert moved is None or isinstance(moved, Reg)
        self.code.append(Instruction("bra", (), (label,), ins.line, ins.text, moved, negated))

    def _call(self, frame: Frame, k: int, ins: Instruction) -> None:
        operands = [*ins.operands]
        results = operands.pop(0).items if operands and isinstance(operands[0], Args) else ()  # type: ignore[union-attr]
        name = operands.pop(0) if operands else None
        values = operands.pop(0).items if operands and isinstance(operands[0], Args) else ()  # type: ignore[union-attr]
        if not isinstance(name, Name) or operands:
            self._refuse(frame, ins, unsupported.POINTERS)
            return
        callee = self.module.functions.get(name.name)
        if callee is None:
            raise error(
                "WF704", line=ins.line, text=ins.text, kind="function defined in this module", name=short(name.name)
            )
        if not callee.defined:
            self._refuse(frame, ins, f"the function {callee.name!r}, which has no body here")
            return
        if callee.name in self._active:
            self._refuse(frame, ins, "calls that are recursive")
            return
        if (len(results), len(values)) != (len(callee.returns), len(callee.params)):
            want = f"{len(callee.returns)} results and {len(callee.params)} arguments"
            problem = f"expected {want}, got {len(results)} and {len(values)}"
            raise error("WF703", line=ins.line, text=ins.text, problem=problem)
        if ins.guard is not None:
            self._jump(frame, ins, k + 1, ins.guard, not ins.negated)
        self._enter(frame, ins, callee, results, values)

    def _refuse(self, frame: Frame, ins: Instruction, what: str) -> None:
        """Replaces the code of a call that is not supported by an instruction that refuses to run."""
        self.code.append(self._renamed(frame, replace(ins, operands=(), lacks=what)))

    def _enter(
        self, frame: Frame, ins: Instruction, callee: Function, results: Sequence[Operand], values: Sequence[Operand]
    ) -> None:
        self._copied += len(callee.code)
        if len(self._active) > CALLS or self._frames > COPIES or self._copied > COPIED:
            problem = f"expected at most {CALLS} calls, one in another, and {COPIES} in all, of {COPIED} instructions"
            raise error("WF724", line=ins.line, text=ins.text, problem=problem)
        inner = Frame(callee, self._number(), self._grow(callee), {}, ins)
        for formal, actual in zip(callee.params, values, strict=True):
            self._pass(frame, inner, ins, formal, actual, True)
        for formal, actual in zip(callee.returns, results, strict=True):
            if isinstance(formal, Variable) and isinstance(actual, Sym):
                inner.bound[formal] = self._symbol(frame, actual).variable
        self._expand(inner)
        for formal, actual in zip(callee.returns, results, strict=True):
            self._pass(frame, inner, ins, formal, actual, False)

    def _pass(
        self, frame: Frame, inner: Frame, ins: Instruction, formal: Variable | Reg, actual: Operand, inward: bool
    ) -> None:
        """Binds or copies one argument (``inward``) or result."""
        if isinstance(formal, Variable) and isinstance(actual, Sym):
            inner.bound[formal] = self._symbol(frame, actual).variable
            return
        mine = self._operand(frame, actual)
        if isinstance(formal, Reg):
            theirs = self._operand(inner, formal)
            pair = (theirs, mine) if inward else (mine, theirs)
            self.code.append(Instruction("mov", (formal.type,), pair, ins.line, ins.text))
            return
        place = Mem(self._symbol(inner, Sym(formal)), 0)
        if inward:
            self.code.append(Instruction("st", ("local", formal.type), (place, mine), ins.line, ins.text))
        else:
            self.code.append(Instruction("ld", ("local", formal.type), (mine, place), ins.line, ins.text))

    def _renamed(self, frame: Frame, ins: Instruction) -> Instruction:
        if not frame.base and ins.line and all(map(_stays, ins.operands)):
            return ins
        operands = tuple(self._operand(frame, op) for op in ins.operands)
        guard = self._operand(frame, ins.guard) if ins.guard is not None else None
        assert guard is None or isinstance(guard, Reg)
        where = frame.site if not ins.line and frame.site is not None else ins
        return replace(ins, operands=operands, guard=guard, line=where.line, text=where.text)

    def _operand(self, frame: Frame, op: Operand) -> Operand:
        match op:
            case Reg():
                return replace(op, index=op.index + frame.base) if frame.base else op
            case Negated(reg):
                return Negated(replace(reg, index=reg.index + frame.base))
            case Sym():
                return self._symbol(frame, op)
            case Mem(base, offset):
                return Mem(self._operand(frame, base), offset)  # type: ignore[arg-type]
            case Vec(items):
                return Vec(tuple(self._operand(frame, item) for item in items))
            case Args(items):
                return Args(tuple(self._operand(frame, item) for item in items))
            case Pair(first, second):
                return Pair(self._operand(frame, first), self._operand(frame, second))
            case Label():
                return replace(op, scope=(frame.number,))
        return op

    def _symbol(self, frame: Frame, sym: Sym) -> Sym:
        variable = frame.bound.get(sym.variable, sym.variable)
        if variable.space in ("stack", "local") and sym.variable is variable and frame.number > 1:
            # every copy of a function has its own locals
            variable = frame.bound.setdefault(sym.variable, replace(sym.variable))
        region = {"stack": self.local, "local": self.local, "shared": self.shared, "param": self.params}
        where = region[variable.space].place(variable) if variable.space in region else -1
        return Sym(variable, sym.offset, where)

    def _resolved(self, ins: Instruction) -> Instruction:
        if _PLACED.isdisjoint(map(type, ins.operands)):
            return ins
        return replace(ins, operands=tuple(self._placed(op) for op in ins.operands))

    def _placed(self, op: Operand) -> Operand:
        if isinstance(op, Label):
            return replace(op, target=self._starts[op.scope[0], op.target])
        return Args(tuple(self._placed(item) for item in op.items)) if isinstance(op, Args) else op


_PLACED = frozenset((Label, Args))
"""The operands that have a target, or hold such operands."""


def _stays(op: Operand) -> bool:
    """Whether an operand of a kernel, whose registers keep their numbers, names neither a variable nor a label."""
    return type(op.base if type(op) is Mem else op) in (Reg, Imm, Special, Negated, Sink)
