"""The program of one step with its plan, and its kernels: from memory, from disk, or compiled now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ..compiler import exclusive
from ..compiler.driver.artifact import Artifact, without_code
from ..compiler.dtypes import DType
from ..compiler.ir.source_lines import with_lines
from ..compiler.lazy import lazy
from ..compiler.planner.layouts.factored import launched
from ..compiler.planner.repeats import taken_out
from ..compiler.planner.task import Choice, Task
from ..compiler.program.closures import is_own
from ..compiler.program.graph import Program
from ..compiler.program.monoid import Monoid
from ..compiler.space.geometry import Geometry
from ..compiler.target import Target
from . import cache


@dataclass(frozen=True)
class Prepared:
    """The program of a step and its plan, for arrays of one kind on one machine."""

    task: Task
    choice: Choice
    given: Geometry | None = None
    """The geometry that kernels are launched with that were compiled for others; else the plan says it."""
    _lined: tuple[Artifact, Artifact] | None = field(default=None, init=False, repr=False, compare=False)

    @lazy
    def geometry(self) -> Geometry:
        """The collapsed iteration space that the kernels are launched with."""
        return self.given or launched(self.task, self.choice.plan)

    @property
    def target(self) -> Target:
        """The architecture to compile for."""
        return self.task.target

    @property
    def program(self) -> Program:
        """The program that the kernels compute."""
        return self.task.program

    @lazy
    def key(self) -> str:
        """The key of its artifact in the cache."""
        return cache.key(self.program, self.choice.facts, self.choice.plan, self.target)

    def with_lines(self, found: Artifact) -> Artifact:
        """``found`` with source lines of this program's functions in its PTX; cached for one artifact."""
        known = self._lined
        if known is None or known[0] is not found:
            ptx = with_lines(found.ptx, self.program, self.choice.facts, self.choice.plan)
            known = found, replace(found, ptx=ptx)
            object.__setattr__(self, "_lined", known)
        return known[1]


def warn_of_broken_laws(used: Sequence[tuple[Monoid, tuple[DType, ...]]]) -> None:
    """Warns, once for each monoid of a user, of laws that it claims and breaks."""
    theirs = [(m, types) for m, types in used if not is_own(getattr(m.function, "function", m.function))]
    if theirs:
        from ..compiler.laws.check import warn_once  # not imported for built-in monoids

        for m, types in theirs:
            warn_once(m, types)


def without_repeats(program: Program, geometry: Geometry, inputs: int) -> Geometry:
    """The geometry of one reduction without elements and results that are repeated; see ``planner/repeats.py``."""
    numbered = program.uses_index and not _only_breaks_ties(program, geometry.n_reduced)
    return taken_out(geometry, inputs, ordered=not program.monoid.commutative, indexed=numbered)


def _only_breaks_ties(program: Program, count: int) -> bool:
    from ..compiler.program.rewrites.ranked_states import only_breaks_ties

    return only_breaks_ties(program, count)


def artifact(prepared: Prepared) -> Artifact:
    """The compiled kernels with this program's source lines: from memory, from disk, or compiled now."""
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
