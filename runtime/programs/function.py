"""Programs of arrays: ``wf.program`` makes one of a Python function that computes with whole arrays.

A call that repeats an earlier one ends in a recipe (``../calls/recall.py``). Any other is traced (``traces.py``),
cut into steps and planned (``plans.py``), and run (``run.py``).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar

from ...compiler.errors import error
from ...compiler.plan.plan import Determinism
from ...compiler.program.arrays.trace import ArrayArg
from ...compiler.program.frames import outermost, shown
from ...compiler.program.signatures import defined, parameters
from ...compiler.program.symbols import is_array
from ..api import check_options, plan_text
from ..arrays.torch_compile import opaque
from ..calls.recall import FIXED, NO_KEY, Memo
from ..calls.recipe import MISS
from . import run
from .arguments import Arguments, Baked, arguments_of
from .traces import Traces

P = ParamSpec("P")
R = TypeVar("R")
OPTIONS = {"out": None, "device": "auto", "plan": "", "determinism": "run"}
"""The arguments of every call, with their defaults."""


class ArrayFunction(Generic[P, R]):
    """A program of arrays, from ``wf.program``.

    Attributes:
        function: the Python function, which also runs as it stands.
    """

    def __init__(self, function: Callable[P, R]) -> None:
        update_wrapper(self, function)
        self.function = function
        self._traces = Traces(function)
        self._memo = Memo()
        self._last = self._memo.last

    def __repr__(self) -> str:
        return (
            f"<warpfold.program {getattr(self.function, '__name__', self.function)}{inspect.signature(self.function)}>"
        )

    def __reduce__(self) -> Any:
        """By the name of the function, under which a module holds the program."""
        return self.function.__qualname__

    @opaque
    def __call__(
        self,
        *xs: Any,
        out: Any = None,
        device: str = "auto",
        plan: str = "",
        determinism: str = "run",
        **how: Any,
    ) -> Any:
        """Runs the program on arrays of any library.

        Args:
            xs: arrays and parameters, as the function takes them. Numbers of Python are compiled into the kernels;
                arrays of rank 0 are arguments of them.
            out: an array (or one per result) to write into. It may be an input, in whole, for a result that is
                computed from it element by element.
            device: ``auto`` (CUDA if a driver and a GPU are found, else the emulator), ``cuda`` or ``emulator``.
            plan: fields of the plan to set, as ``key=value,...``.
            determinism: as in ``wf.reduce``.
            how: further arguments by name.

        Returns:
            Arrays of the first array's library, nested as the function returns them.

        Raises:
            ArgumentError, DTypeError, TraceError, PlanError, CompileError, BackendError: each has a code; the codes are
                in ``compiler/errors/catalogue/``.
        """
        usual = out is None and device == "auto" and plan == "" and determinism == "run"
        if usual:  # the path of most calls
            try:
                recipe = self._last.get((len(xs), *map(type, how.values()), *how.items()) if how else len(xs))
            except TypeError:  # a parameter without a hash
                recipe = None
            if recipe is not None:
                found = recipe(*xs)
                if found is not MISS:
                    return found
        if any(map(is_array, (*xs, *how.values()))):
            return self._inline(xs, how, usual=usual)
        try:
            check_options(determinism=determinism)
            arguments, arrays = arguments_of(self.function, xs, how)
            outs = () if out is None else out if type(out) is tuple else (out,)
            options = (len(outs) if type(out) is tuple else out is not None, device, plan_text(plan), determinism)
            key = _key(arguments, how, options, usual=usual)
            slow = self._runner(arguments, arrays, out, device, plan_text(plan), determinism)  # type: ignore[arg-type]
            return self._memo.missed(key, self.function, (*arrays, *outs), slow)
        except Exception as e:
            raise shown(e)  # noqa: B904  # WARPFOLD_TRACEBACK=full shows the frames between

    def _inline(self, xs: Sequence[Any], how: Mapping[str, Any], *, usual: bool) -> Any:
        """The function on symbolic arrays, as a part of the program that is traced.

        Raises:
            ArgumentError: WF188 for options of a call, which belong to the call of the whole program.
        """
        if not usual:
            raise error("WF188", name=getattr(self.function, "__name__", "a program"), options=", ".join(OPTIONS))
        return self.function(*xs, **how)

    def _runner(
        self,
        arguments: Arguments,
        arrays: Sequence[Any],
        out: Any,
        device: str,
        plan: str,
        determinism: Determinism,
    ) -> Callable[[], Any]:
        """The call in full, without a look at earlier ones."""

        def in_full() -> Any:
            operands = run.operands_of(arrays, device)
            traced = self._traces.get(arguments, [ArrayArg(v.dtype, v.shape) for v in operands.inputs])
            run.allocate(operands, traced, out)
            return run.run(operands, run.prepare(operands, traced, plan, determinism))

        return in_full


def _key(arguments: Arguments, how: Mapping[str, Any], options: tuple[Hashable, ...], *, usual: bool) -> Hashable:
    """The key of a call: where the arguments are arrays in order and plain parameters, that which calls look up."""
    baked = [s.value for s in (*arguments.positional, *(s for _, s in arguments.named)) if isinstance(s, Baked)]
    if not all(map(_never_changes, baked)):
        return NO_KEY
    if usual and arguments.in_order and all(map(_is_told_apart, baked)):
        n = len(arguments.positional)
        return (n, *map(type, how.values()), *how.items()) if how else n
    return arguments, options


def _never_changes(value: object) -> bool:
    """Whether a parameter is a number, a text, a type, or a tuple of these."""
    return (
        all(map(_never_changes, value)) if type(value) is tuple else isinstance(value, FIXED) or _is_torch_type(value)
    )


def _is_torch_type(value: object) -> bool:
    return (type(value).__module__, type(value).__name__) == ("torch", "dtype")


def _is_told_apart(value: object) -> bool:
    """Whether no other value of the type of ``value`` is equal, as 0.0 and -0.0 are, or (1,) and (True,)."""
    if type(value) is tuple:
        return all(type(v) is int for v in value)
    return not isinstance(value, float | complex) or value != 0


@outermost
def program(function: Callable[P, R]) -> ArrayFunction[P, R]:
    """Makes a program of a function that computes with whole arrays, for use as a decorator.

    >>> import warpfold as wf
    >>> @wf.program
    ... def softmax(x, *, axis=-1):
    ...     e = wf.exp(x - wf.max(x, axis=axis, keepdims=True))
    ...     return e / wf.sum(e, axis=axis, keepdims=True)
    >>> softmax([0.0, 0.0])
    array([0.5, 0.5])

    The function is traced on symbolic arrays, once for each combination of types, ranks and parameters. It may use
    Python's operators, warpfold's functions and reductions, and those of the Array API standard. Folds over axes that
    a CTA or a cluster can own, and what is computed with their results, become one kernel.

    Raises:
        ArgumentError: WF130 for an object that is no function, WF187 for a parameter with the name of an argument of
            every call: ``out``, ``device``, ``plan`` or ``determinism``.
    """
    for p in parameters(function):
        if p.name in OPTIONS:
            raise error(
                "WF187", name=getattr(function, "__name__", "the function"), parameter=p.name, where=defined(function)
            )
    return ArrayFunction(function)
