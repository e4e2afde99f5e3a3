"""mbarrier: barriers that are words in shared memory and count arrivals and bytes, phase after phase.

The word is opaque to a program. Here it holds, from bit 0: the parity of the phase, 20 bits of pending arrivals, 20
bits of arrivals expected in each phase, 21 bits of bytes still expected (two's complement), and 2 bits that tell a
barrier from other memory. A wait never blocks: a program spins on it, and the spin detector reports a spin without end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..machine.address_resolution import Access, locate, pieces_of
from ..machine.copy_engine import Copy, engine, joined, positions
from ..machine.threads import Threads
from ..ptx.types import Array, Instruction, Operand, Sink
from .load_store import SCOPES, shared_access, unit_of
from .op import Builder, Form, Op, broadcast

if TYPE_CHECKING:
    from ..machine.machine import Machine

_COUNT = (1 << 20) - 1  # most arrivals, and most bytes
_BYTES = (1 << 21) - 1
_MARK = 0b10
_SIZE = 8


class MisuseError(Exception):
    """The error for behaviour that the ISA leaves undefined; the text says what was expected and what came."""


@dataclass(frozen=True)
class State:
    """A barrier whose phase still lacks ``pending`` of ``expected`` arrivals, and ``bytes_`` bytes."""

    parity: int
    pending: int
    expected: int
    bytes_: int = 0

    @staticmethod
    def read(word: int) -> State:
        """The state that a word holds."""
        if word >> 62 != _MARK:
            raise MisuseError("expected an mbarrier that mbarrier.init made, got memory that holds none")
        bytes_ = word >> 41 & _BYTES
        return State(word & 1, word >> 1 & _COUNT, word >> 21 & _COUNT, bytes_ - (bytes_ >> 20 << 21))

    @staticmethod
    def due(word: int, most: int, count: int) -> int:
        """How many of ``most`` arrivals of ``count`` bytes it takes to end the phase of the barrier ``word``."""
        if word >> 62 != _MARK:
            return most
        state = State.read(word)
        return most if state.pending or state.bytes_ <= 0 else min(most, -(-state.bytes_ // count))

    @property
    def word(self) -> int:
        """The word that holds the state."""
        return self.parity | self.pending << 1 | self.expected << 21 | (self.bytes_ & _BYTES) << 41 | _MARK << 62

    def arrive(self, count: int, *, drop: bool = False, completes: bool = True) -> State:
        """Takes ``count`` arrivals; with ``drop`` later phases do not expect them."""
        if not 1 <= count <= self.pending:
            raise MisuseError(f"expected 1 to {self.pending} more arrivals in this phase, got {count}")
        if not completes and count == self.pending:
            raise MisuseError(f"expected .noComplete to leave arrivals to come, got all {count} that were pending")
        return replace(self, pending=self.pending - count, expected=self.expected - count * drop)._turned()

    def expect(self, bytes_: int) -> State:
        """Expects ``bytes_`` more bytes; a negative number has arrived."""
        total = self.bytes_ + bytes_
        if abs(total) > _COUNT:
            raise MisuseError(f"expected at most {_COUNT} bytes under way, got {total}")
        return replace(self, bytes_=total)

    def come(self, bytes_: int) -> State:
        """Takes ``bytes_`` bytes that have arrived."""
        return self.expect(-bytes_)._turned()

    def _turned(self) -> State:
        """Begins the next phase if nothing is missing."""
        if self.pending or self.bytes_:
            return self
        return State(self.parity ^ 1, self.expected, self.expected)


Step = Callable[..., int]
"""A function from the old word and the operands of one thread to the new word."""


def _change(
    access: Access, machine: Machine, lanes: Threads, chosen: Array, addresses: Array, step: Step, *values: Array
) -> Array:
    """Applies ``step`` to the barriers of the chosen threads, one after another; returns the old words."""
    found = np.zeros(chosen.size, np.uint64)
    for view, index, where, _ in locate(access, machine, lanes, chosen, addresses):
        for k, at in zip(np.arange(chosen.size)[where], index, strict=True):
            found[k] = view[at]
            try:
                view[at] = step(int(found[k]), *(int(v[k]) for v in values))
            except MisuseError as misuse:
                thread = int(lanes.numbers[chosen[k]])
                raise machine.launch.located("WF722", access.ins, machine, thread, problem=str(misuse)) from None
    return found


def _indices(access: Access, machine: Machine, lanes: Threads, chosen: Array, addresses: Array) -> Array:
    """The indices in shared memory, in units of 8 bytes, of the barriers of the chosen threads."""
    out = np.zeros(chosen.size, np.int64)
    for _, index, where, _ in locate(access, machine, lanes, chosen, addresses):
        out[where] = index
    return out


def _ordered(form: Form) -> None:
    """Takes the type, and the order and scope, which have no effect: threads run in one order here."""
    form.type("b64")
    form.drop("relaxed", "acquire", "release", *SCOPES)


class _Update:
    """Runs an instruction that changes barriers; returns the old words."""

    def __init__(self, access: Access, step: Step) -> None:
        self.access, self.step = access, step

    def __call__(self, machine: Machine, lanes: Threads, mask: Array | None, addresses: Array, *values: Array) -> Array:
        chosen = positions(lanes, mask)
        out = np.zeros(lanes.n, np.uint64)
        addresses, *rest = (broadcast(v, lanes.n)[chosen] for v in (addresses, *values))
        if chosen.size:
            out[chosen] = _change(self.access, machine, lanes, chosen, addresses, self.step, *rest)
        return out


def _updating(
    form: Form, target: Operand, step: Step, *values: Operand, dest: Operand | None = None, verb: str = "updated"
) -> Op:
    access, base = shared_access(form, target, _SIZE, verb)
    form.operands(len(form.ins.operands))
    reads: tuple[tuple[Operand, str], ...] = ((base, "addr"), *((v, "u32") for v in values))
    return Op(reads, () if dest is None else ((dest, "b64"),), _Update(access, step), effect=True)


def _init(form: Form) -> Op:
    def step(_word: int, count: int) -> int:
        if not 1 <= count <= _COUNT:
            raise MisuseError(f"expected a count of 1 to {_COUNT}, got {count}")
        return State(0, count, count).word

    _ordered(form)
    target, count = _count_operands(form, 2)
    return _updating(form, target, step, count, verb="written")


def _inval(form: Form) -> Op:
    def step(word: int) -> int:
        State.read(word)
        return 0

    _ordered(form)
    (target,) = _count_operands(form, 1)
    return _updating(form, target, step)


def _count_operands(form: Form, *counts: int) -> tuple[Operand, ...]:
    operands = form.ins.operands
    if len(operands) not in counts:
        raise form.fail(f"expected {' or '.join(map(str, counts))} operands, got {len(operands)}")
    return operands


def _arrive(form: Form, drop: bool) -> Op:
    _ordered(form)
    expects, completes = form.flag("expect_tx"), not form.flag("noComplete")
    dest, target, *count = _count_operands(form, *((3,) if expects or not completes else (2, 3)))
    if "shared::cluster" in form.left and not isinstance(dest, Sink):
        raise form.fail("expected _ as the state of an mbarrier in the cluster's shared memory")

    def step(word: int, value: int = 1) -> int:
        state = State.read(word)
        if expects:
            return state.expect(value).arrive(1, drop=drop).word
        return state.arrive(value, drop=drop, completes=completes).word

    return _updating(form, target, step, *count, dest=dest)


def _transaction(form: Form, comes: bool) -> Op:
    _ordered(form)
    target, count = _count_operands(form, 2)

    def step(word: int, bytes_: int) -> int:
        state = State.read(word)
        return (state.come(bytes_) if comes else state.expect(bytes_)).word

    return _updating(form, target, step, count)


def _wait(form: Form, hinted: bool) -> Op:
    """test_wait and try_wait: whether the phase of a token, or of a parity, is over. Neither blocks."""
    _ordered(form)
    by_parity = form.flag("parity")
    d, target, phase, *_ = _count_operands(form, *((3, 4) if hinted else (3,)))
    access, base = shared_access(form, target, _SIZE, "read")
    form.operands(len(form.ins.operands))

    def run(machine: Machine, lanes: Threads, mask: Array | None, addresses: Array, phase: Array) -> Array:
        chosen = positions(lanes, mask)
        out = np.zeros(lanes.n, bool)
        if not chosen.size:
            return out
        addresses = broadcast(addresses, lanes.n)[chosen]
        if engine(machine).arrivals:
            parities = (broadcast(phase, lanes.n)[chosen] & 1).tolist()
            indices = _indices(access, machine, lanes, chosen, addresses).tolist()
            for index, parity in dict.fromkeys(zip(indices, parities, strict=True)):
                engine(machine).settle(index, partial(_is_over, machine.view("shared", access.unit), index, parity))
        words = _change(access, machine, lanes, chosen, addresses, lambda word: State.read(word).word)
        out[chosen] = ((words ^ broadcast(phase, lanes.n)[chosen]) & np.uint64(1)).astype(bool)
        return out

    return Op(((base, "addr"), (phase, "u32" if by_parity else "b64")), ((d, "pred"),), run, effect=True)


def _is_over(words: Array, index: int, parity: int) -> bool:
    """Whether the phase of a parity is over for the barrier at ``index``."""
    return int(words[index]) & 1 != parity


def _pending_count(form: Form) -> Op:
    form.type("b64")
    return form.pure(lambda word: (word >> np.uint64(1)).astype(np.uint32) & np.uint32(_COUNT), "u32", "b64")


def complete_later(
    machine: Machine, copy: Copy, ins: Instruction, threads: Array, addresses: Array, sizes: Array
) -> None:
    """Lets a copy arrive when somebody looks at the barriers, one of ``addresses`` for each of ``threads``.

    Each thread has ``sizes`` elements of the copy. Bytes that come when the phase is over come later.
    """
    access = Access(ins, "shared", 0, _SIZE, unit_of(_SIZE), "updated")
    own, every = Threads(threads, machine.total, machine.per_cta), np.arange(threads.size)
    (piece,) = pieces_of(access, machine, own, every, addresses)  # nobody has touched them yet
    indices = np.broadcast_to(piece.index, threads.shape)
    waiting = engine(machine).arrivals
    if (indices[1:] < indices[:-1]).any():
        order = np.argsort(indices, kind="stable")
        copy = copy.part(np.argsort(np.repeat(np.argsort(order), sizes), kind="stable"))
        threads, addresses, sizes, indices = threads[order], addresses[order], sizes[order], indices[order]
    ends = np.flatnonzero((indices[1:] != indices[:-1]) | (sizes[1:] != sizes[:-1])) + 1
    last = np.concatenate([[0], np.cumsum(sizes)])
    for first, end in zip([0, *ends.tolist()], [*ends.tolist(), threads.size], strict=True):
        part = copy if end - first == threads.size else copy.part(slice(int(last[first]), int(last[end])))
        queue = waiting.setdefault(int(indices[first]), [])
        made = _Coming(machine, access, int(indices[first]), int(sizes[first]))
        if not queue or not made.joins(queue[-1], part):
            queue.append(made)
        queue[-1].parts.append((part, threads[first:end], addresses[first:end]))  # type: ignore[attr-defined]


@dataclass(eq=False)
class _Coming:
    """Bytes under way that the barrier at ``index`` counts: ``size`` elements of a copy for each of some threads."""

    machine: Machine
    access: Access
    index: int
    size: int
    parts: list[tuple[Copy, Array, Array]] = field(default_factory=list)

    def joins(self, other: object, part: Copy) -> bool:
        """Whether ``part`` of the same instruction can come together with what ``other`` holds."""
        same = isinstance(other, _Coming) and (other.access.ins, other.size) == (self.access.ins, self.size)
        return same and part.follows(other.parts[-1][0])  # type: ignore[attr-defined]

    def __call__(self) -> None:
        """Writes the bytes that the current phase of the barrier waits for, and counts them."""
        copies = engine(self.machine).bulk
        copies_, threads_, addresses_ = zip(*self.parts, strict=True)
        copy, threads, addresses = joined(copies_), np.concatenate(threads_), np.concatenate(addresses_)
        count = self.size * copy.access.size
        word = int(self.machine.view("shared", self.access.unit)[self.index])
        due = State.due(word, threads.size, count) if count else threads.size
        copies.write(copy.part(slice(0, due * self.size)))
        own = np.unique(threads[:due])
        lanes = Threads(own, self.machine.total, self.machine.per_cta)
        chosen, step = np.searchsorted(own, threads[:due]), lambda w: State.read(w).come(count).word
        _change(self.access, self.machine, lanes, chosen, addresses[:due], step)
        if due < threads.size:
            rest = copy.part(slice(due * self.size, None)), threads[due:], addresses[due:]
            engine(self.machine).arrivals[self.index].insert(0, replace(self, parts=[rest]))


def after_copies(form: Form) -> Op:
    """cp.async.mbarrier.arrive: an arrival once the copies that the thread has asked for are complete."""
    form.pick("arrive")
    form.type("b64")
    counted_in = form.flag("noinc")
    (target,) = _count_operands(form, 1)
    access, base = shared_access(form, target, _SIZE, "updated")
    form.operands(1)

    def run(machine: Machine, lanes: Threads, mask: Array | None, addresses: Array) -> None:
        chosen = positions(lanes, mask)
        if not chosen.size:
            return
        addresses = broadcast(addresses, lanes.n)[chosen]
        if not counted_in:
            _change(access, machine, lanes, chosen, addresses, _one_more)
        indices = _indices(access, machine, lanes, chosen, addresses)
        for index in np.unique(indices):
            here = indices == index
            action = _arrival(access, machine, lanes.numbers[chosen[here]], addresses[here])
            engine(machine).arrivals.setdefault(int(index), []).append(action)

    return Op(((base, "addr"),), (), run, effect=True)


def _one_more(word: int) -> int:
    state = State.read(word)
    return replace(state, pending=state.pending + 1).word


def _arrival(access: Access, machine: Machine, threads: Array, addresses: Array) -> Callable[[], None]:
    """Completes the copies that ``threads`` have asked for so far, then lets the threads arrive."""
    copies = engine(machine).single
    last, own = copies.made, Threads(threads, machine.total, machine.per_cta)
    every = np.arange(threads.size)

    def action() -> None:
        copies.arrive(lambda copy: np.isin(copy.threads, threads) & (copy.number < last))
        _change(access, machine, own, every, addresses, lambda word: State.read(word).arrive(1).word)

    return action


_FORMS: dict[str, Builder] = {
    "init": _init,
    "inval": _inval,
    "arrive": lambda form: _arrive(form, False),
    "arrive_drop": lambda form: _arrive(form, True),
    "expect_tx": lambda form: _transaction(form, False),
    "complete_tx": lambda form: _transaction(form, True),
    "test_wait": lambda form: _wait(form, False),
    "try_wait": lambda form: _wait(form, True),
    "pending_count": _pending_count,
}


def _mbarrier(form: Form) -> Op | list[Op]:
    name = form.left[0] if form.left else ""
    if name not in _FORMS:
        raise form.fail(f"expected one of .{', .'.join(_FORMS)}")
    form.left.pop(0)
    return _FORMS[name](form)


TABLE: dict[str, Builder] = {"mbarrier": _mbarrier}
