"""Resolves ``OP``: a built-in reduction or program, or a monoid, function or program of a Python file."""

from __future__ import annotations

import importlib.util
import inspect
import linecache
import os
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any

from ...compiler import files
from ...compiler.dtypes import DType
from ...compiler.errors import Location, WarpfoldError, error, near
from ...compiler.program.fold import count_of
from ...compiler.program.library import reductions
from ...compiler.program.monoid import Monoid
from ...compiler.program.public_names import COMPOSITIONS, ELEMENTWISE, PROGRAMS
from ...compiler.program.signatures import keywords, positional, variadic
from ...compiler.program.tracing import trace
from ...runtime.programs import elementwise, library
from ...runtime.programs.function import ArrayFunction

What = str | Monoid | Callable[..., Any] | ArrayFunction[..., Any]
TRAIL = 8
"""Greatest number of user's lines in an error: a recursion has a thousand."""
ELEMENTWISE_NAMES = (*ELEMENTWISE, *COMPOSITIONS)
"""Elementwise functions, which are programs without a fold."""
_PACKAGE = Path(__file__).resolve().parents[2]


def operation(text: str) -> What:
    """The reduction or program that ``OP`` names.

    Raises:
        ArgumentError: WF801 for an unknown built-in; WF806, WF807 and WF818 for a file that has none of that name.
        FileError: WF804 for a file that cannot be read.
        TraceError: WF805 for a file that cannot be imported.
    """
    path, _, name = text.rpartition(":") if ".py:" in text else (text, "", "")
    path = path.removesuffix(":")  # file.py::name, as pytest writes it
    if path.endswith(".py"):
        return _of_file(path, os.fsencode(name).decode(errors="surrogateescape"))  # as UTF-8 in any locale
    if text in reductions.FUNCTIONS:
        return text
    if text in ELEMENTWISE_NAMES:
        return ArrayFunction(elementwise.OF_ARRAYS[text])
    if text not in PROGRAMS:
        raise _unknown(text)
    program: ArrayFunction[..., Any] = getattr(library, text)
    return program


_KINDS = {
    ".mlir": "MLIR goes through warpfold-opt FILE.mlir --pass-pipeline='builtin.module(...)'",
    ".cu": "compile it first: nvcc -ptx FILE.cu; run, profile and sanitize take FILE.ptx",
    ".ptx": "run, profile and sanitize take FILE.ptx; no other command does",
    ".npy": "name first what to compute, and then the file: sum --input FILE.npy",
    ".warpfold": "load it in Python: wf.load(FILE)",
}
"""What to do with files that are no OP, by their ends."""
_OTHERS = (
    "for one of your own write file.py:name; run, profile and sanitize take FILE.ptx, too, and these, compile and "
    "explain take bincount and histogram; pack, unpack, unique and segment_reduce are there in Python alone"
)


def _unknown(text: str) -> WarpfoldError:
    """The error for an OP that names nothing; one that looks like a file gets no list of names."""
    known = (*reductions.FUNCTIONS, *PROGRAMS, *ELEMENTWISE_NAMES)
    end = Path(text.partition(":")[0]).suffix
    if " --" in text:
        remedy = "leave out the quotes around several words: warpfold run sum --input FILE.npy"
        return error("WF801", name=text, known=": a name has no options in it", remedy=remedy)
    if end or "/" in text:
        remedy = _KINDS.get(end, "") or _OTHERS
        return error("WF801", name=text, known=": it looks like a file, and no Python one", remedy=remedy)
    return error("WF801", name=text, known=near(text, known) or f": expected one of {' '.join(known)}", remedy=_OTHERS)


def label(what: What) -> str:
    """The name of a reduction or a program in output."""
    if isinstance(what, str):
        return what
    return what.name if isinstance(what, Monoid) else str(getattr(what, "__name__", "program"))


def is_reduction(function: Callable[..., Any], types: Sequence[DType], params: Mapping[str, Any]) -> bool:
    """Whether a plain function folds the elements of arrays of these types; any other is a program of arrays."""
    try:
        trace(function, types, {key: value for key, value in params.items() if key in keywords(function)})
    except Exception:  # whatever it cannot do with elements
        return False
    return True


def input_count(what: What, given: int = 1) -> int:
    """The number of input arrays: one per argument of a function or lift, else one per value of the state.

    A function with ``*args`` takes as many as are ``given``, but no fewer than it has other arguments.
    """
    if isinstance(what, Monoid) and what.lift is None:
        return count_of(what.identity) or given
    lift = what.lift if isinstance(what, Monoid) else None
    function = lift or (reductions.FUNCTIONS[what] if isinstance(what, str) else what)
    needed = len(positional(function))
    return max(needed, given) if variadic(function) else needed


def _of_file(path: str, name: str) -> What:
    module = _module(path)
    known = [n for n, v in vars(module).items() if _offered(n, v, module)]
    names = " ".join(known) or "none"
    if not name:
        raise error("WF818", path=path, known=names)
    if not hasattr(module, name):
        raise error("WF806", path=path, name=name, near=near(name, known), known=names)
    found = getattr(module, name)
    if not isinstance(found, Monoid | ArrayFunction) and not inspect.isfunction(found):
        raise error("WF807", path=path, name=name, kind=type(found).__name__)
    return found


def _offered(name: str, value: object, module: ModuleType) -> bool:
    """Whether a name in a user's file can be an OP: a monoid, a program, or a function defined in the file."""
    own = inspect.isfunction(value) and value.__module__ == module.__name__
    return not name.startswith("_") and (isinstance(value, Monoid | ArrayFunction) or own)


def _module(path: str) -> ModuleType:
    """Imports the user's file under a name of its own, with its folder on the path."""
    files.read(path, "WF804")
    name = f"warpfold_file_{Path(path).stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(Path(path).resolve().parent))
    try:
        with users_code(path, "WF805"):
            spec.loader.exec_module(module)
    finally:
        sys.path.pop(0)
    return module


@contextmanager
def users_code(path: str, code: str = "WF810") -> Iterator[None]:
    """Turns exceptions of the user's code into the error ``code``, which shows the user's lines only.

    Output of the user's code goes to standard error, since programs may read warpfold's standard output. Exceptions
    that did not pass through the user's code are faults of warpfold, and stay as they are.
    """
    try:
        with redirect_stdout(sys.stderr):
            yield
    except WarpfoldError:
        raise
    except SyntaxError as e:
        place = Location(e.filename or path, e.lineno or 1, e.text or "")
        raise error(code, path=path, reason=f"{type(e).__name__}: {e.msg}", trail="", where=place) from e
    except (Exception, SystemExit) as e:
        places = [_location(f) for f in traceback.extract_tb(e.__traceback__) if _is_users(f.filename)]
        if not places:
            raise
        trail = "".join(f"\n  from {place}" for place in places[:-1][-TRAIL:])
        reason = f"{type(e).__name__}: {e}".rstrip(": ")
        raise error(code, path=path, reason=reason, trail=trail, where=places[-1]) from e


def _is_users(file: str) -> bool:
    """Whether ``file`` belongs neither to warpfold, nor to Python, nor to an installed package."""
    if file.startswith("<"):
        return False
    path = Path(file).resolve()
    own = (_PACKAGE / part for part in ("cli", "commands", "compiler", "passes", "runtime"))
    installed = (Path(sysconfig.get_path(key)).resolve() for key in ("stdlib", "platstdlib", "purelib", "platlib"))
    return not any(path.is_relative_to(place) for place in (*own, *installed))


def _location(frame: traceback.FrameSummary) -> Location:
    line = frame.lineno or 1
    return Location(frame.filename, line, linecache.getline(frame.filename, line))
