"""The kernels of ``data/foreign``: their launches, and their results by models in NumPy.

A kernel's parameters are its inputs, its outputs and its integers, in this order. ``CASES`` needs only NumPy, so the
same launches run on a GPU (``python data/foreign/on_gpu.py``), whose output bits ``data/foreign/h200.json`` holds.
"""

from __future__ import annotations

from . import atomics, control, copies, floats, halves, integers, mathematics, matrices, memory, warps
from .case import CASES, FOREIGN, Case

__all__ = ["CASES", "FOREIGN", "Case"]

FAMILIES = (control, atomics, warps, matrices, copies, integers, floats, memory, halves, mathematics)
"""Importing a family adds its cases."""
