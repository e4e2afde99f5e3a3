"""What a plan costs, in words: the least time for bytes, the launch, and how CTAs finish a result."""

from __future__ import annotations

from collections.abc import Sequence

from ..compiler.dtypes import DType
from ..compiler.plan.facts import Facts
from ..compiler.plan.plan import Plan
from ..compiler.plan.shared_memory import counts_bytes
from ..runtime.prepare import Prepared
from . import terminal

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


ARRIVALS = (
    "all threads of a cluster meet: then its states have come",
    "each CTA has an mbarrier, which counts the bytes of the states that come to it",
)


def arrival_words(plan: Plan, states: Sequence[DType]) -> list[tuple[str, object]]:
    """How the CTAs of a cluster know that their states have come; nothing without clusters."""
    counted = counts_bytes(plan, [t.itemsize for t in states])
    return [("arrivals", ARRIVALS[counted])] if plan.cluster > 1 else []


def least_time(nbytes: int, arch: str) -> str:
    """The time in which the memory of an architecture moves ``nbytes``."""
    speed, part = BANDWIDTH[arch]
    return f"{terminal.duration(nbytes / (speed * 1e9))} at {speed} GB/s (data sheet: {part})"


def launch_words(ready: Prepared) -> str:
    """The CTAs of a launch."""
    plan, run = ready.choice.plan, ready.choice.run
    if run.teams:
        ctas = f"{run.teams * run.split:,} CTA(s) of {plan.threads} threads"
        return f"{ctas}, {run.teams:,} team(s) of {run.split:,}, which take {run.tiles:,} tile(s) in turn"
    if plan.keeps_columns:
        ctas = f"{run.tiles * run.split:,} CTA(s) of {plan.threads} threads"
        shared = f", {run.split:,} of each array" if run.split > 1 else ""
        return f"{ctas}{shared}, which keep {run.units:,} column(s) each"
    if plan.persistent:
        rows = f"{run.tiles:,} row(s)" if plan.slots == 1 else f"{run.tiles:,} group(s) of {plan.slots} rows"
        return f"{run.ctas:,} CTA(s) of {plan.threads} threads, which share {rows} in turn"
    if run.ctas and not (plan.is_chain and ready.choice.facts.once):  # whole rows need no tickets
        chunks = f"{run.tiles * run.split:,} chunk(s), {run.split:,} of each row"
        return f"{run.ctas:,} CTA(s) of {plan.threads} threads, which take {chunks}, by tickets"
    along = f"{run.tiles:,} along the kept axis, {run.split:,} along the reduced axis"
    return f"{run.tiles * run.split:,} CTA(s) of {plan.threads} threads, {along}"


def finish_words(plan: Plan, facts: Facts) -> str:
    """How CTAs, or clusters, finish a result."""
    if plan.takes_side:
        return "each result of a row is finished by one CTA, and those of side folds by all, each for some columns"
    if plan.resident == "l2":
        return "the CTA that folds the last chunk of a row combines the states of all"
    if plan.in_periods:
        if facts.narrow:
            return "each CTA combines, for each of its columns, the states that the CTAs with this column leave"
        return "each CTA combines the states that all CTAs leave of each of its columns"
    if plan.resident == "grid":
        return "each CTA combines the states of all parts of its row"
    return FINISHES[plan.finish] if plan.cluster == 1 else IN_CLUSTERS[plan.finish]
