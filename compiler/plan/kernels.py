"""The kernels of a plan without their code: their roles, names, facts and plans.

The driver compiles them. A saved artifact must have these same kernels before one of its kernels runs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from ..program.graph import Program
from ..target import WARP
from .abi import Kernel, partial_program, second_program
from .facts import Facts
from .fields import Access
from .plan import Plan
from .rounds import second_unroll
from .shared_memory import DYNAMIC

Role = Literal["init", "main", "second"]
"""``main`` reduces the inputs, ``second`` the partial states; ``init`` sets the partial states to the identity."""


class Outline(NamedTuple):
    """One kernel of a plan: its role, its entry's name, and the facts and the plan that it is compiled for."""

    role: Role
    name: str
    facts: Facts
    plan: Plan


def outlines(name: str, facts: Facts, plan: Plan, states: int) -> Sequence[Outline]:
    """The kernels of a plan, in launch order, for a program ``name`` whose state has ``states`` values.

    A second kernel reduces the partial states. With atomics, an init kernel first sets the partial states to the
    identity, by a reduction without elements, unless they are cleared between launches.
    """
    name = _symbol(name)
    main = Outline("main", name, facts, first_of_both(plan))
    if plan.finish in ("cta", "last_block") or facts.cleared:
        return [main]
    access: tuple[Access, ...] = tuple("strided" for _ in range(states))
    left = 0 if plan.finish == "atomic" else 1 + (plan.fast == "both")
    rest = replace(facts, reduced_rank=left, access=access, store_vector=False, by_row=False)
    rest = replace(rest, once=False, follows=False, bounds=False)
    own = Plan("kept", lanes=1, warps=1, warps_kept=4) if plan.finish == "atomic" else _plan_of_second(plan)
    second = Outline("second", f"{name}_second", rest, own)
    if plan.finish != "atomic":
        return [main, second]
    nothing = replace(rest, reduced_rank=1, repeats=False)
    return [Outline("init", f"{name}_init", nothing, own), main, second]


def kernels(program: Program, facts: Facts, plan: Plan) -> list[tuple[Role, Kernel]]:
    """The kernels of a program, in launch order, each with its role."""
    found: list[tuple[Role, Kernel]] = []
    for o in outlines(program.name, facts, plan, len(program.states)):
        own = program if o.role == "main" else second_program(program)
        found.append((o.role, Kernel(o.name, partial_program(own) if o.role == "init" else own, o.facts, o.plan)))
    return found


def first_of_both(plan: Plan) -> Plan:
    """The plan of the first kernel: with ``fast="both"`` it keeps the inner reduced dim."""
    return replace(plan, fast="kept") if plan.fast == "both" else plan


def _symbol(name: str) -> str:
    """``name`` as a PTX symbol, in ASCII letters, digits and underscores, and not that of dynamic shared memory."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name).strip("_")
    return plain if plain[:1].isalpha() and plain != DYNAMIC else f"reduction_{plain}".rstrip("_")


def _plan_of_second(plan: Plan) -> Plan:
    """The plan of the second kernel: it walks the partial states [parts][kept] like the elements, without vectors."""
    if plan.fast == "both":
        return second_of_both(plan)
    return replace(plan, finish="cta", cluster=1, coarsening=0, vector=1, unroll=second_unroll(plan), meet="")


def second_of_both(plan: Plan) -> Plan:
    """The plan of the second kernel after ``fast="both"``: all threads of a CTA share a result's states."""
    walking = replace(plan, fast="reduced", vector=1, lanes=WARP, warps=plan.threads // WARP, warps_kept=1)
    return replace(walking, finish="cta", cluster=1, coarsening=0, unroll=second_unroll(plan))
