"""The kernels of a reduction without their code: what they are called, what each is for, what each takes.

The driver writes their code; what is read from a file must agree with what stands here before any of it runs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from ..program.graph import Program
from ..target import WARP
from .abi import Facts, Kernel, partial_program, second_program
from .plan import Access, Plan

Role = Literal["init", "main", "second"]
"""``main`` reduces the inputs, ``second`` the partial states; ``init`` sets these to the identity."""


class Outline(NamedTuple):
    """One kernel of a plan: its role, its entry's name, and what it is compiled for."""

    role: Role
    name: str
    facts: Facts
    plan: Plan


def outlines(name: str, facts: Facts, plan: Plan, states: int) -> Sequence[Outline]:
    """The kernels that a plan asks for, in launch order, for a program ``name`` whose state has so many values.

    A second kernel reduces the partial states; for atomics, an init kernel sets their cells to the identity first, as
    the reduction of nothing.
    """
    name = _symbol(name)
    main = Outline("main", name, facts, first_of_both(plan))
    if plan.finish in ("cta", "last_block"):
        return [main]
    access: tuple[Access, ...] = tuple("strided" for _ in range(states))
    left = 0 if plan.finish == "atomic" else 1 + (plan.fast == "both")
    rest = replace(facts, reduced_rank=left, access=access, store_vector=False, by_row=False, once=False)
    own = Plan("kept", lanes=1, warps=1, warps_kept=4) if plan.finish == "atomic" else _second_plan(plan)
    second = Outline("second", f"{name}_second", rest, own)
    if plan.finish != "atomic":
        return [main, second]
    nothing = replace(rest, reduced_rank=1, repeats=False)
    return [Outline("init", f"{name}_init", nothing, own), main, second]


def kernels(program: Program, facts: Facts, plan: Plan) -> list[tuple[Role, Kernel]]:
    """The kernels of a program, in launch order, each with its role."""
    found: list[tuple[Role, Kernel]] = []
    for o in outlines(program.name, facts, plan, len(program.monoid.state)):
        own = program if o.role == "main" else second_program(program)
        found.append((o.role, Kernel(o.name, partial_program(own) if o.role == "init" else own, o.facts, o.plan)))
    return found


def first_of_both(plan: Plan) -> Plan:
    """``plan`` as the first kernel is compiled for it."""
    return replace(plan, fast="kept") if plan.fast == "both" else plan


def _symbol(name: str) -> str:
    """``name`` as PTX can spell it: a lambda's is ``lambda``, letters beyond ASCII become underscores."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name).strip("_")
    own = re.fullmatch(r"(partials|gathered|states|rows|ticket)_\d+", plain)  # the names of shared buffers
    return plain if plain[:1].isalpha() and not own else f"reduction_{plain}".rstrip("_")


def _second_plan(plan: Plan) -> Plan:
    """The second kernel walks the partials, [parts][kept], as the first walked the elements, without vectors."""
    if plan.fast == "both":
        return second_of_both(plan)
    return replace(plan, finish="cta", cluster=1, coarsening=0, vector=1, unroll=plan.second_unroll)


def second_of_both(plan: Plan) -> Plan:
    """The plan of the second kernel: all threads of a CTA walk what is left of a result, [parts][kept][reduced]."""
    walking = replace(plan, fast="reduced", vector=1, lanes=WARP, warps=plan.threads // WARP, warps_kept=1)
    return replace(walking, finish="cta", cluster=1, coarsening=0, unroll=plan.second_unroll)
