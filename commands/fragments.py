"""``warpfold fragments``: which element of a matrix each register of each lane holds, read off a kernel that ran."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..compiler.driver.compile import ptx_of
from ..compiler.target import DEFAULT, WARP
from ..passes import steps
from ..runtime.emulator import Memory, launch, parse
from . import fragment_kernels, terminal
from .fragment_kernels import EDGE

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Operand:
    """A matrix, or the blocks of an access, spread over the lanes of a warp.

    Attributes:
        name: what a register is called before its number.
        blocks: whether elements are told by block, row and column, not by row and column alone.
        held: (lane, register, part) -> (block, row, column).
    """

    name: str
    blocks: bool
    held: Array

    def words(self, lane: int, register: int) -> str:
        """The elements of a register of a lane."""
        return " ".join(self._element(*map(int, one)) for one in self.held[lane, register])

    def _element(self, block: int, row: int, column: int) -> str:
        return f"{block}:{row},{column}" if self.blocks else f"{row},{column}"


@dataclass(frozen=True)
class Found:
    """What a kernel showed: its instruction, as the PTX has it, and its operands."""

    instruction: str
    operands: tuple[Operand, ...]


def fragments(instruction: str, *, blocks: int, transposed: bool, plot: str | None, json: bool) -> None:
    """Shows which elements the registers of a warp hold.

    Raises:
        FileError: WF505, WF830 or WF831 for a picture that cannot be written, before anything runs.
    """
    picture = None
    if plot is not None:
        from .fragment_plot import Picture

        picture = Picture(plot)
    found = of_product() if instruction == "mma" else of_access(instruction, blocks, transposed=transposed)
    if picture is not None:
        picture.write(found)
    if json:
        terminal.show(terminal.as_json(_plain(found)))
        return
    terminal.show(found.instruction)
    terminal.show(_LEGEND[instruction])
    for one in found.operands:
        terminal.show()
        names = [f"{one.name}{k}" for k in range(one.held.shape[1])]
        lines = [[lane, *(one.words(lane, k) for k in range(len(names)))] for lane in range(WARP)]
        terminal.table(["lane", *names], lines)


_ROWS = "lane 8b + r gives the address of row r of block b"
_LEGEND = {
    "ldmatrix": f"the elements that each register gets, as block:row,column; {_ROWS}",
    "stmatrix": f"the elements that each register goes to, as block:row,column; {_ROWS}",
    "mma": "the elements that each register holds, as row,column",
}


def of_access(instruction: str, blocks: int, *, transposed: bool) -> Found:
    """What ``ldmatrix`` gives to each register, or ``stmatrix`` takes from it."""
    ptx = ptx_of(fragment_kernels.access(instruction, blocks, transposed=transposed), steps(DEFAULT))
    numbers = np.arange(blocks * EDGE * EDGE, dtype=np.uint16)
    (result,) = _run(ptx, [numbers], [np.zeros_like(numbers)])
    if instruction == "ldmatrix":
        held = result.reshape(WARP, blocks, 2)
    else:  # element i has number result[i] among those of the registers
        held = np.argsort(result, kind="stable").reshape(WARP, blocks, 2)
    places = np.stack([held // EDGE**2, held // EDGE % EDGE, held % EDGE], axis=-1)
    return Found(_line(ptx, instruction), (Operand("r", blocks=True, held=places),))


def of_product() -> Found:
    """What the registers of ``mma`` hold, of both factors and of the matrix that is added, which has the sum's layout.

    The factors' registers come from matrices whose elements are their numbers. Then the first factor is the identity,
    so the elements of the sum are those of the second one, whose values tell their places.
    """
    ptx = ptx_of(fragment_kernels.product(), steps(DEFAULT))
    rows, inner, columns = fragment_kernels.PRODUCT
    first = np.arange(rows * inner).reshape(rows, inner)
    second = np.arange(inner * columns).reshape(inner, columns)
    outs = [np.zeros((WARP, n), d) for n, d in ((8, np.uint16), (4, np.uint16), (4, np.float32))]
    a, b, _ = _run(ptx, [first.astype(np.uint16), second.astype(np.uint16)], outs)
    *_, sums = _run(ptx, [_halves(np.eye(rows, inner)), _halves(second)], outs)
    operands = (
        _placed("a", a.reshape(WARP, 4, 2), inner),
        _placed("b", b.reshape(WARP, 2, 2), columns),
        _placed("c", sums.astype(int).reshape(WARP, 4, 1), columns),
    )
    return Found(_line(ptx, "mma.sync"), operands)


def _placed(name: str, numbers: Array, columns: int) -> Operand:
    """The operand whose registers hold elements with these numbers."""
    zeros = np.zeros_like(numbers)
    return Operand(name, blocks=False, held=np.stack([zeros, numbers // columns, numbers % columns], axis=-1))


def _halves(x: Array) -> Array:
    """The bits of small integers as bf16."""
    return (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def _run(ptx: str, inputs: list[Array], outputs: list[Array]) -> list[Array]:
    """The results of one warp on the emulator."""
    memory = Memory()
    addresses = []
    for a in (*inputs, *outputs):
        addresses.append(memory.allocate(a.nbytes))
        memory.view(addresses[-1], a.nbytes)[:] = a.reshape(-1).view(np.uint8)
    launch(parse(ptx), fragment_kernels.NAME, (1, 1, 1), (WARP, 1, 1), addresses, memory)
    places = zip(addresses[len(inputs) :], outputs, strict=True)
    return [memory.view(at, a.nbytes).view(a.dtype).reshape(a.shape).copy() for at, a in places]


def _line(ptx: str, instruction: str) -> str:
    """The instruction as the PTX has it, without its operands."""
    line = next(line.strip() for line in ptx.splitlines() if line.strip().startswith(instruction))
    return line.split()[0].rstrip(";")


def _plain(found: Found) -> dict[str, Any]:
    """The registers of each operand as plain values: lanes, registers, elements."""
    operands = {
        one.name: [[[list(map(int, e[0 if one.blocks else 1 :])) for e in r] for r in lane] for lane in one.held]
        for one in found.operands
    }
    return {"instruction": found.instruction, "lanes": operands}
