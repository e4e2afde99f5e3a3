"""From a request (a reduction over axes of arrays) to everything that a launch needs.

Request -> traced program -> geometry -> choice -> artifact. All steps but the last are pure. The last step asks the
cache and compiles on a miss; only then is MLIR imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import prod

from ..compiler import exclusive
from ..compiler.driver.artifact import Artifact, without_code
from ..compiler.dtypes import DType
from ..compiler.errors import error
from ..compiler.ir.source_lines import with_lines
from ..compiler.lazy import lazy
from ..compiler.plan.fields import Determinism
from ..compiler.planner import choose as planner
from ..compiler.planner.layouts.factored import launched
from ..compiler.planner.repeats import taken_out
from ..compiler.planner.task import Choice, Task
from ..compiler.program.closures import captured, is_own
from ..compiler.program.fold import HUGE
from ..compiler.program.graph import Program
from ..compiler.program.monoid import Monoid
from ..compiler.program.rewrites.approximations import of_reduction
from ..compiler.program.rewrites.narrowing import narrowed
from ..compiler.program.spelling import irreducible
from ..compiler.program.tracing import Nan, Traced
from ..compiler.program.tracing import trace as trace_function
from ..compiler.space.geometry import Geometry, collapse
from ..compiler.target import Target
from . import cache, tuned_plans
from .calls import recall
from .resolve import Params, What, function_of, given, hashable, objects_of
from .view import ArraySpec

MANY = 2**31
"""From this number of reduced elements on, an element's index needs 64 bits."""


@dataclass(frozen=True)
class Request:
    """A reduction, without its arrays.

    Attributes:
        what: a name, a monoid, a function, or a tuple of them.
        axes: the reduced axes, normalised.
        params: keyword parameters of the program.
        options: fields of the plan to set, ``key=value,...``.
        masked: whether a last array says which elements take part.
        nan, determinism: the arguments of ``reduce``.
    """

    what: What
    axes: tuple[int, ...]
    params: Params = ()
    options: str = ""
    masked: bool = False
    nan: Nan = "propagate"
    determinism: Determinism = "run"
    outside: tuple[object, ...] = field(init=False, repr=False)
    """The values that the functions of ``what`` read from outside, when the request was made."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "outside", captured(self.what, *objects_of(self.params)))


@dataclass(frozen=True)
class Prepared:
    """A request with its program and plan for arrays of one kind on one machine."""

    traced: Traced
    task: Task
    choice: Choice
    _lined: tuple[Artifact, Artifact] | None = field(default=None, init=False, repr=False, compare=False)

    @lazy
    def geometry(self) -> Geometry:
        """The collapsed iteration space that the kernels are launched with."""
        return launched(self.task, self.choice.plan)

    @property
    def target(self) -> Target:
        """The architecture to compile for."""
        return self.task.target

    @property
    def program(self) -> Program:
        """The program that the kernels compute."""
        return self.traced.program

    @lazy
    def key(self) -> str:
        """The key of its artifact in the cache."""
        return cache.key(self.program, self.choice.facts, self.choice.plan, self.target)

    def with_lines(self, found: Artifact) -> Artifact:
        """``found`` with source lines of this request's functions in its PTX; cached for one artifact."""
        known = self._lined
        if known is None or known[0] is not found:
            ptx = with_lines(found.ptx, self.program, self.choice.facts, self.choice.plan)
            known = found, replace(found, ptx=ptx)
            object.__setattr__(self, "_lined", known)
        return known[1]


@lru_cache(maxsize=4096)
def _trace(
    what: What, arrays: tuple[DType, ...], params: Params, masked: bool, nan: Nan, wide: bool, huge: bool,
    portable: bool, _outside: tuple[object, ...],
) -> tuple[Traced, Traced]:  # fmt: skip
    """The program of a function, and a variant with a narrower state for at most ``most`` elements a result.

    Exponentials of halves are approximate, unless bits are ``portable``.
    """
    function = function_of(what)
    bound = given(function, params, len(arrays) - masked)
    found = trace_function(function, arrays, bound, masked=masked, nan=nan, wide=wide, huge=huge)
    warn_of_broken_laws(found.used)
    found = found if portable else replace(found, program=of_reduction(found.program))
    program, most = narrowed(found.program)
    return found, replace(found, program=program, most=found.most if most is None else most)


def warn_of_broken_laws(used: Sequence[tuple[Monoid, tuple[DType, ...]]]) -> None:
    """Warns, once for each monoid of a user, of laws that it claims and breaks."""
    theirs = [(m, types) for m, types in used if not is_own(getattr(m.function, "function", m.function))]
    if theirs:
        from ..compiler.laws.check import warn_once  # not imported for built-in monoids

        for m, types in theirs:
            warn_once(m, types)


def traced(request: Request, arrays: tuple[DType, ...], shape: tuple[int, ...]) -> tuple[Traced, tuple[int, ...]]:
    """The program of a request on arrays of these types and this shape, and the shape of its results.

    Raises:
        ArgumentError: WF104 for an empty reduction without an identity.
    """
    if not hashable(request.what):
        raise irreducible(request.what)
    n_reduced = prod(shape[a] for a in request.axes)
    how = (request.nan, n_reduced >= MANY, n_reduced >= HUGE, request.determinism == "portable")
    found, narrow = _trace(request.what, arrays, request.params, request.masked, *how, request.outside)
    found = narrow if narrow.most is None or n_reduced <= narrow.most else found
    kept = tuple(n for a, n in enumerate(shape) if a not in request.axes)
    if n_reduced == 0 and 0 not in kept and not found.program.monoid.has_identity:
        raise error("WF104", name=found.program.name, axes=request.axes, shape=shape)
    return found, kept


@lru_cache(maxsize=4096)
def prepare(
    request: Request,
    arrays: tuple[DType, ...],
    inputs: tuple[ArraySpec, ...],
    outputs: tuple[ArraySpec, ...],
    target: Target,
    sms: int,
    device: str = "",
) -> Prepared:
    """Geometry and plan for a request.

    Args:
        request: the reduction.
        arrays: the element types of the arrays.
        inputs: the parts of the arrays, which have one shape.
        outputs: the parts of the results and checks, without the reduced axes.
        target: the architecture to compile for.
        sms: the number of multiprocessors.
        device: the driver's name for the device; empty to ignore plans that the autotuner found.
    """
    shape = inputs[0].shape
    found, _ = traced(request, arrays, shape)
    program = found.program
    ordered, indexed = not program.monoid.commutative, program.uses_index
    strides = [s.strides for s in inputs], [s.strides for s in outputs]
    geometry = collapse(shape, request.axes, *strides, ordered=ordered, indexed=indexed)
    if not program.scatters:  # results differ, though they read the same elements
        geometry = without_repeats(program, geometry, len(inputs))
    addresses = tuple(a.address for a in (*inputs, *outputs))
    task = Task(program, geometry, addresses, target, sms, request.determinism)
    choice = planner.choose(task, request.options)
    return Prepared(found, task, choice if request.options else tuned_plans.better(task, choice, device))


def without_repeats(program: Program, geometry: Geometry, inputs: int) -> Geometry:
    """The geometry of one reduction without elements and results that are repeated; see ``planner/repeats.py``."""
    numbered = program.uses_index and not _only_breaks_ties(program, geometry.n_reduced)
    return taken_out(geometry, inputs, ordered=not program.monoid.commutative, indexed=numbered)


def _only_breaks_ties(program: Program, count: int) -> bool:
    from ..compiler.program.rewrites.ranked_states import only_breaks_ties

    return only_breaks_ties(program, count)


def forget() -> None:
    """Forgets the plans chosen in this process, after the autotuner found or deleted plans."""
    prepare.cache_clear()
    recall.forget()


def artifact(prepared: Prepared) -> Artifact:
    """The compiled kernels with this request's source lines: from memory, from disk, or compiled now."""
    found = cached(prepared)
    return prepared.with_lines(_compiled(prepared) if found is None else found)


def _compiled(prepared: Prepared) -> Artifact:
    """Compiles and keeps the kernels; one thread at a time."""
    with exclusive.lock:
        found = cached(prepared)  # another thread may have compiled them meanwhile
        if found is None:
            from ..compiler.driver.compile import compile_program
            from ..passes import steps

            target, choice = prepared.target, prepared.choice
            lowering = steps(target, choice.plan)
            found = compile_program(prepared.program, choice.facts, choice.plan, target, lowering, prepared.key)
            cache.put(found)
    return found


def cached(prepared: Prepared) -> Artifact | None:
    """The compiled kernels without source lines, if they are in memory or on disk."""
    choice, key = prepared.choice, prepared.key
    return cache.get(key, lambda: without_code(prepared.program, choice.facts, choice.plan, prepared.target, key))
