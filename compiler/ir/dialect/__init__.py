"""The fold dialect: tensor programs (``program``), memory (``access``, ``shared``), stages (``stages``, ``grid``)."""

from __future__ import annotations

from ..mlir import ir
from . import access, grid, program, shared, stages
from .base import Fold

OPS: tuple[type, ...] = tuple(Fold.operations)
"""Every op class of the dialect."""


def load(context: ir.Context) -> None:
    """Registers the fold dialect in ``context``; does nothing where it is there already.

    Loading it twice into one context crashes the bindings, so the context itself is asked. Verifiers written in Python
    need the interpreter's lock, which the thread that waits for MLIR's worker threads holds: with several functions in
    a module that would be a deadlock, so the context is made single-threaded.
    """
    context.enable_multithreading(False)
    if context.is_registered_operation(Fold.operations[0].OPERATION_NAME):
        return
    with context, ir.Location.unknown():
        Fold.load(reload=True)


__all__ = ["OPS", "Fold", "access", "grid", "load", "program", "shared", "stages"]
