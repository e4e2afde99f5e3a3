"""``warpfold explain``: the plan in words, its reasons, and its least cost."""

from __future__ import annotations

from math import prod

from ..compiler.errors import error
from ..compiler.plan.shared_memory import shared_bytes, waiting_bytes
from ..runtime.prepare import Prepared
from . import levels, terminal
from .plan_cost import arrival_words, finish_words, launch_words, least_time
from .programs.explain import explain as explain_program
from .programs.explain_gradient import explain_gradient
from .programs.plan_words import fragments
from .requests.count_request import CountRequest
from .requests.program_request import ProgramRequest
from .requests.request import Request


def explain(request: Request | ProgramRequest, arch: str, *, gradient: bool = False) -> None:
    """Prints the plan, its reasons, the rejected plans, the bytes and the Python lines.

    ``programs/explain.py`` does so for the steps of a program, ``programs/explain_gradient.py`` for its gradient.

    Raises:
        ArgumentError: WF899 for the gradient of a reduction, WF859 for that of a count, and WF897 for that of a plan.
    """
    if gradient:
        if isinstance(request, CountRequest):
            raise request.without("--gradient")
        if not isinstance(request, ProgramRequest):
            raise error("WF899", name=request.name)
        if request.plan:
            raise error("WF897")
        explain_gradient(request, arch)
        return
    if isinstance(request, ProgramRequest):
        explain_program(request, arch)
        return
    ready = request.planned(arch)
    geometry = ready.task.geometry
    terminal.show(f"{request.title()}, for {arch}")
    terminal.show(f"collapsed to {geometry.n_kept:,} result(s) of {geometry.n_reduced:,} element(s) each")
    terminal.show()
    terminal.table(levels.COLUMNS, levels.lines(ready), levels.SPARE)
    terminal.show()
    terminal.facts(cost(request, ready))
    terminal.section("fragments", fragments(ready.choice.plan))
    terminal.section("why", [f"- {r}" for r in (*ready.choice.reasons, *levels.hints(ready.program))])
    terminal.section("rejected", [f"- {what}: {why}" for what, why in ready.choice.rejected])
    terminal.show()
    terminal.show("Python behind the stages")
    terminal.facts([(f"  {name}", text) for name, text in levels.behind(ready)])
    terminal.show()
    terminal.show("--plan " + levels.plan_words(ready.choice.plan))


def cost(request: Request, ready: Prepared) -> list[tuple[str, object]]:
    """The bytes that must move, their time, and what the plan adds."""
    program, plan, run = ready.program, ready.choice.plan, ready.choice.run
    shape, types, _ = request.kind()
    read = prod(shape) * sum(t.itemsize for t in types)
    written = ready.task.geometry.n_kept * sum(o.dtype.itemsize for o in program.outputs)
    state = sum(t.itemsize for t in program.monoid.state)
    shared = shared_bytes(plan, state) + waiting_bytes(plan, ready.choice.facts, program.inputs, run)
    meet = plan.finish not in ("cta", "atomic")  # atomics combine the states in the results
    partial = ready.geometry.n_kept * plan.parts(run.split) * state if meet else 0
    found: list[tuple[str, object]] = [
        ("must move", f"{terminal.size(read)} in, {terminal.size(written)} out"),
        ("at the least", least_time(read + written, ready.target.arch)),
        ("finish", finish_words(plan, ready.choice.facts)),
        *arrival_words(plan, program.monoid.state),
        ("launch", launch_words(ready)),
        ("shared memory", f"{terminal.size(shared)} a CTA"),
    ]  # fmt: skip
    if after := ready.geometry.after:
        found.insert(-1, ("", f"then {after.n_kept:,} CTA(s) of {plan.threads} threads, one a result"))
    if partial:
        found.insert(
            2, ("partials", f"{terminal.size(partial)} written and read again, in the L2 cache where they fit")
        )
    return found
