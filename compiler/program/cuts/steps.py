"""The steps of an array program: kernel programs in launch order, and the buffers between them.

A step has one set of reduced dims. It reads elements, folds them in phases, and writes values per row (its kept dims)
or per element. A program whose folds a CTA or a cluster can own is one step. Else the program is cut at the grid: a
step computes the folds and writes their values to buffers, and a later step reads these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from ...dtypes import DType
from ..graph import Program

OperandKind = Literal["view", "output", "buffer"]


class Operand(NamedTuple):
    """An array that a step reads or writes.

    Attributes:
        kind: ``view``: a view of an array argument; ``output``: a result of the program; ``buffer``: workspace between
            steps.
        number: the number of the view, the result or the buffer.
    """

    kind: OperandKind
    number: int


class Buffer(NamedTuple):
    """A contiguous array between steps.

    Attributes:
        dtype: its element type.
        dims: the dims of the array program along which it lies, outermost first.
        sections: the last of these dims, if it has a value for each section of the elements along them.
    """

    dtype: DType
    dims: tuple[int, ...]
    sections: tuple[int, ...] = ()


@dataclass(frozen=True)
class Step:
    """One kernel program and the arrays that it reads and writes.

    Attributes:
        program: what it computes, in the spaces ``SCALAR``, ``KEPT``, ``REDUCED`` and ``ELEMENT`` of its own dims. Its
            ``input`` nodes have the space along which their operand varies; where all dims are reduced ones, this is
            ``ELEMENT`` or, for a number, ``KEPT``. All inputs of a plain step have the space ``ELEMENT``. An output is
            written for each element if its space has the reduced dims, else for each row.
        kept: the dims of the array program that it keeps.
        reduced: the dims that its folds are over, in the row-major order of the elements if that matters; for a program
            without a fold, those that threads share.
        inputs: the operands of the program's inputs.
        outputs: the operands of the program's outputs.
        counted: the dims whose elements a ``count`` of the program counts.
        numbered: for each numbering of the program the dims whose elements it numbers in row-major order, outermost
            first; a number is what the step's own dims contribute. A plain step has one numbering at most, to which
            its reduced dims contribute.
        reverse: whether it goes through the elements of rows from the last to the first.
    """

    program: Program
    kept: tuple[int, ...]
    reduced: tuple[int, ...]
    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    counted: tuple[int, ...] = ()
    numbered: tuple[tuple[int, ...], ...] = ()
    reverse: bool = False


@dataclass(frozen=True)
class Steps:
    """A whole array program as kernel programs.

    Attributes:
        steps: in the order in which they run.
        buffers: the arrays between them.
    """

    steps: tuple[Step, ...]
    buffers: tuple[Buffer, ...] = ()
