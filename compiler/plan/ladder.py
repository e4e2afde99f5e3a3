"""The ladder: plans that have a name, in the order in which two teaching sources tell them, then warpfold's own.

A rung is nothing but fields of a plan; what it leaves open the planner chooses. Its name stands wherever options of a
plan are written (``--plan simple``, ``plan="simple,unroll=2"``), so ``planner.choose(task, name)`` is its plan, and
whatever serves any plan serves all of them. Those that end in atomics serve only monoids that have an atomic, and float
sums only where no fixed order is asked for (``determinism="none"``); WF408 otherwise.
"""

from __future__ import annotations

from typing import NamedTuple

from ..errors import error, near

LECTURE = "lecture 9 of the CUDA-MODE course (Reductions)"
ARTICLE = "OneFlow's article on the CUDA reduction"
OWN = "warpfold"

_PLAIN = (
    "walk=interleaved,vector=1,unroll=1,lanes=32,warps_kept=1,tile_bytes=0,cluster=1,cta=shuffle,exchange=shared,"
    "coarsening=0,finish=cta"
)
_LECTURE, _ARTICLE = f"{_PLAIN},warps=32", f"{_PLAIN},warps=8"


class Rung(NamedTuple):
    """A plan with a name.

    Attributes:
        name: as ``--plan`` takes it.
        options: the fields it pins, ``key=value,...``; of two values the later counts.
        source: who teaches it.
        idea: what it does, or does better than the one before, in one sentence.
    """

    name: str
    options: str
    source: str
    idea: str


RUNGS = (
    Rung("serial", f"{_PLAIN},lanes=1,warps=1", LECTURE, "one thread reads a result's elements one after another"),
    Rung("simple", f"{_LECTURE},cta=interleaved,exchange=global", LECTURE,
         "one CTA combines in place in global memory, each thread with a neighbour at twice the distance every round"),
    Rung("fix-divergence", f"{_LECTURE},cta=sequential,exchange=global", LECTURE,
         "the distance halves instead, so that the threads at work fill whole warps"),
    Rung("shared", f"{_LECTURE},cta=sequential", LECTURE, "the states meet in shared memory instead of global"),
    Rung("segmented", f"{_LECTURE},cta=sequential,coarsening=2,finish=atomic", LECTURE,
         "many CTAs take a segment each, and add what it comes to by an atomic"),
    Rung("coarsened", f"{_LECTURE},cta=sequential,coarsening=16,finish=atomic", LECTURE,
         "each thread takes more elements first, so that there are fewer CTAs, rounds and atomics"),
    Rung("two-pass-simple", f"{_ARTICLE},walk=blocked,cta=serial,finish=two_kernels", ARTICLE,
         "each thread walks a piece of its own, one thread combines its CTA's states, a second kernel the CTAs'"),
    Rung("two-pass-interleaved", f"{_ARTICLE},cta=serial,finish=two_kernels", ARTICLE,
         "neighbouring threads read neighbouring elements"),
    Rung("two-pass-shared", f"{_ARTICLE},cta=sequential,finish=two_kernels", ARTICLE,
         "all threads of a CTA combine its states, in a tree"),
    Rung("two-pass-warp-sync", f"{_ARTICLE},cta=warp_sync,finish=two_kernels", ARTICLE,
         "the rounds within one warp wait for that warp alone"),
    Rung("two-pass-unroll", f"{_ARTICLE},cta=unrolled,finish=two_kernels", ARTICLE,
         "the rounds are unrolled: no loop, no distances to compute"),
    Rung("single-pass-merged", f"{_ARTICLE},cta=unrolled,finish=last_block", ARTICLE,
         "the CTA that ends last does the second pass, without a second launch"),
    Rung("single-pass-atomic", f"{_ARTICLE},cta=unrolled,finish=atomic", ARTICLE,
         "the CTAs add to the result by atomics, without a second pass"),
    Rung("shuffle", f"{_ARTICLE},finish=last_block", ARTICLE,
         "the lanes of a warp exchange registers, and only the warps meet in shared memory"),
    Rung("default", "", OWN, "what the planner chooses: wide accesses, several in flight, the machine full"),
)  # fmt: skip
"""In the order of the sources."""
_OPTIONS = {rung.name: rung.options for rung in RUNGS}


def expand(options: str) -> dict[str, str]:
    """The fields that ``options`` of a plan set: ``key=value,...``, or a rung's name and then what differs.

    Raises:
        PlanError: WF410 for a name that no rung has, WF419 for one behind other options, WF420 for a field given twice.
    """
    if not options.strip():
        return {}
    items = [item.strip() for item in options.split(",")]
    fields = _fields(items.pop(0)) if "=" not in items[0] else {}
    given: dict[str, str] = {}
    for item in items:
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals:
            raise error("WF419", item=item)
        if key in given:
            raise error("WF420", key=key, first=given[key], second=value)
        given[key] = value
    return fields | given


def _fields(name: str) -> dict[str, str]:
    """The fields that the rung ``name`` pins."""
    if name not in _OPTIONS:
        raise error("WF410", name=name, near=near(name, _OPTIONS), known=" ".join(_OPTIONS))
    pairs = (item.partition("=") for item in _OPTIONS[name].split(",") if item)
    return {key: value for key, _, value in pairs}
