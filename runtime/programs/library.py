"""The built-in programs of arrays as public functions, ``wf.softmax`` and so on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import numpy as np

from ...compiler.errors import ArgumentError, WarpfoldError, error
from ...compiler.program.arrays.random import checked
from ...compiler.program.library.programs.table import FUNCTIONS
from ...compiler.program.signatures import parameters
from ...compiler.program.symbols import is_array
from ..arrays.conversion import view
from ..arrays.overlap import share
from . import autocast
from .arguments import is_real_array
from .function import ArrayFunction, known_to_autocast, program
from .torch_graphs import ENTRIES, are_traced, entry_of, labelled, op_in_graphs

SEEDS = ("seed", "offset")
"""Parameters that are arguments of the kernels also if they are numbers of Python: one kernel serves all seeds."""
WHOLE = (int, np.integer)
"""The types of seeds that are no arrays yet."""
RUNNING = ("running_mean", "running_var")
"""The arguments of ``batch_norm`` that its first results are written over, in training."""


class SeededFunction(ArrayFunction[..., Any]):
    """A program of the library whose seeds launches have as numbers: one kernel and one recipe serve all of them."""

    @staticmethod
    def _entered(entry: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
        """``entry`` with seeds as arrays of rank 0."""
        labelled(entry, function.__name__)
        places = [(i, p.name) for i, p in enumerate(parameters(function)) if p.name in SEEDS]
        entered = [entry]

        @wraps(function)
        def call(*xs: Any, **how: Any) -> Any:
            for i, name in places:
                value = xs[i] if i < len(xs) else how.get(name)
                if isinstance(value, WHOLE) and not any(map(is_array, (*xs, *how.values()))):
                    own = _seed(name, value)
                    xs, how = ((*xs[:i], own, *xs[i + 1 :]), how) if i < len(xs) else (xs, how | {name: own})
            return entered[0](*xs, **how)

        call.entered = entered  # type: ignore[attr-defined]
        return op_in_graphs(call, function.__name__, ENTRIES[entry_of(entry)].symbolic, seeds=tuple(places))

    def _enter(self, entry: Callable[..., Any]) -> None:
        self.func.entered[0] = entry  # type: ignore[attr-defined]


def _seed(name: str, value: Any) -> Any:
    """A seed as an array; ArgumentError WF195 for one out of range."""
    if type(value) is int:
        return np.array(checked(name, value), np.uint64)
    return value if type(value) is bool else np.array(value)


class UpdatingFunction(ArrayFunction[..., Any]):
    """A program of the library that writes results over running statistics, in training."""

    _changes_entry = False

    @staticmethod
    def _entered(entry: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
        """``entry`` with running statistics as arrays for results."""
        labelled(entry, function.__name__)
        names = [p.name for p in parameters(function)]

        @wraps(function)
        def call(*xs: Any, out: Any = None, **how: Any) -> Any:
            given = dict(zip(names, xs, strict=False)) | how
            if out is None and are_traced((*given.values(),)):
                return traced(*xs, **how)
            if any(map(is_array, given.values())):
                return entry(*xs, out=out, **how)
            try:
                return entry(*xs, out=updated(given, out), **how)
            except ArgumentError as e:
                raise _named(e, given) from None

        def traced(*xs: Any, **how: Any) -> Any:
            """In graphs of PyTorch an op makes new statistics of copies, and they are copied back."""
            from .torch_ops import traced as op  # imports PyTorch

            given = {**dict(zip(names, xs, strict=False)), **how}
            running = [name for name in RUNNING if given.get("training") and given.get(name) is not None]
            found = op(number, (), {**given, **{name: given[name].clone() for name in running}})
            for name, new in zip(running, found, strict=False):
                given[name].copy_(new.detach())
            return found

        number = entry_of(entry)
        op_in_graphs(call, function.__name__, ENTRIES[number].symbolic)
        call._torchdynamo_inline = traced  # type: ignore[attr-defined]
        return call


def updated(given: Mapping[str, Any], out: Any) -> Any:
    """The arrays for results: running statistics, which a call in training updates, then those of the caller."""
    running = tuple(given[name] for name in RUNNING if given.get(name) is not None)
    if not running or not given.get("training"):
        return out
    if out is None:
        return (*running, *(None,) * (3 + (given.get("keep") is not None)))
    return (*running, *(out if isinstance(out, tuple | list) else (out,)))


def _named(e: WarpfoldError, given: Mapping[str, Any]) -> WarpfoldError:
    """The error of running statistics that share memory, with the names of the arguments; any other as it is."""
    if e.code not in ("WF132", "WF186") or not given.get("training"):
        return e
    views = {name: view(x) for name, x in given.items() if is_real_array(x)}
    reason = e.message.partition(": ")[2]
    for name in reversed([name for name in RUNNING if name in views]):
        for other, v in views.items():
            if other != name and share(views[name], v):
                return error(e.code, where=e.location, result=name, other=other, reason=reason)
    return e


def _public(function: Callable[..., Any]) -> ArrayFunction[..., Any]:
    """The program of a function of the library; it pickles by its name in this module."""
    names = {p.name for p in parameters(function)}
    kinds = ((SEEDS, SeededFunction), (RUNNING, UpdatingFunction))
    kind = next((kind for own, kind in kinds if not names.isdisjoint(own)), program)
    found = kind(function)
    labelled(found, function.__name__)
    if function.__name__ in autocast.NAMES:
        known_to_autocast(found, function.__name__)
    found.__module__ = __name__
    return found


_PUBLIC = {name: _public(function) for name, function in FUNCTIONS.items()}


def __getattr__(name: str) -> ArrayFunction[..., Any]:
    """A program; the package's ``__init__.py`` says which are public."""
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _PUBLIC[name]
