"""Which stack frames belong to the user: errors point at the user's lines, and tracebacks hide our frames.

``WARPFOLD_TRACEBACK=full`` in the environment leaves tracebacks as they are.
"""

from __future__ import annotations

import contextlib
import linecache
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import wraps
from itertools import dropwhile, islice
from pathlib import Path
from types import FrameType, TracebackType
from typing import ParamSpec, TypeVar

from ..errors import Location, WarpfoldError, error
from .exact import LIBRARIES

P = ParamSpec("P")
R = TypeVar("R")
_ROOT = Path(__file__).parents[2]
_INIT = str(_ROOT / "__init__.py")
_COMMANDS = str(_ROOT / "commands") + os.sep
_MACHINERY = (*(str(_ROOT / part) + os.sep for part in ("compiler", "runtime")), _INIT, contextlib.__file__)
"""Files whose frames are between the user's line and ``caller``; a context ends in one of Python's."""
_OURS = (*_MACHINERY, *(str(_ROOT / part) + os.sep for part in ("cli", "commands", "passes")))
_BUILT_IN = str(_ROOT / "compiler" / "program" / "library") + os.sep
"""Built-in reductions and programs: nodes name their lines, as they name a user's; errors name the user's alone."""
_CALLING = {"concurrent", "dask", "threading", "torch", "xarray"}
"""Libraries between a user's line and a call of ours."""
_LIBRARIES = LIBRARIES | {"cuda", "ml_dtypes", "mlir", "numba_cuda_mlir"}
_INSTALLED = tuple(f"{os.sep}{folder}{os.sep}" for folder in ("site-packages", "dist-packages"))
"""Folders of installed packages: a line there is named only where the user has none."""
_REMEDIES: tuple[tuple[type[Exception], str], ...] = (
    (NameError, "define the name before the call, or make it a parameter: def f(x, *, name=1.0)"),
    (LookupError, "indices and keys are Python's own here: the function is traced once, before there are elements"),
    (ArithmeticError, "these are Python's numbers, computed while the function is traced; elements come later"),
)
DEEP = 50
"""The calls of a function on Python's stack from which on it calls itself without an end, if the stack is full."""
_REMEDY = "the function runs once, on symbolic values: use operators and warpfold's functions on them"


def caller() -> Location | None:
    """The innermost line of the running stack that defines a reduction: the user's, or that of a built-in function.

    Libraries that call us, as PyTorch does in a backward and Dask in a task, are between: their caller's line is meant,
    unless another thread runs them.
    """
    frame = outer = _beyond(sys._getframe(1))
    while outer is not None and _package(outer) in _CALLING:
        outer = outer.f_back
    return _place(outer or frame)


def outside_libraries() -> Location | None:
    """``caller()``, where the user's line may call another library's function, which calls ours."""
    frame = outer = _beyond(sys._getframe(1))
    while outer is not None and _is_installed(outer):
        outer = outer.f_back
    return _place(outer or frame)


def _beyond(frame: FrameType | None) -> FrameType | None:
    """The first frame from this one outwards that is none of ours."""
    while frame is not None and _is_machinery(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def _place(frame: FrameType | None) -> Location | None:
    if frame is None or frame.f_code.co_filename.startswith(_COMMANDS):  # beyond lies the command line, not the user
        return None
    file, line = frame.f_code.co_filename, frame.f_lineno
    return Location(file, line, linecache.getline(file, line))


def _is_machinery(file: str) -> bool:
    return file.startswith(_MACHINERY) and not file.startswith(_BUILT_IN)


def is_built_in(place: Location) -> bool:
    """Whether a line is one of a built-in reduction or program."""
    return place.file.startswith(_BUILT_IN)


def shown(e: Exception) -> Exception:
    """``e`` for a public function to raise: with a source line, and without our frames.

    An exception that has no code and passed through no function of the user is a bug of ours, and keeps all its frames.
    """
    if isinstance(e, WarpfoldError) and (e.location is None or e.location.file.startswith(_MACHINERY)):
        e.locate(caller() or e.location)
    if os.environ.get("WARPFOLD_TRACEBACK") == "full" or not (isinstance(e, WarpfoldError) or users_line(e)):
        return e
    link: BaseException | None = e
    while link is not None:
        link.__traceback__ = _chained([t for t in _entries(link) if not _is_ours(t)])
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return e


def outermost(function: Callable[P, R]) -> Callable[P, R]:
    """``function``, whose exceptions pass through ``shown``; arguments that it does not take end in a code."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except Exception as e:
            if isinstance(e, TypeError) and e.__traceback__ is not None and e.__traceback__.tb_next is None:
                from .spelling import misfit  # it imports this module

                if found := misfit(function, args, kwargs):
                    raise found from None
            raise shown(e)  # noqa: B904  # WARPFOLD_TRACEBACK=full shows the frames between

    return call


class Tracing:
    """A context for tracing a user's function, which adds the user's line to what it raises.

    Coded errors without a line get it, and so do those that name a line of a built-in function: the mistake is its
    caller's. Python's own exceptions keep their type and get a note (WF241).
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, e: BaseException | None, __: object) -> None:
        place = users_line(e) if isinstance(e, Exception) else None
        if isinstance(e, RecursionError) and _calls_itself(e):
            raise error("WF247", name=self.name, where=place) from None
        if isinstance(e, WarpfoldError):
            if e.location is None or is_built_in(e.location):
                e.locate(place)
        elif isinstance(e, TypeError | AttributeError) and (found := self._foreign(e, place)):
            raise found.with_traceback(e.__traceback__) from e
        elif (
            e is not None and place is not None and not any(n.startswith("WF241") for n in getattr(e, "__notes__", ()))
        ):
            remedy = next((r for kind, r in _REMEDIES if isinstance(e, kind)), _REMEDY)
            e.add_note(error("WF241", name=self.name, kind=type(e).__name__, remedy=remedy, where=place).render())

    def _foreign(self, e: Exception, place: Location | None) -> WarpfoldError | None:
        """The error for what Python, or another library, says of a symbolic value where it needs another."""
        from .spelling import refused  # it imports this module

        entry = _users_entry(e)
        return None if entry is None else refused(_written(entry), str(e), place)


def users_line(e: BaseException) -> Location | None:
    """The innermost line of a user's function, called by ours, that ``e`` passed through; None if there is none."""
    found = _users_entry(e)
    if found is None:
        return None
    file = found.tb_frame.f_code.co_filename
    return Location(file, found.tb_lineno, linecache.getline(file, found.tb_lineno))


def _users_entry(e: BaseException) -> TracebackType | None:
    """The innermost entry of a user's function, called by ours; one of an installed package where there is no other."""
    below = dropwhile(lambda t: not _is_ours(t), _entries(e))
    theirs = [t for t in below if not _is_ours(t) and _package(t.tb_frame) not in _LIBRARIES]
    return next((t for t in reversed(theirs) if not _is_installed(t.tb_frame)), theirs[-1] if theirs else None)


def _written(entry: TracebackType) -> str:
    """The expression that was evaluated, as far as its first line has it."""
    code = entry.tb_frame.f_code
    start, end, left, right = next(islice(code.co_positions(), entry.tb_lasti // 2, None), (None,) * 4)
    if start is None or start != end:
        return ""
    return linecache.getline(code.co_filename, start).encode()[left:right].decode()


def _calls_itself(e: BaseException) -> bool:
    """Whether a function of the user is in the traceback of ``e`` again and again."""
    codes = Counter(t.tb_frame.f_code for t in _entries(e) if not _is_ours(t))
    return max(codes.values(), default=0) >= DEEP


def _entries(e: BaseException) -> Iterator[TracebackType]:
    entry = e.__traceback__
    while entry is not None:
        yield entry
        entry = entry.tb_next


def _chained(entries: list[TracebackType]) -> TracebackType | None:
    """A traceback of these entries alone."""
    made: TracebackType | None = None
    for t in reversed(entries):
        made = TracebackType(made, t.tb_frame, t.tb_lasti, t.tb_lineno)
    return made


def _is_ours(entry: TracebackType) -> bool:
    return entry.tb_frame.f_code.co_filename.startswith(_OURS)


def _is_installed(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    return any(folder in file for folder in _INSTALLED) or _package(frame) in _LIBRARIES


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]
