"""Checks random programs and their gradients against NumPy and PyTorch, in steps or on the emulator, and shrinks them.

By hand::

    python tests/random_programs.py --seeds 0:1000             # NumPy runs the steps into which programs are cut
    python tests/random_programs.py --seeds 0:100 --emulator   # the emulator runs their kernels

A program with wrong results, or another error, is made as small as it can be, and printed as Python code.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from importlib.util import find_spec
from random import Random
from typing import Any

import numpy as np
from random_programs import REFUSED, RandomProgram, positional, random_program
from random_shrinking import Check, failure, smallest

import warpfold as wf
from tests.compiler.array_programs import traced
from tests.compiler.program import steps_numpy
from warpfold.commands.checking.array_values import evaluate
from warpfold.compiler.errors import PlanError, TraceError
from warpfold.compiler.program.array_program import ArrayProgram
from warpfold.compiler.program.cuts.cut import cut
from warpfold.compiler.program.gradients.vjp import backward
from warpfold.compiler.program.rewrites.one_hot import gathered
from warpfold.compiler.target import target
from warpfold.runtime.programs.machine import Machine
from warpfold.runtime.programs.planned import spec_of
from warpfold.runtime.programs.plans import prepare_program
from warpfold.runtime.programs.run import result_kinds
from warpfold.runtime.view import ArraySpec, dense

PLANS = ("", "", "", "resident=none", "resident=memory", "resident=shared", "vector=1")
H100 = Machine(target("sm_90a"), target("sm_90a").sms)
Array = Any


class WrongError(AssertionError):
    """Results that are not those of the reference."""


def compare(found: Sequence[Array], expected: Sequence[Array], off: Sequence[Array], what: str) -> None:
    """Raises ``WrongError`` where a result is farther off than it may be."""
    for i, (f, e, o) in enumerate(zip(found, expected, off, strict=True)):
        f = np.asarray(f).astype(np.float64)
        if f.shape != e.shape or not np.all(np.abs(f - e) <= o):
            raise WrongError(f"{what}: result {i} is\n{f}\nand not\n{e}")


# --- the reference ----------------------------------------------------------------------------------------------------
def forward(program: RandomProgram) -> tuple[list[Array], list[Array]]:
    """The results in f64, and how far off others may be: what small errors in each step make of them, and rounding."""
    arrays = [a.astype(np.float64) for a in program.arrays]
    with np.errstate(all="ignore"):
        expected = [np.asarray(v, np.float64) for v in program(*arrays)]
        if program.exact:
            return expected, [np.zeros(())] * len(expected)
        noisy = [_noisy(program, arrays, np.random.default_rng(seed), zeros=seed == 2) for seed in range(3)]
    half = _half(program)
    off = [4 * np.max([np.abs(n[i] - e) for n in noisy], axis=0) + half * np.abs(e) for i, e in enumerate(expected)]
    return expected, [
        o + 8 * _roundoff(program) * (1 + np.max(np.abs(e), initial=0)) for o, e in zip(off, expected, strict=True)
    ]


def _roundoff(program: RandomProgram) -> float:
    """The roundoff of what is computed: exponentials of halves are approximate."""
    types = {a.dtype for a in program.arguments}
    code = "".join(code for code, _ in program.steps)
    if types & {"f16", "bf16"} or "float16" in code:
        return 2.0**-10 if "float16" in code else 2.0**-20
    return 2.0**-23 if types != {"f64"} or "float32" in code else 2.0**-52


def _half(program: RandomProgram) -> float:
    """By what part of it a result in a half type may be off."""
    types = {a.dtype for a in program.arguments}
    return 2.0**-7 if "bf16" in types else 2.0**-9 if "f16" in types else 0.0


def _noisy(
    program: RandomProgram, arrays: Sequence[Array], rng: np.random.Generator, *, zeros: bool = False
) -> list[Array]:
    """The results where each step is off by a little, and a fold by as little of all its elements.

    What may be zero for all that is, if ``zeros`` says so: it counts, or does not.
    """
    u, values = _roundoff(program), list(arrays)
    for code, operands in program.steps:
        own = RandomProgram([], [(code, tuple(range(len(operands))))], (len(operands),))
        (value,) = own(*(np.asarray(values[i]) for i in operands))
        largest = max(
            np.max(np.abs(values[i]), initial=0) * max(1, values[i].size / max(1, value.size)) for i in operands
        )
        little = 4 * u * np.maximum(largest, np.abs(value))
        moved = value + rng.choice((-1, 1), value.shape) * little
        values.append(np.where(np.abs(moved) <= 4 * little, 0.0, moved) if zeros else moved)
    return [values[i] for i in program.returned]


# --- what is checked --------------------------------------------------------------------------------------------------
def in_steps(program: RandomProgram, seed: int) -> bool:
    """Checks the steps of a program, and those of its gradient, which NumPy runs; whether the program is traced."""
    try:
        whole = traced(positional(program), *program.arrays)
    except TraceError as e:
        return _is_refused(e)
    expected, off = forward(program)
    _check_steps(whole, program.arrays, expected, off, seed)
    if not all(a.dtype == "f64" for a in program.arguments):
        return True
    seeds = _seeds(program, expected)
    if slopes := _slopes(program, seeds):
        pulled = traced(backward(positional(program), len(seeds)), *seeds, *program.arrays)
        _check_steps(pulled, [*seeds, *program.arrays], slopes, _off_of_gradients(program, slopes), seed)
    return True


def _is_refused(e: TraceError) -> bool:
    if e.code not in REFUSED:
        raise e
    return False


def _slopes(program: RandomProgram, seeds: Sequence[Array]) -> list[Array]:
    """The gradients of the arrays; none where there is no PyTorch, or where they are not finite."""
    if find_spec("torch") is None:
        return []
    from random_torch import gradients

    found = gradients(program, seeds)
    return found if all(np.all(np.isfinite(g)) for g in found) else []


def _seeds(program: RandomProgram, expected: Sequence[Array]) -> list[Array]:
    """Gradients of the results."""
    rng = np.random.default_rng(len(program.steps))
    return [np.asarray(rng.integers(-2, 3, e.shape), np.float64) for e in expected]


def _off_of_gradients(program: RandomProgram, slopes: Sequence[Array]) -> list[Array]:
    """How far off gradients may be."""
    u = max(2.0**-40, 256 * _roundoff(program)) + 4 * _half(program)
    return [np.asarray(u * (1 + np.max(np.abs(g), initial=0))) for g in slopes]


def _check_steps(
    program: ArrayProgram, arrays: Sequence[Array], expected: list[Array], off: list[Array], seed: int
) -> None:
    """Checks a program as a whole, as it is cut for these arrays, and cut at random."""
    compare(evaluate(program, arrays), expected, off, "as a whole")
    specs = tuple(spec_of(a) for a in arrays)
    outputs = zip(result_kinds(program, specs), program.outputs, strict=True)
    results = tuple(ArraySpec(shape, dense(shape, order), 0, o.stored) for (shape, order), o in outputs)
    rng = Random(seed)
    options = rng.choice(("", "", "resident=none"))
    planned = prepare_program(program, specs, results, H100, options)
    compare(steps_numpy.run(planned.cut, planned.program, arrays), expected, off, f"as it is planned {options}")
    answers: dict[Any, bool] = {}
    share = rng.choice((1.0, 0.8, 0.5))

    def some(*dims: Any) -> bool:
        return answers.setdefault(dims, rng.random() < share)

    order = rng.sample(range(len(program.dims)), len(program.dims))
    own = gathered(program) if rng.random() < 0.7 else program
    steps = cut(own, some, order, lambda *_: rng.random() < 0.2, joins=some, splits=some)
    compare(steps_numpy.run(steps, own, arrays), expected, off, f"in steps of {share} of the rows")


def on_emulator(program: RandomProgram, seed: int) -> bool:
    """Checks the results of a program, and its gradient, on the emulator; whether the program is traced."""
    rng = Random(seed)
    plan, determinism = rng.choice(PLANS), rng.choice(("run", "run", "portable"))
    expected, off = forward(program)
    try:
        _check_call(wf.program(positional(program)), program.arrays, expected, off, plan, determinism)
    except TraceError as e:
        return _is_refused(e)
    seeds = _seeds(program, expected)
    if slopes := _slopes(program, seeds):
        pulled = wf.vjp(positional(program), results=len(seeds))
        _check_call(pulled, [*seeds, *program.arrays], slopes, _off_of_gradients(program, slopes), plan, determinism)
    return True


def _check_call(
    call: Any, arrays: Sequence[Array], expected: list[Array], off: list[Array], plan: str, determinism: str
) -> None:
    """Checks the results of a call, with a plan unless its rows refuse it."""
    how = {"determinism": determinism, "device": "emulator"}
    try:
        found = call(*arrays, **how, **({"plan": plan} if plan else {}))
    except PlanError:
        found = call(*arrays, **how)
    compare(found if isinstance(found, tuple) else (found,), expected, off, f"{plan} {determinism}")


# --- what is tried ----------------------------------------------------------------------------------------------------
def drawn(seed: int) -> RandomProgram:
    """The program of a seed."""
    rng = Random(seed)
    return random_program(rng, 6, exact=rng.random() < 0.5, wide=True)


def checked(check: Check, seed: int) -> bool:
    """Whether the program of a seed is traced.

    Raises:
        AssertionError: where its check fails, with the least program that fails so.
    """
    program = drawn(seed)
    try:
        return check(program, seed)
    except Exception as e:
        small = smallest(check, program, seed, f"{type(e).__name__}: {e}")
        raise AssertionError(f"seed {seed}: {failure(check, small, seed)}\n{small}") from e


def main() -> None:
    """Runs the programs of some seeds, and prints those that fail."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0:100", help="A:B, the first seed and the one behind the last")
    parser.add_argument("--emulator", action="store_true", help="run kernels, and not steps in NumPy")
    parser.add_argument("--first", type=int, default=5, help="end after so many failures")
    options = parser.parse_args()
    check = on_emulator if options.emulator else in_steps
    first, last = map(int, options.seeds.split(":"))
    failed, begin = 0, time.process_time()
    for seed in range(first, last):
        try:
            checked(check, seed)
        except AssertionError as e:
            failed += 1
            print(f"# {e}\n", flush=True)
            if failed == options.first:
                break
    print(f"{seed + 1 - first} programs, {failed} failed, {time.process_time() - begin:.0f} s")
