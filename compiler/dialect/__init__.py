"""The fold dialect: the tensor program (``program``) and one op per stage (``stages``), with verifiers."""

from __future__ import annotations

from ..mlir import ir
from . import program, stages
from .base import Fold

OPS: tuple[type, ...] = tuple(Fold.operations)
"""Every op class of the dialect."""

_loaded: dict[str, object] = {}


def load(context: ir.Context) -> None:
    """Registers the fold dialect in ``context``.

    The bindings keep a Python-defined dialect for one context at a time; loading it into another one first takes it
    over, so a context is loaded again when the last one loaded was a different one. Verifiers written in Python need
    the interpreter's lock, which the thread that waits for MLIR's worker threads holds: with several functions in a
    module that would be a deadlock, so the context is made single-threaded.
    """
    context.enable_multithreading(False)
    if _loaded.get("context") is not context:
        with context, ir.Location.unknown():
            Fold.load(reload=True)
        _loaded["context"] = context


__all__ = ["OPS", "Fold", "load", "program", "stages"]
