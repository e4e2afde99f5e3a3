"""``warpfold explain``: the plan in words, its reasons, and its least cost."""

from __future__ import annotations

from math import prod

from ..runtime.prepare import Prepared
from . import levels, terminal
from .requests.request import Request

BANDWIDTH = {
    "sm_75": (672, "Titan RTX"),
    "sm_80": (2039, "A100 80 GB SXM"),
    "sm_86": (768, "RTX A6000"),
    "sm_89": (864, "L40S"),
    "sm_90a": (4800, "H200 SXM"),
    "sm_100a": (8000, "B200"),
    "sm_120": (1792, "GeForce RTX 5090"),
}
"""Memory bandwidth in GB/s, and the part whose data sheet (NVIDIA) gives it."""

FINISHES = {
    "cta": "each result is finished by one CTA",
    "last_block": "the CTA that comes last combines the states of all",
    "two_kernels": "a second kernel combines the states of all CTAs",
    "atomic": "the CTAs combine their states by atomics",
}
IN_CLUSTERS = {
    "cta": "each result is finished by the first CTA of a cluster",
    "last_block": "the first CTA of the cluster that comes last combines the states of all clusters",
    "two_kernels": "a second kernel combines the states of all clusters",
    "atomic": "the clusters combine their states by atomics",
}


def explain(request: Request, arch: str) -> None:
    """Prints the plan, its reasons, the rejected plans, the bytes and the Python lines."""
    ready = request.planned(arch)
    geometry = ready.task.geometry
    terminal.show(f"{request.title()}, for {arch}")
    terminal.show(f"collapsed to {geometry.n_kept:,} result(s) of {geometry.n_reduced:,} element(s) each")
    terminal.show()
    terminal.table(levels.COLUMNS, levels.lines(ready), levels.SPARE)
    terminal.show()
    terminal.facts(_cost(request, ready))
    _section("why", [f"- {r}" for r in ready.choice.reasons])
    _section("rejected", [f"- {what}: {why}" for what, why in ready.choice.rejected])
    terminal.show()
    terminal.show("Python behind the stages")
    terminal.facts([(f"  {name}", text) for name, text in levels.behind(ready)] or [("  none", "")])
    terminal.show()
    terminal.show("--plan " + levels.plan_words(ready.choice.plan))


def _section(title: str, lines: list[str]) -> None:
    if lines:
        terminal.show(f"\n{title}")
        terminal.show("\n".join(f"  {line}" for line in lines))


def _cost(request: Request, ready: Prepared) -> list[tuple[str, object]]:
    """The bytes that must move, their time, and what the plan adds."""
    program, plan, run = ready.program, ready.choice.plan, ready.choice.run
    shape, types, _ = request.kind()
    read = prod(shape) * sum(t.itemsize for t in types)
    written = ready.task.geometry.n_kept * sum(o.dtype.itemsize for o in program.outputs)
    speed, part = BANDWIDTH[ready.target.arch]
    state = sum(t.itemsize for t in program.monoid.state)
    partial = ready.geometry.n_kept * plan.parts(run.split) * state if plan.finish != "cta" else 0
    least = (read + written) / (speed * 1e9)
    found: list[tuple[str, object]] = [
        ("must move", f"{terminal.size(read)} in, {terminal.size(written)} out"),
        ("at the least", f"{terminal.duration(least)} at {speed} GB/s (data sheet: {part})"),
        ("finish", FINISHES[plan.finish] if plan.cluster == 1 else IN_CLUSTERS[plan.finish]),
        ("launch", f"{run.tiles * run.split:,} CTA(s) of {plan.threads} threads, {run.tiles:,} along the kept axis, "
                   f"{run.split:,} along the reduced axis"),
        ("shared memory", f"{terminal.size(plan.shared_bytes(state))} a CTA"),
    ]  # fmt: skip
    if after := ready.geometry.after:
        found.insert(4, ("", f"then {after.n_kept:,} CTA(s) of {plan.threads} threads, one a result"))
    if partial:
        found.insert(
            2, ("partials", f"{terminal.size(partial)} written and read again, in the L2 cache where they fit")
        )
    return found
