"""The ladders: plans with names, of a reduction and of a program that reads its rows again.

The rungs of a reduction are in the order in which two teaching sources present them, those of a program that reads its
rows again from the most traffic with memory to the least, and those of a mask of bits in the order of their source;
then comes warpfold's own plan.

A rung is a set of fields of a plan; the planner chooses the others. A rung's name may be used wherever options of a
plan are written (``--plan simple``, ``plan="simple,unroll=2"``). Rungs that finish with atomics serve only monoids that
have an atomic instruction, and float sums only with ``determinism="none"``; WF408 otherwise.
"""

from __future__ import annotations

from typing import NamedTuple

from ..errors import error, near

LECTURE = "lecture 9 of the CUDA-MODE course (Reductions)"
ARTICLE = "OneFlow's article on the CUDA reduction"
SOFTMAX = "OneFlow's article on a softmax kernel"
RELU = "OneFlow's article on masks of bits"
OWN = "warpfold"

_PLAIN = (
    "walk=interleaved,vector=1,unroll=1,lanes=32,warps_kept=1,tile_bytes=0,cluster=1,cta=shuffle,exchange=shared,"
    "coarsening=0,finish=cta"
)
_LECTURE, _ARTICLE = f"{_PLAIN},warps=32", f"{_PLAIN},warps=8"


class Rung(NamedTuple):
    """A plan with a name.

    Attributes:
        name: the name that ``--plan`` takes.
        options: the fields that it sets, ``key=value,...``; of two values for one field the later counts.
        source: the text that teaches it.
        idea: what it does, or does better than the rung before, in one sentence.
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
         "each thread walks contiguous elements of its own, one thread combines its CTA's states, a second kernel "
         "the CTAs'"),
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
"""The rungs of a reduction, in the order of the sources."""
_CTA = "fast=reduced,lanes=32,warps=8,warps_kept=1,cluster=1"
PROGRAM_RUNGS = (
    Rung("two-kernels", "resident=none", OWN,
         "one kernel folds each row, and a second one reads it again and writes the results"),
    Rung("row-in-memory", f"{_CTA},resident=memory", SOFTMAX,
         "one kernel, whose CTA owns a row and reads it again from memory in each phase"),
    Rung("row-in-cache", "fast=reduced,lanes=32,warps=4,warps_kept=1,cluster=1,resident=l2,held=1", OWN,
         "all CTAs share the rows in chunks, and read a chunk again while the L2 cache holds it"),
    Rung("row-in-shared", f"{_CTA},resident=shared", SOFTMAX,
         "the row waits in shared memory, so that memory is read once"),
    Rung("row-in-cluster", "fast=reduced,lanes=32,warps=4,warps_kept=1,cluster=2,resident=shared", OWN,
         "the CTAs of a cluster share a row, which may be longer than the shared memory of one"),
    Rung("row-in-cta", f"{_CTA},resident=registers", OWN,
         "the row waits in the registers of the threads that read it, without a copy"),
    Rung("row-in-warp", "fast=reduced,lanes=32,warps=1,warps_kept=4,cluster=1,resident=registers", SOFTMAX,
         "one warp has the whole row: its lanes meet by shuffles, and no thread waits at a barrier"),
    Rung("default", "", OWN, "what the planner chooses for this length, this type and this many rows"),
)  # fmt: skip
"""The rungs of a program that reads its rows again."""
_MASK = "fast=reduced,lanes=32,warps=8,warps_kept=1,held=1"
MASK_RUNGS = (
    Rung("byte-per-thread", f"{_MASK},vector=8,accesses=single,word=byte", RELU,
         "each thread reads eight elements of its own one by one, and stores their bits as a byte"),
    Rung("shuffled-word", f"{_MASK},vector=1,word=shuffle", RELU,
         "neighbouring threads read neighbouring elements, and join their bits in five shuffles; one lane writes"),
    Rung("ballot", f"{_MASK},vector=1,word=ballot", RELU,
         "one ballot gives the word of a warp"),
    Rung("spread-ballots", "word=ballot", OWN,
         "accesses of 16 bytes: a ballot for each of their elements, whose bits are then spread"),
    Rung("redux", "word=redux", OWN,
         "each lane has the bits of its access in a register, and one redux joins the registers of a word"),
    Rung("default", "", OWN, "what the planner chooses: the same registers, joined by shuffles at distances 1, 2, 4"),
)  # fmt: skip
"""The rungs of a program without a fold that writes a mask as bits."""
FEW = "few"
"""The name of no plan, but of a menu of plans: arrays of many sizes share few kernels (``planner/few.py``)."""
_OPTIONS = {rung.name: rung.options for rung in (*RUNGS, *PROGRAM_RUNGS, *MASK_RUNGS)} | {FEW: ""}


def menu_of(options: str) -> tuple[bool, str]:
    """Whether the options of a plan begin with FEW, and the others."""
    name, _, others = options.partition(",")
    return (True, others) if name.strip() == FEW else (False, options)


def expand(options: str) -> dict[str, str]:
    """The fields that the options of a plan set: ``key=value,...``, or a rung's name and then fields that differ.

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
    """The fields that the rung ``name`` sets."""
    if name not in _OPTIONS:
        raise error("WF410", name=name, near=near(name, _OPTIONS), known=" ".join(_OPTIONS))
    pairs = (item.partition("=") for item in _OPTIONS[name].split(",") if item)
    return {key: value for key, _, value in pairs}
