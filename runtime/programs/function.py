"""Programs of arrays: ``wf.program`` makes one of a Python function that computes with whole arrays.

A call that repeats an earlier one ends in a recipe (``../calls/recall.py``). Any other is traced (``traces.py``),
cut into steps and planned (``plans.py``), and run (``run.py``).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial, update_wrapper
from operator import is_not
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, ParamSpec, TypeVar

from ...compiler.errors import error
from ...compiler.plan.fields import Determinism
from ...compiler.program.arrays.trace import ArrayArg
from ...compiler.program.exact import EQUAL, exactly
from ...compiler.program.frames import caller, outermost, shown
from ...compiler.program.monoid import Monoid
from ...compiler.program.pickling import holder, unpicklable
from ...compiler.program.signatures import defined, parameters
from ...compiler.program.spelling import called
from ...compiler.program.symbols import Sym, is_array
from ...compiler.program.tracing import as_called
from ...compiler.target import DEFAULT
from ..arrays.dask_arrays import in_dask
from ..arrays.fast_readers import READERS
from ..arrays.jax_tracers import in_jax
from ..arrays.pytorch import are_tracked
from ..arrays.torch_compile import is_asked_by_a_script, refuse_script, unscripted
from ..calls.recall import NO_KEY, Memo
from ..calls.recipe import MISS, Recipe
from ..options import check_options, plan_text
from . import autocast, run
from .arguments import Arguments, arguments_of
from .entering import Entering
from .keys import has_key
from .torch_graphs import ENTRIES, Symbolic, are_traced, changed, entry_of, labelled, op_in_graphs
from .traces import Traces

if TYPE_CHECKING:
    from .compiled import Compiled
    from .planned import Planned

P = ParamSpec("P")
R = TypeVar("R")
DEFAULTS: dict[str, Any] = {"device": "auto", "plan": "", "determinism": "run"}
OPTIONS = ("out", *DEFAULTS)
"""The arguments of every call."""


class ArrayFunction(partial[R], Generic[P, R]):
    """A program of arrays, from ``wf.program``; a call runs it on arrays of any library.

    It is a ``partial`` of its calls, without arguments: CPython calls ``__call__`` of a class through a tuple and a
    dict, which costs 0.7 us.

    Args of a call:
        xs: arrays and parameters, as the function takes them. Numbers of Python are compiled into the kernels; arrays
            of rank 0 are arguments of them.
        out: an array to write into, or a tuple of one per result, in which None stands for a new one. It may be an
            input, in whole, for a result that is computed from it element by element.
        how: further arguments by name, and these of every call:
            ``device``: ``auto`` (CUDA if a driver and a GPU are found, else the emulator), ``cuda`` or ``emulator``;
            ``plan``: fields of the plan to set, as ``key=value,...``; or ``few``, by which arrays of many sizes share
            few kernels;
            ``determinism``: as in ``wf.reduce``.

    It returns arrays of the first array's library, nested as the function returns them. It raises ArgumentError,
    DTypeError, TraceError, PlanError, CompileError or BackendError: each has a code; the codes are in
    ``compiler/errors/catalogue/``.

    Attributes:
        function: the Python function, which also runs as it stands.
    """

    function: Callable[P, R]
    _calls: _Calls
    _traces: Traces
    _changes_entry: ClassVar[bool] = True
    """Whether calls that are repeated enter a function of their own."""

    def __new__(cls, function: Callable[P, R]) -> ArrayFunction[P, R]:
        calls = _Calls(function)
        calls.entry = _entry(calls)
        made = super().__new__(cls, cls._entered(calls.entry, function))
        update_wrapper(made, function)
        made.function, made._calls, made._traces = function, calls, calls.traces
        unscripted(made)
        if cls._changes_entry:
            Entering(calls.memo, calls.entry, calls.keyed, made._enter)
        return made

    def _enter(self, entry: Callable[..., Any]) -> None:
        """Calls enter ``entry`` from now on: the state of a ``partial`` is set at once, for all threads."""
        self.__setstate__((entry, (), {}, self.__dict__))  # type: ignore[attr-defined]

    @staticmethod
    def _entered(entry: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:  # noqa: ARG004 - subclasses ask for it
        """What a call enters: ``entry``, which runs ``function``, or what calls it with other arguments."""
        return entry

    def __repr__(self) -> str:
        return (
            f"<warpfold.program {getattr(self.function, '__name__', self.function)}{inspect.signature(self.function)}>"
        )

    @property
    def __signature__(self) -> inspect.Signature:
        """That of the function; WF223 where a script of PyTorch asks for it, which would call what it cannot type."""
        if is_asked_by_a_script():
            refuse_script(self)
        return inspect.signature(self.function)

    def __reduce__(self) -> Any:
        """By the name of the function, under which a module holds the program, or the function itself.

        Raises:
            ArgumentError: WF183 for a function that another process cannot find.
        """
        name = getattr(self.function, "__qualname__", "")
        there = holder(self.__module__, name)
        if there is self:
            return name
        if there is not self.function:
            raise unpicklable(getattr(self.function, "__name__", "the program"), "function", self.function)
        return type(self), (self.function,)

    def __copy__(self) -> ArrayFunction[P, R]:
        return self

    def __deepcopy__(self, _: object) -> ArrayFunction[P, R]:
        return self

    def compile(self, *xs: Any, arch: str = DEFAULT.arch, **how: Any) -> Compiled:
        """Compiles the program; needs no GPU.

        The kernels also serve other sizes of the same ranks, as far as their plans do; a call with arrays that they
        cannot serve raises WF123.

        Args:
            xs: as for a call; (shape, element type) may stand for an array, which is then contiguous and aligned.
            arch: the architecture to compile for.
            how: further arguments by name, and ``plan`` and ``determinism`` of a call.
        """
        from .compiled import compiled  # not imported to run a program

        try:
            return compiled(self._planned(xs, how, arch))
        except Exception as e:
            raise shown(e)  # noqa: B904  # WARPFOLD_TRACEBACK=full shows the frames between

    def explain(self, *xs: Any, arch: str = DEFAULT.arch, **how: Any) -> str:
        """The steps of the program in words, with their plans and the reasons; arguments are those of ``compile``."""
        from .compiled import explained

        try:
            return explained(self._planned(xs, how, arch))
        except Exception as e:
            raise shown(e)  # noqa: B904  # WARPFOLD_TRACEBACK=full shows the frames between

    def _planned(self, xs: Sequence[Any], how: Mapping[str, Any], arch: str) -> Planned:
        """The steps for arrays like ``xs`` and ``how``, and their plans."""
        from .planned import as_arrays, planned

        call = _Call.of(self.function, *as_arrays(xs, how))
        return planned(call.arguments, call.arrays, self._traces, arch, call.plan, call.determinism)


class _Calls:
    """The calls of one program.

    Attributes:
        function: the Python function.
        traces: its traces.
        memo: the recipes of earlier calls.
        entry: the function that takes any call.
        keyed: the one that finds its recipe by a key.
        casts: the name by which autocast knows the function; empty if it does not.
    """

    entry: Callable[..., Any]
    keyed: Callable[..., Any]
    casts = ""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.traces, self.memo = function, Traces(function), Memo()

    def missed(self, key: Any, arrays: Sequence[Any], xs: Sequence[Any], how: Mapping[str, Any], out: Any) -> Any:
        """A call that no recent recipe repeats."""
        given = (*xs, *how.values())
        if any(map(is_array, given)):
            return self._inline(xs, how, out)
        if any(isinstance(x, Sym) for x in given):
            raise error("WF251", name=getattr(self.function, "__name__", "a program"), where=caller())
        if are_traced(given) and out is None:
            return self._in_graph(xs, how)
        try:
            if in_dask(given):
                return self._in_dask(xs, how, out)
            if in_jax(given):
                from .jax_calls import transformed  # not imported without JAX

                return transformed(self.function, xs, how, out)
            if self.casts and autocast.widens(self.casts, given):
                return self._in_f32(key, xs, how, out)
            run = self._recorded if are_tracked(given) else self._run
            own = key if has_key(given) else NO_KEY
            return self.memo.missed(own, self.function, tuple(arrays), lambda: run(xs, how, out))
        except Exception as e:
            raise shown(e)  # noqa: B904  # WARPFOLD_TRACEBACK=full shows the frames between

    def _inline(self, xs: Sequence[Any], how: Mapping[str, Any], out: Any) -> Any:
        """The function on symbolic arrays, as a part of the program that is traced.

        Raises:
            ArgumentError: WF188 for arguments of every call, which belong to the call of the whole program.
        """
        if out is not None or any(name in OPTIONS for name in how):
            raise error("WF188", name=getattr(self.function, "__name__", "a program"), options=", ".join(OPTIONS))
        return as_called(called(self.function, xs, how), self.function, code="WF263")

    def _in_dask(self, xs: Sequence[Any], how: Mapping[str, Any], out: Any) -> Any:
        """A call on arrays of Dask, which is one on each of their blocks."""
        from .dask_blocks import on_blocks  # not imported without Dask

        options = {name: value for name, value in how.items() if name in DEFAULTS}
        own = {name: value for name, value in how.items() if name not in DEFAULTS}
        return on_blocks(self.function, self.traces, xs, own, options, out)

    @cached_property
    def in_f32(self) -> _Calls:
        """The calls of the function that takes halves as f32, and has results in f32, as under autocast."""
        made = _Calls(autocast.in_f32(self.function))
        made.entry = _entry(made)
        label = ENTRIES[entry_of(self.entry)].label
        labelled(made.entry, label and f"{label} in f32")
        return made

    def _in_f32(self, key: Any, xs: Sequence[Any], how: Mapping[str, Any], out: Any) -> Any:
        found = self.in_f32.entry(*xs, out=out, **how)
        if (recipe := self.in_f32.memo.last.get(key)) is not None:
            self.memo.last[key] = recipe  # which tests whether autocast is on
        return found

    def symbolic(self, xs: Sequence[Any], how: Mapping[str, Any]) -> Symbolic:
        """A call as one of a function of symbolic arrays; see ``torch_graphs.py``."""
        own = {name: value for name, value in how.items() if name not in OPTIONS}
        return Symbolic(self.function, ENTRIES[entry_of(self.entry)].label, xs, own, row_major=False)

    def _in_graph(self, xs: Sequence[Any], how: Mapping[str, Any]) -> Any:
        """A call that PyTorch's tracers see, as an op."""
        from .torch_ops import traced  # imports PyTorch

        return traced(entry_of(self.entry), xs, how)

    def _recorded(self, xs: Sequence[Any], how: Mapping[str, Any], out: Any) -> Any:
        """A call whose results have gradients."""
        from .autograd import recorded  # not imported without tensors that require gradients

        of_call = {name: value for name, value in how.items() if name in DEFAULTS}
        own = {name: value for name, value in how.items() if name not in DEFAULTS}

        def run(xs: Sequence[Any], own: Mapping[str, Any], out: Any) -> Any:
            return self.entry(*xs, out=out, **own, **of_call)

        return recorded(self.function, run, xs, own, out, of_call, keeps=of_call.keys() <= {"determinism"})

    def _run(self, xs: Sequence[Any], how: Mapping[str, Any], out: Any) -> Any:
        """A call in full, without a look at earlier ones."""
        call = _Call.of(self.function, xs, how, out)
        operands = run.operands_of(call.arrays, call.device, numbers=True)
        views = enumerate(operands.inputs)
        args = [ArrayArg(v.dtype, v.shape, i in operands.numbers) for i, v in views]
        traced = self.traces.get(call.arguments, args, apart=call.out is not None)
        run.allocate(operands, traced, call.out)
        return run.run(operands, run.prepare(operands, traced, call.plan, call.determinism))


def _entry(calls: _Calls) -> Callable[..., Any]:
    """The function that a call of a program enters: ``ArrayFunction`` says what it takes.

    A call that is written like the latest one, with the same objects as parameters, needs no key; what it enters from
    then on is made for such calls (``entering.py``).
    """
    memo, keyed = calls.memo, _keyed(calls)
    calls.keyed = keyed

    def call(*xs: Any, out: Any = None, **how: Any) -> Any:
        latest, tried = memo.latest, None
        if latest is not None and out is None and len(xs) == latest[0] and len(how) == len(latest[1]):
            for name, value in latest[1]:
                if how.get(name, MISS) is not value:
                    break
            else:
                tried = latest[2]
                found = tried(*xs)
                if found is not MISS:
                    if memo.tried is not latest:
                        memo.repeated(latest)
                    return found
        return keyed(xs, out, how, tried)

    name = getattr(calls.function, "__name__", "program")
    return op_in_graphs(call, name, calls.symbolic)


_is_given = partial(is_not, None)
"""Whether an array for a result is given, and not a new one."""


def _keyed(calls: _Calls) -> Callable[..., Any]:
    """The function that finds the recipe of a call by its key; ``tried`` is one that did not apply."""
    memo, last, recent, missed = calls.memo, calls.memo.last, calls.memo.recent, calls.missed

    def keyed(xs: tuple[Any, ...], out: Any, how: Mapping[str, Any], tried: Recipe | None) -> Any:
        key: Any = len(xs)  # everything but the arrays that the launches depend on
        arrays, plain = [], out is None
        for x in xs:
            kind = type(x)
            if READERS[kind]:
                arrays.append(x)
            else:
                own = x if kind in EQUAL or (kind is float and x and x == x) else exactly(x)
                key, plain = (key, len(arrays), own, kind), False
        for item in how.items():
            kind = type(item[1])
            if READERS[kind]:
                arrays.append(item[1])
                key, plain = (key, item[0]), False
            else:
                own = item[1]
                own = own if kind in EQUAL or (kind is float and own and own == own) else exactly(own)
                key = key, item[0], own, kind
        if out is not None:
            outs = out if type(out) is tuple else (out,)
            arrays += filter(_is_given, outs)
            key = key, *map(_is_given, outs), outs is out
        try:
            recipe = last.get(key)
        except (TypeError, ValueError):  # a parameter without a hash, as a memoryview that can be written has none
            recipe = None
        if recipe is not None:
            found = MISS if recipe is tried else recipe(*arrays)
            if found is MISS:
                found = recent(key, arrays)
            elif plain:
                memo.latest = len(xs), tuple(how.items()), recipe, key
            else:
                _ = recipe is memo.tried or memo.again(xs, out, how, recipe, key)
            if found is not MISS:
                return found
        return missed(key, arrays, xs, how, out)

    return keyed


class _Call(NamedTuple):
    """The arguments of one call.

    Attributes:
        arguments, arrays: the arguments of the function.
        out: the arrays for results; None for new ones.
        device, plan, determinism: the arguments of every call.
    """

    arguments: Arguments
    arrays: Sequence[Any]
    out: Any
    device: str
    plan: str
    determinism: Determinism

    @classmethod
    def of(cls, function: Callable[..., Any], xs: Sequence[Any], how: Mapping[str, Any], out: Any = None) -> _Call:
        """The arguments of a call of ``function``, checked."""
        given = DEFAULTS | {name: value for name, value in how.items() if name in DEFAULTS}
        check_options(determinism=given["determinism"])
        plan = plan_text(given["plan"])
        own = {name: value for name, value in how.items() if name not in DEFAULTS}
        return cls(*arguments_of(function, xs, own), out, given["device"], plan, given["determinism"])


def known_to_autocast(made: ArrayFunction[..., Any], name: str) -> None:
    """Marks the program of a function that PyTorch's autocast may compute in f32."""
    calls = made._calls
    calls.casts = name
    changed(calls.entry, casts=name, in_f32=lambda: entry_of(calls.in_f32.entry))


def check_function(name: str, function: object) -> None:
    """Refuses what is no function of arrays, for the public function ``name``: WF199."""
    if not callable(function) or isinstance(function, Monoid):
        raise error("WF199", name=name, kind=type(function).__name__, where=caller())


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
        ArgumentError: WF199 for an object that is no function, WF187 for a parameter with the name of an argument of
            every call: ``out``, ``device``, ``plan`` or ``determinism``.
    """
    check_function("wf.program", function)
    for p in parameters(function):
        if p.name in OPTIONS:
            raise error(
                "WF187", name=getattr(function, "__name__", "the function"), parameter=p.name, where=defined(function)
            )
    return ArrayFunction(function)
