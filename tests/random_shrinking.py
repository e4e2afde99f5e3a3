"""Makes a random program that fails as small as it can be."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

import numpy as np
from random_programs import Builder, RandomProgram

Check = Callable[[RandomProgram, int], bool]
"""Checks the program of a seed, and raises an error where it fails; whether it is traced."""


def failure(check: Check, program: RandomProgram, seed: int) -> str:
    """What is wrong with a program; empty if nothing is."""
    try:
        check(program, seed)
    except Exception as e:
        return f"{type(e).__name__}: {e}"
    return ""


def smallest(check: Check, program: RandomProgram, seed: int, fault: str) -> RandomProgram:
    """A program with a failure of the same kind, of which no part can be left out."""
    kind = fault.split(":")[0]
    searching = True
    while searching:
        found = (own for own in _smaller(program) if failure(check, own, seed).split(":")[0] == kind)
        program, searching = next(((own, True) for own in found), (program, False))
    return program


def _smaller(program: RandomProgram) -> Iterator[RandomProgram]:
    """Programs with one part less that NumPy still runs."""
    for own in _less(program):
        own = _living(own)
        try:
            with np.errstate(all="ignore"):
                values = own(*(a.astype(np.float64) for a in own.arrays))
        except (ValueError, IndexError, TypeError):
            continue
        if values and all(np.all(np.isfinite(v)) and np.size(v) for v in values):
            yield own


def _less(program: RandomProgram) -> Iterator[RandomProgram]:
    """Programs with one part less."""
    count = len(program.arguments)
    for i in program.returned:
        if len(program.returned) > 1:
            yield replace(program, returned=tuple(r for r in program.returned if r != i))
    for number in reversed(range(len(program.steps))):
        for instead in program.steps[number][1]:
            yield _without(program, number + count, instead)
        yield _given(program, number + count)
    sizes = sorted({n for a in program.arguments for n in a.shape if n > 1}, reverse=True)
    for n, fewer in [(size, less) for size in sizes for less in (1, 2, 3, size // 2, size - 1) if 0 < less < size]:
        shapes = [tuple(fewer if s == n else s for s in a.shape) for a in program.arguments]
        yield replace(program, arguments=[replace(a, shape=s) for a, s in zip(program.arguments, shapes, strict=True)])
    for i, a in enumerate(program.arguments):
        for plain in (replace(a, dtype="f64"), replace(a, dtype="f32"), replace(a, layout="plain")):
            if plain != a and not (a.dtype == "f64" and plain.dtype == "f32"):
                yield replace(program, arguments=[plain if k == i else own for k, own in enumerate(program.arguments)])
    for number, (code, operands) in enumerate(program.steps):
        clipped = re.fullmatch(r"xp\.clip\((.*), -99, 99\)", code)
        if clipped:
            yield replace(
                program, steps=[*program.steps[:number], (clipped[1], operands), *program.steps[number + 1 :]]
            )


def _without(program: RandomProgram, value: int, instead: int) -> RandomProgram:
    """A program with one value in place of another one."""
    steps = [(code, tuple(instead if i == value else i for i in own)) for code, own in program.steps]
    returned = tuple(dict.fromkeys(instead if i == value else i for i in program.returned))
    return replace(program, steps=steps, returned=returned)


def _given(program: RandomProgram, value: int) -> RandomProgram:
    """A program that takes a value as an argument."""
    b = Builder(Random(0), RandomProgram(program.arguments))
    for code, operands in program.steps[: value - len(program.arguments) + 1]:
        b.add(code, *operands)
    shape = b.values[min(value, len(b.values) - 1)].shape
    count = len(program.arguments)
    own = replace(program.arguments[0], shape=shape, seed=value, layout="plain")

    def moved(i: int) -> int:
        return count if i == value else i + (i >= count)

    steps = [(code, tuple(map(moved, operands))) for code, operands in program.steps]
    return RandomProgram([*program.arguments, own], steps, tuple(map(moved, program.returned)))


def _living(program: RandomProgram) -> RandomProgram:
    """A program without the steps and arguments that no result needs."""
    count, needed = len(program.arguments), set(program.returned)
    for number in reversed(range(len(program.steps))):
        needed |= {*program.steps[number][1]} if number + count in needed else set()
    needed |= {0} if not needed & set(range(count)) else set()
    number = {old: new for new, old in enumerate(sorted(needed))}
    steps = [
        (code, tuple(number[i] for i in operands))
        for k, (code, operands) in enumerate(program.steps, count)
        if k in needed
    ]
    return RandomProgram(
        [a for i, a in enumerate(program.arguments) if i in needed], steps, tuple(number[i] for i in program.returned)
    )
