"""The kernels that a plan asks for: their names, programs, facts and plans. Needs no MLIR."""

from __future__ import annotations

import re
from dataclasses import replace

from .abi import Facts, Kernel, partial_program, second_program
from .artifact import Role
from .both import first
from .both import second as rest_of_both
from .graph import Program
from .plan import Access, Plan


def kernels(program: Program, facts: Facts, plan: Plan) -> list[tuple[Role, Kernel]]:
    """The kernels a plan asks for, in launch order, each with its role.

    A second kernel reduces the partial states; for atomics, an init kernel sets their cells to the identity first, as
    the reduction of nothing.
    """
    name = _symbol(program.name)
    main = Kernel(name, program, facts, first(plan))
    if plan.finish in ("cta", "last_block"):
        return [("main", main)]
    access: tuple[Access, ...] = tuple("strided" for _ in main.monoid.state)
    left = 0 if plan.finish == "atomic" else 1 + (plan.fast == "both")
    rest = replace(facts, reduced_rank=left, access=access, store_vector=False, by_row=False, once=False)
    own = Plan("kept", lanes=1, warps=1, warps_kept=4) if plan.finish == "atomic" else _second_plan(plan)
    second = second_program(program)
    found: list[tuple[Role, Kernel]] = [("main", main), ("second", Kernel(f"{name}_second", second, rest, own))]
    if plan.finish == "atomic":
        nothing = replace(rest, reduced_rank=1, repeats=False)
        found.insert(0, ("init", Kernel(f"{name}_init", partial_program(second), nothing, own)))
    return found


def _symbol(name: str) -> str:
    """``name`` as PTX can spell it: a lambda's is ``lambda``, letters beyond ASCII become underscores."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name).strip("_")
    own = re.fullmatch(r"(partials|gathered|states|rows|ticket)_\d+", plain)  # the names of shared buffers
    return plain if plain[:1].isalpha() and not own else f"reduction_{plain}".rstrip("_")


def _second_plan(plan: Plan) -> Plan:
    """The second kernel walks the partials, [parts][kept], as the first walked the elements, without vectors."""
    if plan.fast == "both":
        return rest_of_both(plan)
    return replace(plan, finish="cta", cluster=1, coarsening=0, vector=1, unroll=plan.second_unroll)
