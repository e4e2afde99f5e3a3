"""Checks random programs and their gradients against NumPy and PyTorch, in steps or on the emulator, and shrinks them.

By hand::

    python tests/random_programs.py --seeds 0:1000             # NumPy runs the steps into which programs are cut
    python tests/random_programs.py --seeds 0:100 --emulator   # the emulator runs their kernels

A program with wrong results, or another error, is made as small as it can be, and printed as Python code.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np

from random_programs import NUMPY, REFUSED, Builder, RandomProgram, made, positional, random_program

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
        noisy = [_noisy(program, arrays, np.random.default_rng(seed)) for seed in range(3)]
    half = _half(program)
    off = [4 * np.max([np.abs(n[i] - e) for n in noisy], axis=0) + half * np.abs(e) for i, e in enumerate(expected)]
    return expected, [o + 8 * _roundoff(program) * (1 + np.max(np.abs(e), initial=0)) for o, e in zip(off, expected, strict=True)]


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


def _noisy(program: RandomProgram, arrays: Sequence[Array], rng: np.random.Generator) -> list[Array]:
    """The results where each step is off by a little, and a fold by as little of all its elements."""
    u, values = _roundoff(program), list(arrays)
    for code, operands in program.steps:
        own = RandomProgram([], [(code, tuple(range(len(operands))))], (len(operands),))
        (value,) = own(*(np.asarray(values[i]) for i in operands))
        largest = max(np.max(np.abs(values[i]), initial=0) * max(1, values[i].size / max(1, value.size)) for i in operands)
        values.append(value + u * rng.choice((-4, 4), value.shape) * np.maximum(largest, np.abs(value)))
    return [values[i] for i in program.returned]


def _torch_functions() -> tuple[Any, Any]:
    """What stands for the standard's functions, and for warpfold's, with tensors."""
    import torch

    def dims(x: Any, axis: Any) -> tuple[int, ...]:
        return tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)

    def folds(name: str) -> Callable[..., Any]:
        def fold(x: Any, axis: Any = None, keepdims: bool = False, where: Any = None, initial: Any = None) -> Any:
            x = torch.as_tensor(x)
            neutral = {"sum": 0.0, "amax": -torch.inf, "amin": torch.inf}.get(name, 0.0)
            x = x if where is None else torch.where(where, x, neutral)
            for d in () if name in ("sum", "amax", "amin") else sorted((d % x.ndim for d in dims(x, axis)), reverse=True):
                x = x.prod(dim=d, keepdim=keepdims)
            if name in ("sum", "amax", "amin") and dims(x, axis):
                x = getattr(torch, name)(x, dim=dims(x, axis), keepdim=keepdims)
            return x if initial is None else getattr(torch, "maximum" if name == "amax" else "minimum")(x, torch.tensor(initial, dtype=x.dtype))

        return fold

    def numpys(name: str) -> Callable[..., Any]:
        return lambda x, **how: torch.as_tensor(np.asarray(getattr(np, name)(x.detach().numpy(), **how)))

    def take(x: Any, at: Any, axis: int) -> Any:
        return torch.index_select(x, axis, at)

    def along(x: Any, at: Any, axis: int) -> Any:
        return torch.take_along_dim(x, at, dim=axis)

    def mean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return x.mean(dim=dims(x, axis), keepdim=keepdims) if dims(x, axis) else x

    def var(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return mean((x - mean(x, axis, True)) ** 2, axis, keepdims)

    def softmax(x: Any, axis: Any) -> Any:
        e = torch.exp(x - folds("amax")(x, axis, True).detach())
        return e / folds("sum")(e, axis, True)

    xp = SimpleNamespace(
        float32=torch.float32, float64=torch.float64, sum=folds("sum"), max=folds("amax"), min=folds("amin"),
        prod=folds("prod"), any=numpys("any"), count_nonzero=numpys("count_nonzero"), argmax=numpys("argmax"),
        argmin=numpys("argmin"), take=take, take_along_axis=along, mean=mean, var=var,
        clip=torch.clamp, add=torch.add, subtract=torch.sub, multiply=torch.mul, maximum=torch.maximum,
        minimum=torch.minimum, where=torch.where, abs=torch.abs, sqrt=torch.sqrt, reshape=torch.reshape,
        permute_dims=torch.permute, expand_dims=lambda x, axis: x.unsqueeze(axis), squeeze=lambda x, axis: x.squeeze(axis),
        broadcast_to=torch.broadcast_to, arange=torch.arange, cumulative_sum=lambda x, axis: x.cumsum(axis),
        astype=lambda x, t: x.to(t),
    )  # fmt: skip
    library = SimpleNamespace(
        sum=xp.sum, max=xp.max, min=xp.min, exp=torch.exp, tanh=torch.tanh, mean=mean, var=var, softmax=softmax,
        cummax=lambda x, axis: torch.cummax(x, axis).values, cast=lambda x, name: x.to(getattr(torch, name)).to(x.dtype),
        logsumexp=lambda x, axis=None, keepdims=False: torch.logsumexp(x, dims(x, axis), keepdims) if dims(x, axis) else x,
    )  # fmt: skip
    return xp, library


def _torch_made(code: str, functions: tuple[Any, Any], operands: Sequence[Any]) -> Any:
    """The value of a step; tensors have neither steps back nor the size of arrays."""
    if not code.startswith("{0}["):
        return made(code.replace(".size", ".numel()"), *functions, operands)
    (x,) = operands
    chosen = eval(code.format("numbers"), {"numbers": np.arange(x.numel()).reshape(x.shape)})  # noqa: S307 - code of ours
    return x.reshape(-1)[_torch_indices(chosen)]


def _torch_indices(chosen: Array) -> Any:
    import torch

    return torch.tensor(chosen.copy())


def gradients(program: RandomProgram, seeds: Sequence[Array]) -> list[Array]:
    """The gradients of the arrays in f64, by PyTorch."""
    import torch

    arrays = [torch.tensor(a.astype(np.float64), requires_grad=True) for a in program.arrays]
    values, functions = list(arrays), _torch_functions()
    for code, operands in program.steps:
        values.append(_torch_made(code, functions, [values[i] for i in operands]))
    results = [values[i] for i in program.returned]
    total = sum((r.to(torch.float64) * torch.tensor(s)).sum() for r, s in zip(results, seeds, strict=True))
    if not isinstance(total, torch.Tensor) or not total.requires_grad:
        return [np.zeros(a.shape) for a in arrays]
    found = torch.autograd.grad(total, arrays, allow_unused=True)
    return [np.zeros(a.shape) if g is None else g.numpy() for a, g in zip(arrays, found, strict=True)]


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
    slopes = gradients(program, seeds)
    if not all(np.all(np.isfinite(g)) for g in slopes):
        return True
    pulled = traced(backward(positional(program), len(seeds)), *seeds, *program.arrays)
    _check_steps(pulled, [*seeds, *program.arrays], slopes, _off_of_gradients(program, slopes), seed)
    return True


def _is_refused(e: TraceError) -> bool:
    if e.code not in REFUSED:
        raise e
    return False


def _seeds(program: RandomProgram, expected: Sequence[Array]) -> list[Array]:
    """Gradients of the results."""
    rng = np.random.default_rng(len(program.steps))
    return [np.asarray(rng.integers(-2, 3, e.shape), np.float64) for e in expected]


def _off_of_gradients(program: RandomProgram, slopes: Sequence[Array]) -> list[Array]:
    """How far off gradients may be."""
    u = max(2.0**-40, 256 * _roundoff(program)) + 4 * _half(program)
    return [np.asarray(u * (1 + np.max(np.abs(g), initial=0))) for g in slopes]


def _check_steps(program: ArrayProgram, arrays: Sequence[Array], expected: list[Array], off: list[Array], seed: int) -> None:
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
    slopes = gradients(program, seeds)
    if all(np.all(np.isfinite(g)) for g in slopes):
        pulled = wf.vjp(positional(program), results=len(seeds))
        _check_call(pulled, [*seeds, *program.arrays], slopes, _off_of_gradients(program, slopes), plan, determinism)
    return True


def _check_call(call: Any, arrays: Sequence[Array], expected: list[Array], off: list[Array], plan: str, determinism: str) -> None:
    """Checks the results of a call, with a plan unless its rows refuse it."""
    how = {"determinism": determinism, "device": "emulator"}
    try:
        found = call(*arrays, **how, **({"plan": plan} if plan else {}))
    except PlanError:
        found = call(*arrays, **how)
    compare(found if isinstance(found, tuple) else (found,), expected, off, f"{plan} {determinism}")


# --- what is tried ----------------------------------------------------------------------------------------------------
Check = Callable[[RandomProgram, int], bool]


def drawn(seed: int, *, emulator: bool) -> RandomProgram:
    """The program of a seed."""
    rng = Random(seed)
    return random_program(rng, 6 if emulator else 7, exact=rng.random() < 0.5, wide=True)


def failure(check: Check, program: RandomProgram, seed: int) -> str:
    """What is wrong with a program; empty if nothing is."""
    try:
        check(program, seed)
    except Exception as e:  # noqa: BLE001 - any error is a finding
        return f"{type(e).__name__}: {e}"
    return ""


def smallest(check: Check, program: RandomProgram, seed: int, fault: str) -> RandomProgram:
    """A program with a failure of the same kind, of which no part can be left out."""
    kind = fault.split("\n")[0].split(":")[0:2]
    searching = True
    while searching:
        searching = False
        for smaller in _smaller(program):
            found = failure(check, smaller, seed)
            if found and (found.split(":")[0:1] == kind[0:1]):
                program, searching = smaller, True
                break
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
    for n, fewer in ((n, m) for n in sizes for m in (1, 2, 3, n // 2, n - 1) if m < n and m):
        shapes = [tuple(fewer if s == n else s for s in a.shape) for a in program.arguments]
        yield replace(program, arguments=[replace(a, shape=s) for a, s in zip(program.arguments, shapes, strict=True)])
    for i, a in enumerate(program.arguments):
        for plain in (replace(a, dtype="f64"), replace(a, dtype="f32"), replace(a, layout="plain")):
            if plain != a and not (a.dtype == "f64" and plain.dtype == "f32"):
                yield replace(program, arguments=[plain if k == i else own for k, own in enumerate(program.arguments)])
    for number, (code, operands) in enumerate(program.steps):
        clipped = re.fullmatch(r"xp\.clip\((.*), -99, 99\)", code)
        if clipped:
            yield replace(program, steps=[*program.steps[:number], (clipped[1], operands), *program.steps[number + 1 :]])


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
        print(seed, file=sys.stderr) if seed % 100 == 0 else None
        program = drawn(seed, emulator=options.emulator)
        fault = failure(check, program, seed)
        if fault:
            failed += 1
            program = smallest(check, program, seed, fault)
            print(f"# seed {seed}: {failure(check, program, seed)}\n{program}\n", flush=True)
            if failed == options.first:
                break
    print(f"{seed + 1 - first} programs, {failed} failed, {time.process_time() - begin:.0f} s")
