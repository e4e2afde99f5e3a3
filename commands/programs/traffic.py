"""The bytes that a program must move, and those that its steps move.

A step reads an array once where its rows wait in registers, and in each walk that needs it where they wait in memory.
Caches are not counted: what varies along a row alone, such as a weight, counts once a walk.
"""

from __future__ import annotations

from math import prod

from ...compiler.postorder import postorder
from ...compiler.program.cuts.steps import Operand
from ...compiler.program.graph import REDUCED, Expr, Program
from ...runtime.programs.plans import PreparedStep
from .words import Words


def least(words: Words) -> tuple[int, int]:
    """The bytes of the arrays that the program reads, of some only slices and what it gathers, and of its results."""
    request, program = words.request, words.program
    read: dict[int, int] = {}
    for i, view in enumerate(program.views):
        array = program.argument(view.array)
        own, whole = words.nbytes(Operand("view", i)), request.kinds[array]
        most = whole.dtype.itemsize * prod(whole.shape)
        in_whole = view.array == array and view.gathered is None
        read[array] = most if in_whole else min(most, own + read.get(array, 0))
    results = [(o.stored, request.result_shape(i)) for i, o in enumerate(program.outputs)]
    return sum(read.values()), sum(t.itemsize * prod(n) for t, n in results)


def moved(words: Words, own: PreparedStep) -> tuple[int, int]:
    """The bytes that a step reads and writes."""
    read = zip(own.step.inputs, reads(own), strict=True)
    return sum(words.nbytes(o) * times for o, times in read), sum(map(words.nbytes, own.step.outputs))


def reads(own: PreparedStep) -> list[int]:
    """For each input of a step how often the step reads it."""
    program, choice = own.step.program, own.prepared.choice
    if choice.plan.resident != "memory":
        in_parts = choice.plan.keeps_columns and choice.run.split > 1  # through which CTAs go twice
        return [1 + in_parts] * len(program.inputs)
    walks = [{e.value for e in postorder(roots, below) if e.op == "input"} for roots in walked(program)]
    return [max(1, sum(i in walk for walk in walks)) for i in range(len(program.inputs))]


def walked(program: Program) -> list[tuple[Expr, ...]]:
    """What each walk along a row computes: what a phase folds; in the end the results that have a value an element."""
    results = tuple(o for o in program.outputs if o.space & REDUCED)
    return [*(e.args for e in program.reduces), *([results] if results else [])]


def below(e: Expr) -> tuple[Expr, ...]:
    """The operands that a walk computes anew: results of folds are known."""
    return () if e.op == "result" else e.args
