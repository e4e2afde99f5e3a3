"""What rows these are, as the tables of ``threads.py`` and ``unroll.py`` tell them apart."""

from __future__ import annotations

from ..limits import FEW
from ..task import Task


def are_few(task: Task) -> bool:
    """Whether results do not fill the machine at a warp each."""
    return task.geometry.n_kept < FEW * task.machine


def are_wide(task: Task) -> bool:
    """Whether states take several registers, of elements that have some of their own, or are numbers beside them."""
    return (task.state_registers > 1 or task.program.uses_index) and task.itemsize > 1


def are_simple(task: Task) -> bool:
    """Whether states have one value, and nobody asks where an element is."""
    return len(task.monoid.state) == 1 and not task.program.uses_index


def are_words(task: Task) -> bool:
    """Whether elements are words, and so are states: what such rows take was measured apart from others."""
    return task.itemsize == 4 and task.state_registers == 1 and are_simple(task)
