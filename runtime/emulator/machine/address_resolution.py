"""Resolves addresses to elements of memory arrays, or raises the error that says what is wrong with them.

Gathers values from memory and scatters them, for instructions that move more than their own thread's element.

Loads whose threads read elements that follow each other in rows, which lie evenly: seen without indices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..instructions.op import broadcast
from ..ptx.types import Array, Instruction
from ..tool import Touch
from .address_map import LOCAL_WINDOW, PARAM_WINDOW, RANK_SHIFT, SHARED_WINDOW, WINDOW_BITS, WINDOW_MASK
from .threads import WARP, Threads

if TYPE_CHECKING:
    from .machine import Machine
    from .memory import Allocation


_WINDOW_SPACES = {
    SHARED_WINDOW >> WINDOW_BITS: "shared",
    LOCAL_WINDOW >> WINDOW_BITS: "local",
    PARAM_WINDOW >> WINDOW_BITS: "param",
}


_ALL = slice(None)


@dataclass(frozen=True, eq=False)
class Access:
    """The static facts of a memory instruction.

    Attributes:
        space: global, shared, local, param, const or generic.
        offset: bytes added to every address.
        size: bytes each thread touches; ``unit`` is a dtype of that size.
        verb: read, written or updated, for messages.
    """

    ins: Instruction
    space: str
    offset: int
    size: int
    unit: np.dtype[Any]
    verb: str


class Piece(NamedTuple):
    """The elements of one memory array at some of the addresses of an access.

    Attributes:
        view, index: the array, in elements of the access's unit, and the indices of the elements.
        where: the positions of these addresses among those of the access.
        home: the allocation, in global memory.
    """

    view: Array
    index: Array  # type: ignore[assignment]  # hides tuple.index, which nobody calls
    where: Array | slice
    home: Allocation | None = None


def locate(
    access: Access,
    machine: Machine,
    lanes: Threads,
    chosen: Array | None,
    addresses: Array,
    values: Array | None = None,
) -> list[Piece]:
    """The elements at ``addresses`` (int64), one for each chosen thread; ``chosen`` are positions in ``lanes``.

    One address for several threads stays one element if the threads share the space. The tool is told of the access,
    and of the ``values`` that a store is about to write.
    """
    space = access.space
    if space == "global":
        pieces = _in_global(access, machine, lanes, chosen, addresses)
    elif space == "generic":
        return _by_window(access, machine, lanes, chosen, addresses, values)
    else:
        pieces = pieces_of(access, machine, lanes, chosen, addresses)
    tool = machine.launch.tool
    if tool is not None:
        tool.touch(Touch(machine, access, lanes, chosen, addresses, pieces, values))
    return pieces


def pieces_of(access: Access, machine: Machine, lanes: Threads, chosen: Array | None, addresses: Array) -> list[Piece]:
    """The elements at ``addresses`` in a space that is not generic; the tool is not told."""
    space = access.space
    if space in ("global", "const"):
        return _in_global(access, machine, lanes, chosen, addresses)
    if space == "param":
        return [_in_params(access, machine, lanes, chosen, addresses)]
    n = lanes.n if chosen is None else chosen.size
    if space == "shared":
        if addresses.size == 1 and machine.count > 1:
            addresses = broadcast(addresses, n)
        return [_in_shared(access, machine, lanes, chosen, addresses)]
    threads = lanes.numbers if chosen is None else lanes.numbers[chosen]
    return [_in_local(access, machine, lanes, chosen, broadcast(addresses, n), threads)]


def _by_window(
    access: Access, machine: Machine, lanes: Threads, chosen: Array | None, addresses: Array, values: Array | None
) -> list[Piece]:
    windows = addresses >> WINDOW_BITS
    first = int(windows[0])
    if (windows == first).all():
        space = _WINDOW_SPACES.get(first, "global")
        inner = addresses if space == "global" else addresses & WINDOW_MASK
        return locate(_in_space(access, space), machine, lanes, chosen, inner, values)
    pieces: list[Piece] = []
    positions = np.arange(lanes.n) if chosen is None else chosen
    for value in np.unique(windows):
        here = np.flatnonzero(windows == value)
        space = _WINDOW_SPACES.get(int(value), "global")
        inner = addresses[here] if space == "global" else addresses[here] & WINDOW_MASK
        some = values if values is None or values.size == 1 else values[here]
        found = locate(_in_space(access, space), machine, lanes, positions[here], inner, some)
        pieces += [piece._replace(where=here[piece.where]) for piece in found]
    return pieces


def _in_space(access: Access, space: str) -> Access:
    return Access(access.ins, space, access.offset, access.size, access.unit, access.verb)


def _in_global(access: Access, machine: Machine, lanes: Threads, chosen: Array | None, addresses: Array) -> list[Piece]:
    memory, size, offset = machine.launch.memory, access.size, access.offset
    if addresses.size == 1:
        low = high = addresses.item() + offset
    else:
        low, high = int(addresses.min()) + offset, int(addresses.max()) + offset
    found = memory.find(low)
    if found is not None and high + size <= found.end and not (found.read_only and access.verb != "read"):
        view, first = found.typed(access.unit)
        if addresses.size == 1 and not (low - first) & (size - 1):  # arithmetic on one int costs less than on an array
            return [Piece(view, np.array([(low - first) >> size.bit_length() - 1]), _ALL, found)]
        index = addresses + (offset - first)
        if size > 1:
            if int(np.bitwise_or.reduce(index)) & (size - 1):
                _misaligned(access, machine, lanes, chosen, addresses)
            index >>= size.bit_length() - 1
        return [Piece(view, index, _ALL, found)]
    return _in_many(access, machine, lanes, chosen, addresses)


def _in_many(access: Access, machine: Machine, lanes: Threads, chosen: Array | None, addresses: Array) -> list[Piece]:
    """The elements at addresses in several allocations; raises for an address outside all. This is the slow path."""
    memory, size = machine.launch.memory, access.size
    todo = np.arange(addresses.size)
    pieces: list[Piece] = []
    while todo.size:
        at = int(addresses[todo[0]]) + access.offset
        found = memory.find(at)
        if found is None or at + size > found.end:
            raise _outside(access, machine, lanes, chosen, int(todo[0]), at)
        if found.read_only and access.verb != "read":
            facts = {"what": f"{access.verb} at {memory.describe(at)}"}
            raise machine.launch.located("WF712", access.ins, machine, _thread(lanes, chosen, int(todo[0])), **facts)
        inside = (addresses[todo] + access.offset >= found.address) & (
            addresses[todo] + (access.offset + size) <= found.end
        )
        here = todo[inside]
        view, first = found.typed(access.unit)
        index = addresses[here] + (access.offset - first)
        if (index & (size - 1)).any():
            _misaligned(access, machine, lanes, chosen, addresses)
        pieces.append(Piece(view, index >> (size.bit_length() - 1), here, found))
        todo = todo[~inside]
    return pieces


def _thread(lanes: Threads, chosen: Array | None, position: int) -> int:
    """The number of the thread whose address is at ``position``."""
    return int(lanes.numbers[position if chosen is None else chosen[position]])


def _outside(
    access: Access, machine: Machine, lanes: Threads, chosen: Array | None, position: int, address: int
) -> Exception:
    thread = _thread(lanes, chosen, position)
    if 0 <= address < 1 << 16:
        what = f"{access.size} bytes {access.verb} at address {address:#x}"
        return machine.launch.located("WF713", access.ins, machine, thread, what=what)
    what = f"{access.size} bytes {access.verb} at {machine.launch.memory.describe(address)}"
    return machine.launch.located("WF710", access.ins, machine, thread, what=what)


def _misaligned(access: Access, machine: Machine, lanes: Threads, chosen: Array | None, addresses: Array) -> None:
    wrong = (addresses + access.offset) & (access.size - 1) != 0
    at = int(np.argmax(wrong))
    address = int(addresses[at]) + access.offset
    facts = {"what": f"{access.size} bytes {access.verb} at {access.space} address {address:#x}", "size": access.size}
    raise machine.launch.located("WF711", access.ins, machine, _thread(lanes, chosen, at), **facts)


def _bounded(
    access: Access, machine: Machine, lanes: Threads, chosen: Array | None, addresses: Array, size: int, space: str
) -> Array:
    """``addresses`` plus the offset; raises unless they lie in ``[0, size)`` and are aligned."""
    index = addresses + access.offset
    if int(index.min()) < 0 or int(index.max()) + access.size > size:
        at = int(np.argmax((index < 0) | (index + access.size > size)))
        near = machine.launch.describe(space, int(index[at]), size)
        what = f"{access.size} bytes {access.verb} at {space} address {int(index[at]):#x}, {near}"
        raise machine.launch.located("WF710", access.ins, machine, _thread(lanes, chosen, at), what=what)
    if int(np.bitwise_or.reduce(index)) & (access.size - 1):
        _misaligned(access, machine, lanes, chosen, addresses)
    return index


def _in_shared(access: Access, machine: Machine, lanes: Threads, chosen: Array | None, addresses: Array) -> Piece:
    launch = machine.launch
    ctas = (lanes.ctas if chosen is None else lanes.ctas[chosen]) if machine.count > 1 else np.zeros(1, np.int64)
    ranks = addresses >> RANK_SHIFT
    if int(ranks.max()) > 127:  # a 32-bit base below zero, which a positive offset brings back
        addresses = addresses - ((addresses >> 31 & 1) << 32)
        ranks = (addresses + access.offset) >> RANK_SHIFT
    if int(ranks.max()) > 0:
        if int(ranks.max()) > launch.cluster_size:
            at = int(np.argmax(ranks))
            what = f"shared memory of CTA rank {int(ranks[at]) - 1} in a cluster of {launch.cluster_size}"
            raise launch.located("WF710", access.ins, machine, _thread(lanes, chosen, at), what=what)
        base = ctas - ctas % launch.cluster_size
        ctas = np.where(ranks > 0, base + ranks - 1, ctas)
        addresses = addresses & ((1 << RANK_SHIFT) - 1)
    index = _bounded(access, machine, lanes, chosen, addresses, launch.shared_size, "shared")
    if machine.count > 1:
        index = index + ctas * launch.shared_stride
    return Piece(machine.view("shared", access.unit), index >> (access.size.bit_length() - 1), _ALL)


def _in_local(
    access: Access, machine: Machine, lanes: Threads, chosen: Array | None, addresses: Array, threads: Array
) -> Piece:
    launch = machine.launch
    index = _bounded(access, machine, lanes, chosen, addresses, launch.program.flat.local.size, "local")
    index = index + threads * launch.local_stride
    return Piece(machine.view("local", access.unit), index >> (access.size.bit_length() - 1), _ALL)


def _in_params(access: Access, machine: Machine, lanes: Threads, chosen: Array | None, addresses: Array) -> Piece:
    launch = machine.launch
    addresses = addresses & WINDOW_MASK
    if access.verb != "read":
        what = f"{access.verb} at parameter address {int(addresses[0]):#x}"
        raise launch.located("WF712", access.ins, machine, _thread(lanes, chosen, 0), what=what)
    index = _bounded(access, machine, lanes, chosen, addresses, launch.param_size, "param")
    return Piece(launch.param_view(access.unit), index >> (access.size.bit_length() - 1), _ALL)


def gather(access: Access, machine: Machine, lanes: Threads, chosen: Array | None, addresses: Array) -> Array:
    """The values, in the access's unit, at ``addresses``, one for each of ``chosen``."""
    raw = np.zeros(addresses.size, access.unit)
    for view, index, where, _ in locate(access, machine, lanes, chosen, addresses):
        raw[where] = view.take(index)
    return raw


def scatter(
    access: Access, machine: Machine, lanes: Threads, chosen: Array | None, addresses: Array, raw: Array
) -> None:
    """Writes the values ``raw`` to ``addresses``; the last of several values for one address stays."""
    for view, index, where, _ in locate(access, machine, lanes, chosen, addresses, raw):
        view[index] = raw[where]


LEAST_IN_ROWS = 1 << 10
"""From so many threads on, a look for rows is worth it."""


@dataclass(frozen=True)
class Rows:
    """``count`` rows of ``length`` units each: the first at ``first``, each ``step`` bytes after the one before."""

    first: int
    step: int
    count: int
    length: int


def rows_of(addresses: Array, size: int, per_cta: int) -> Rows | None:
    """The rows in which units of ``size`` bytes lie at ``addresses``; None where they lie in another way."""
    for length in (addresses.size, per_cta, WARP):
        if not addresses.size % length and int(addresses[length - 1]) - int(addresses[0]) == (length - 1) * size:
            rows = addresses.reshape(-1, length)
            starts = rows[:, 0]
            step = int(starts[1] - starts[0]) if starts.size > 1 else 0
            if (starts[1:] - starts[:-1] == step).all() and (rows[:, 1:] - rows[:, :-1] == size).all():
                return Rows(int(starts[0]), step, starts.size, length)
    return None


def seen_at(rows: Rows, by: int, access: Access, machine: Machine, dtype: np.dtype[Any], vector: int) -> Array | None:
    """The ``vector`` elements of each unit of rows that have moved by so many bytes: (vector, count, length).

    It is None where not all are aligned and in one allocation: ``locate`` then says what is wrong.
    """
    first, size = rows.first + by + access.offset, access.size
    last = first + (rows.count - 1) * rows.step
    found = machine.launch.memory.find(first)
    if found is None or first % size or rows.step % size:
        return None
    if min(first, last) < found.address or max(first, last) + rows.length * size > found.end:
        return None
    view, origin = found.typed(access.unit)
    shape, strides = (vector, rows.count, rows.length), (dtype.itemsize, rows.step, size)
    return np.ndarray(shape, dtype, view, first - origin, strides)


def moved(value: Array, by: int) -> Array:
    """An integer array, increased by ``by``."""
    words = np.dtype(f"u{value.itemsize}")
    found: Array = value.view(words) + words.type(by & (1 << 8 * value.itemsize) - 1)
    return found.view(value.dtype)
