"""Gathers values from memory and scatters them, for instructions that move more than their own thread's element."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..ptx.types import Array
from .address_resolution import Access, locate
from .threads import Threads

if TYPE_CHECKING:
    from .machine import Machine


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
