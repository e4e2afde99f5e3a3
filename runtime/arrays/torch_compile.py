"""Marks functions that ``torch.compile`` calls without tracing them, where its graph breaks, and all for scripts.

This does not import PyTorch. Its tracer reads attributes of a function; its frame hook reads a mark on the code object,
which is set when the tracer is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import CodeType, FrameType, ModuleType
from typing import Any, TypeVar

from ...compiler.errors import error
from ...compiler.program.frames import outside_libraries

F = TypeVar("F", bound=Callable[..., Any])
_TRACER = "torch._dynamo"
_REASON = "this function of warpfold is no custom op, so it runs outside of the graph"
_codes: set[CodeType] = set()


def opaque(function: F) -> F:
    """``function`` itself, marked so that ``torch.compile`` does not trace it; calls cost no more."""
    function._torchdynamo_disable = True  # type: ignore[attr-defined]
    function._torchdynamo_disable_msg = _REASON  # type: ignore[attr-defined]
    mark(function.__code__)
    return unscripted(function)


def unscripted(function: F) -> F:
    """``function`` itself, marked so that ``torch.jit.script`` raises WF223 in place of errors about our sources."""
    function.__prepare_scriptable__ = partial(refuse_script, function)  # type: ignore[attr-defined]
    return function


def refuse_script(function: Any) -> None:
    """Raises WF223 for a function that a script is to compile."""
    raise error("WF223", name=getattr(function, "__name__", "a program"), where=outside_libraries())


def is_asked_by_a_script() -> bool:
    """Whether ``torch.jit.script`` asks our caller for the signature of an object, to type a call of it."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__") == "inspect":
        frame = frame.f_back
    return frame is not None and frame.f_globals.get("__name__") == "torch.jit.annotations"


def mark(code: CodeType) -> None:
    """Keeps ``torch.compile`` from tracing frames of this code that ordinary Python enters."""
    _codes.add(code)
    if _TRACER in sys.modules:
        _mark([code])
    elif not any(isinstance(finder, _Watch) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Watch())


class _Watch:
    """An import hook that finds no module; it marks the code of our functions when the tracer is imported."""

    def find_spec(self, name: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None) -> None:
        if name == _TRACER:
            sys.meta_path.remove(self)
            _mark(_codes)


def _mark(codes: Iterable[CodeType]) -> None:
    try:
        hook = sys.modules["torch"]._C._dynamo.eval_frame
        skip = hook._FrameExecStrategy(hook._FrameAction.SKIP, hook._FrameAction.SKIP)
        for code in codes:
            hook.set_code_exec_strategy(code, skip)
    except (AttributeError, KeyError):  # in other versions of PyTorch the attributes must suffice
        return
