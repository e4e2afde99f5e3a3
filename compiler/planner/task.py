"""What the planner is asked, what the answer is, and what there is to know of the question before any choice.

A ``Task`` answers each question about its program, its operands and its machine once. The modules of the planner ask
the task, and not each other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from ..dtypes import BIT, NUMBER, DType
from ..lazy import lazy
from ..plan.facts import Facts
from ..plan.fields import Access, Determinism
from ..plan.launch import Launch
from ..plan.plan import Plan
from ..program.analysis.anchors import sums_of
from ..program.analysis.atomic import operation
from ..program.analysis.cost import lifted, operations
from ..program.graph import MonoidGraph, Program, node, walk
from ..program.words import is_word
from ..space.geometry import Geometry
from ..target import Target
from . import alignment, sittings
from .powers_of_two import ceil2
from .table import threshold

PORTABLE_SMS = threshold(128, "multiprocessors", sittings.FEW_PLANS)
"""Portable plans are made for a machine of this size, that of large GPUs, so that none is left half empty."""
LARGE_ELEMENTS = threshold(1 << 22, "elements", sittings.COPIES)
"""An array of this many elements and more gets kernels of its own layout: a launch costs little beside reading it."""
HUGE = 2**31 - 2**24 - 2**20
"""Elements of an array that may take offsets of 64 bits."""
FILLING_WARPS = threshold(8, "warps per SM", sittings.FEW_PLANS)
"""These fill the machine: where results at a warp each are fewer, each gets more threads."""
LONG_COMBINE = threshold(16, "instructions of a combine", sittings.ANCHORED)
"""From here on a combine is long: threads would spend their time on what each of them does once."""
VERY_LONG_COMBINE = threshold(20, "instructions of a combine", sittings.ANCHORED)
"""From here on a combine costs so much that there is little to gain from how elements are read."""
KEYED_ELEMENTS = threshold({1: 16, 2: 256}, "elements of a result, by bytes of an element", sittings.NUMBERED)
"""From here on, columns of an argmin or argmax make words of rank and number of the chosen elements alone."""

LIST_PARTS = threshold(4, "parts of a state", sittings.LISTS)
"""A state of which an element gives at most one of these is a list: the elements of a step take few registers."""


_AS_OF_BITS: dict[Access, Access] = {"bits": "aligned", "bits_across": "uniform", "bits_strided": "strided"}
"""What an access to bits is for a plan: they go along with other elements that are read so, or with any."""


@dataclass
class Choice:
    """A plan with everything derived from it.

    Attributes:
        plan, facts, run: what is compiled, and launched.
        reasons: why each extent is what it is, in words.
        rejected: (alternative, why not) in words.
    """

    plan: Plan
    facts: Facts
    run: Launch
    reasons: list[str] = field(default_factory=list)
    rejected: list[tuple[str, str]] = field(default_factory=list)

    @property
    def for_any_size(self) -> Choice:
        """The same plan for a kernel that also serves larger arrays: its walks have loops."""
        return replace(self, facts=replace(self.facts, once=False))


class Notes:
    """The reasons that the planner collects.

    Attributes:
        reasons: each with the fields of the plan that it explains; ``parts`` are the CTAs that share a result.
        rejected: (field=value, why not).
    """

    def __init__(self) -> None:
        self.reasons: list[tuple[str, tuple[str, ...]]] = []
        self.rejected: list[tuple[str, str]] = []

    def because(self, reason: str, *fields: str) -> None:
        """Notes a reason for the values of ``fields``."""
        self.reasons.append((reason, fields))

    def forget(self, fields: set[str]) -> None:
        """Drops what explains ``fields``, since another rule has decided them."""
        self.reasons = [(reason, about) for reason, about in self.reasons if not fields.intersection(about)]
        self.rejected = [(what, why) for what, why in self.rejected if what.partition("=")[0] not in fields]


@dataclass(frozen=True)
class Task:
    """What the planner is asked: a program over a geometry, with operand addresses and a machine.

    Attributes:
        program, geometry: what to reduce.
        addresses: the byte address of each operand's first element; only its offset modulo ``WIDEST`` matters.
        target, sms: the machine.
        determinism: what the bits of a result may depend on: on the arrays and the machine (``run``), on shape, strides
            and types alone (``portable``), or also on the order in which CTAs end (``none``).
        inner: the elements of a part of a row of whose sections the program leaves states; 0 where it leaves none.
        few: whether plans are chosen from a menu, so that arrays of many sizes share few kernels (``few.py``).
    """

    program: Program
    geometry: Geometry
    addresses: tuple[int, ...]
    target: Target
    sms: int
    determinism: Determinism = "run"
    inner: int = 0
    few: bool = False

    # --- the machine ---
    @property
    def is_portable(self) -> bool:
        """Whether the plan must depend neither on the device nor on addresses."""
        return self.determinism == "portable"

    @property
    def machine(self) -> int:
        """Multiprocessors to plan for."""
        return PORTABLE_SMS if self.is_portable else self.sms

    # --- elements and states ---
    @property
    def monoid(self) -> MonoidGraph:
        """The monoid of the program's one reduction."""
        return self.program.monoid

    @property
    def reads_bits(self) -> bool:
        """Whether an input is one of bits."""
        return BIT in self.program.inputs

    @property
    def needs_ordinary(self) -> bool:
        """Whether an input is one of bits, or a number: such are read in ordinary accesses alone."""
        return not {BIT, NUMBER}.isdisjoint(self.program.inputs)

    @lazy
    def itemsize(self) -> int:
        """Bytes of the widest input element; an input with one element for each result counts only beside no other."""
        inputs = enumerate(self.program.inputs)
        moving = [t for i, t in inputs if any(d.strides[i] for d in self.geometry.reduced)]
        return max((t.itemsize for t in moving or self.program.inputs), default=4)

    @lazy
    def result_bytes(self) -> int:
        """Bytes of the widest result."""
        return max(o.dtype.itemsize for o in self.program.outputs)

    @lazy
    def state_bytes(self) -> int:
        """Bytes of one monoid state."""
        return sum(t.itemsize for t in self.monoid.state)

    @lazy
    def state_registers(self) -> int:
        """32-bit registers that one monoid state takes."""
        return sum(-(-t.itemsize // 4) for t in self.monoid.state)

    @lazy
    def element_registers(self) -> int:
        """32-bit registers of a state that each element of an access has to itself."""
        own = (t for k, t in enumerate(self.monoid.state) if k not in self.program.shared)
        return max(1, sum(-(-t.itemsize // 4) for t in own))

    @lazy
    def own_registers(self) -> int:
        """32-bit registers of the values of a state that an element gives; the others are constants."""
        own = (e for e in self.program.reduces[0].args if e.op != "const")
        return max(1, sum(-(-e.dtype.itemsize // 4) for e in own))

    @lazy
    def folds_lists(self) -> bool:
        """Whether an element gives at most one of LIST_PARTS of a state, as to a list of which it is the only entry."""
        return self.state_registers >= LIST_PARTS * self.own_registers

    @lazy
    def has_simple_state(self) -> bool:
        """Whether states have one value, and no element is numbered."""
        return len(self.monoid.state) == 1 and not self.program.uses_index

    @lazy
    def has_wide_state(self) -> bool:
        """Whether states take several registers or are numbered, of elements that are wider than a byte."""
        return (self.state_registers > 1 or self.program.uses_index) and self.itemsize > 1

    @lazy
    def has_words(self) -> bool:
        """Whether elements are 32-bit words, and states one register."""
        return self.itemsize == 4 and self.state_registers == 1 and self.has_simple_state

    # --- the combine ---
    @lazy
    def combine_cost(self) -> int:
        """Instructions of one combine, roughly."""
        return operations(self.monoid)

    @lazy
    def lift_cost(self) -> int:
        """Instructions that make of an element what is combined, roughly."""
        return lifted(self.program)

    @property
    def has_long_combine(self) -> bool:
        """Whether a combine takes LONG_COMBINE instructions or more."""
        return self.combine_cost >= LONG_COMBINE

    @property
    def has_very_long_combine(self) -> bool:
        """Whether a combine takes VERY_LONG_COMBINE instructions or more."""
        return self.combine_cost >= VERY_LONG_COMBINE

    @lazy
    def is_anchored(self) -> bool:
        """Whether states have sums relative to an anchor, so that several come together at once."""
        return bool(sums_of(self.monoid.combine, node))

    @lazy
    def approximates(self) -> bool:
        """Whether a combine computes approximate functions."""
        return any(e.value == "fast" for e in walk(self.monoid.combine))

    @lazy
    def adds_bytes(self) -> bool:
        """Whether elements are bytes that are added, four of a word at a time."""
        return self.itemsize == 1 and operation(self.monoid) == "add"

    @lazy
    def joins_truths(self) -> bool:
        """Whether elements are bytes of which any or all are true, and those of a word are joined at a time."""
        return self.itemsize == 1 and operation(self.monoid) in ("and", "or")

    @lazy
    def compares_bytes(self) -> bool:
        """Whether elements are bytes of which the extreme is taken, two at a time."""
        return self.itemsize == 1 and operation(self.monoid) in ("min", "max") and not self.program.uses_index

    @lazy
    def combines_words(self) -> bool:
        """Whether elements are bytes, and those of a word are combined at once."""
        return self.adds_bytes or self.joins_truths or self.compares_bytes

    @lazy
    def _takes_least_number(self) -> bool:
        words = self.program.uses_index and len(self.monoid.state) == 1 and is_word(self.program.reduces[0].args[0])
        return words and bool(self.geometry.numbers)

    def is_ranked(self, axis: str) -> bool:
        """Whether the program takes the least word of rank and number, and lanes along ``axis`` make one a step.

        Such words are made if the numbers go up along the walk, or down (``passes/words/narrow_argmin.py``).
        """
        many = axis == "reduced" or self.geometry.n_reduced >= KEYED_ELEMENTS.get(self.itemsize, math.inf)
        return self._takes_least_number and many

    def is_keyed(self, axis: str) -> bool:
        """Whether the task is ranked along ``axis``, and its elements are so narrow that they have keys."""
        return self.itemsize in KEYED_ELEMENTS and self.is_ranked(axis)

    @lazy
    def ranks_bytes(self) -> bool:
        """Whether rows are ranked, and elements are bytes."""
        return self.itemsize == 1 and self.is_keyed("reduced")

    # --- the layout ---
    @lazy
    def is_large(self) -> bool:
        """Whether an array is so large that kernels of its own pay for its layout."""
        return self.geometry.n_kept * self.geometry.n_reduced >= LARGE_ELEMENTS

    @lazy
    def is_huge(self) -> bool:
        """Whether an array may take offsets of 64 bits."""
        g = self.geometry
        rows = 2 * g.n_reduced if self.program.reads_again else g.n_reduced
        return rows >= HUGE or any(abs(b) >= HUGE for i in range(len(g.offsets)) for b in g.span(i))

    @lazy
    def has_few_results(self) -> bool:
        """Whether results do not fill the machine at a warp each."""
        return self.geometry.n_kept < FILLING_WARPS * self.machine

    @lazy
    def ranks(self) -> tuple[int, int]:
        """Kept and reduced dims that a kernel has: one of few pairs, since each is a kernel of its own.

        One dim of each kind costs nothing; beyond, every dim costs a division a thread (kept) or an access (reduced).
        Large arrays get kernels of just their dims.
        """
        kept, reduced = len(self.geometry.kept), len(self.geometry.reduced)
        if kept <= 1 and reduced <= 1 and not (self.few and self.is_huge):
            return 1, 1
        if kept <= 3 and reduced <= 3:
            return (max(1, kept), max(1, reduced)) if self.is_large and not self.few else (3, 3)
        each = max(8, ceil2(max(kept, reduced)))
        return each, each

    def operand_type(self, operand: int) -> DType:
        """Element type of an input or output."""
        inputs = self.program.inputs
        return inputs[operand] if operand < len(inputs) else self.program.outputs[operand - len(inputs)].dtype

    def start(self, operand: int) -> int:
        """The byte address at which the walk of an input or output starts."""
        return self.addresses[operand] + self.operand_type(operand).nbytes(self.geometry.offsets[operand])

    def access(self, operand: int, axis: str, vector: int, *, runs: bool = False) -> Access:
        """How ``vector`` elements of an input along ``axis`` can be read, now that its address is known."""
        return self._access(operand, axis, vector, self.start(operand), runs=runs)

    def accesses(self, axis: str, vector: int, *, runs: bool = False) -> frozenset[Access]:
        """How inputs can be read, as far as a plan may know it: a portable one does not know their addresses.

        Where these then allow no vectors, a thread reads the same elements one by one, and the tree is the same.
        Rows of several reduced dims can be shifted only where they are read as ``runs``. Inputs that are the same along
        the axis are read in any way.
        """
        key = axis, vector, runs
        if key not in self._accesses:
            starts = [0 if self.is_portable else self.start(i) for i in range(len(self.program.inputs))]
            found = {self._access(i, axis, vector, start, runs=runs) for i, start in enumerate(starts)}
            found = {_AS_OF_BITS.get(kind, kind) for kind in found}
            self._accesses[key] = frozenset(found - {"uniform", "number"} or {"strided"})
        return self._accesses[key]

    @lazy
    def _accesses(self) -> dict[tuple[str, int, bool], frozenset[Access]]:
        return {}

    def _access(self, operand: int, axis: str, vector: int, start: int, *, runs: bool) -> Access:
        if self.operand_type(operand) == NUMBER:
            return "number"
        if self.operand_type(operand) == BIT:
            cut = not {"shifted", "unaligned"}.isdisjoint(self._others(axis, vector, runs=runs))
            return alignment.access_of_bits(self.geometry, operand, axis, vector, others_cut=cut)
        item = self.operand_type(operand).itemsize
        fixed = self.is_portable
        shifts = not fixed and len(self._arrays) == 1 and (runs or self.ranks[1] == 1)
        funnels = not fixed and max(self.ranks) <= 3
        return alignment.access(self.geometry, operand, item, axis, vector, start, shifts=shifts, funnels=funnels)

    @lazy
    def _arrays(self) -> list[int]:
        """The inputs that are neither bits nor numbers."""
        return [i for i, t in enumerate(self.program.inputs) if t not in (BIT, NUMBER)]

    def _others(self, axis: str, vector: int, *, runs: bool) -> frozenset[Access]:
        """How the inputs beside bits can be read, as far as a plan may know it."""
        starts = {i: 0 if self.is_portable else self.start(i) for i in self._arrays}
        return frozenset(self._access(i, axis, vector, start, runs=runs) for i, start in starts.items())

    def is_aligned(self, axis: str, vector: int) -> bool:
        """Whether all inputs can be read by ``vector`` elements along ``axis``, in aligned accesses."""
        return self.accesses(axis, vector) == {"aligned"}

    def is_cut(self, vector: int) -> bool:
        """Whether vectors along several kept dims are cut where the innermost dim ends, and read all the same."""
        g = self.geometry
        return len(g.kept) > 1 and g.columns % vector != 0 and "strided" not in self.accesses("kept", vector)
