"""Rows abreast: what of a wide row a thread has, and where the states of the columns that are one lie.

The columns of a wide row are those of as many rows as lie abreast, one row after another. So the states of a part,
which are those of the columns of the wide row, are as many states of each column of the array, a row apart.
"""

from __future__ import annotations

from typing import Any

from ....compiler.ir.mlir import arith
from ..kernel import Kernel
from ..place import Place


def columns_of_row(kernel: Kernel) -> Any:
    """The columns of a row of the array."""
    return kernel.divide(kernel.arg("n_kept"), kernel.plan.abreast)


def end_abreast(kernel: Kernel, place: Place) -> Any:
    """Where the columns of a thread end: the last wide row lacks those of rows that do not exist.

    So it does for an access that goes on from the last row in one that does not exist.
    """
    whole = arith.subi(kernel.arg("n_kept"), kernel.arg("gap"))
    if kernel.plan.in_periods:
        whole = arith.subi(whole, kernel.number(kernel.plan.vector - 1))
    rows = kernel.arg("n_reduced")
    return arith.select(kernel.less(place.start, whole), rows, arith.subi(rows, kernel.number(1)))


def first_of_column(kernel: Kernel, place: Place) -> Any:
    """Whether a thread has the first of the columns that are one: it writes the result."""
    return kernel.less(place.kept, columns_of_row(kernel))
