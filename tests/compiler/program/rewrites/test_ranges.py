"""Random programs near the ranges of rewrites, and beyond: where a rewrite is made, results are those without it."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
from graph_numpy import run

import warpfold as wf
from warpfold.commands.checking.array_values import evaluate
from warpfold.compiler.dtypes import BF16, BOOL, F32, F64, I8, I16, I32, I64, U8, DType
from warpfold.compiler.program.arrays.trace import ArrayArg, trace_arrays
from warpfold.compiler.program.graph import SCALAR, Expr, MonoidGraph, Program, rewrite, walk
from warpfold.compiler.program.library import extremes
from warpfold.compiler.program.numeric import combine
from warpfold.compiler.program.rewrites.packed import by_words
from warpfold.compiler.program.rewrites.ranked_states import only_breaks_ties, ranked
from warpfold.compiler.program.rewrites.semigroup import neutral
from warpfold.compiler.program.symbols import Sym
from warpfold.compiler.program.tracing import trace
from warpfold.compiler.program.values import cast

INF, NAN = np.inf, np.nan
SPECIAL = (0.0, -0.0, INF, -INF, NAN, 1.0, -1.0, 1e-40)


def same(found: Any, wanted: Any) -> bool:
    """Whether two results have the same bits, whatever NaN they have."""
    a, b = np.asarray(found), np.asarray(wanted)
    if a.dtype != b.dtype or a.dtype.kind in "biu":
        return a.dtype == b.dtype and np.array_equal(a, b)
    a, b = a.astype(np.float64), b.astype(np.float64)
    return np.array_equal(a, b, equal_nan=True) and np.array_equal(np.signbit(a)[a == a], np.signbit(b)[b == b])


# --- elements and their numbers ---
def numbered(seed: int) -> Any:
    """A reduction that folds elements with their numbers, or something else in place of either."""

    def function(x: Any) -> Any:
        rng, found = Random(seed), list[Any]()
        for _ in range(rng.choice((1, 1, 2))):
            value = rng.choice((x, x, x + 0.0, 0.0 - x, x * x, wf.cast(x, "i32"), wf.cast(wf.index(), "f32"), x + 1))
            number = rng.choice((
                wf.index(), wf.index(), wf.cast(wf.index(), "i64"), 0 - wf.index(), wf.index() + 1, wf.index() ^ 1,
                wf.cast(wf.cast(wf.index(), "int8"), "i64"), wf.index() & 3, wf.index() << 1,
            ))  # fmt: skip
            number = number if rng.random() < 0.7 else cast(number, rng.choice((I32, I64)))
            monoid = rng.choice((wf.ARGMAX, wf.ARGMIN))
            if rng.random() < 0.6:
                here, other = rng.choice((x > 0, wf.index() > 2, x == x)), rng.choice((x > 0, wf.index() > 2))
                nothing = monoid.typed(value.dtype, number.dtype).identity
                element = rng.choice((nothing[0], 5))
                value = wf.where(here, value, element)
                number = wf.where(rng.choice((here, here, other)), number, rng.choice((nothing[1], nothing[1], 3)))
            kind = rng.random()
            if kind < 0.7:
                pair = wf.fold(monoid, value, number)
                found += rng.choice(((pair[1],), pair, (pair[0],)))
            elif kind < 0.85:
                word = wf.cast(x, "i64") << rng.choice((4, 8, 32)) | cast(number, I64)
                found.append(wf.fold(rng.choice((wf.MIN, extremes.RANKED, wf.MAX)), word))
            else:
                found.append(wf.fold(rng.choice((wf.MAX, wf.MIN)), value))
        return tuple(found)

    return function


def program_of(seed: int, t: DType, *, wide: bool) -> Program | None:
    try:
        return trace(numbered(seed), (t,), {}, wide=wide).program
    except wf.WarpfoldError:
        return None  # operations that its types do not have


def elements(seed: int, t: DType, n: int) -> Any:
    rng = np.random.default_rng(seed)
    x = rng.integers(-3 if t.kind != "uint" else 0, 4, n).astype(t.numpy)
    if t.is_float and seed % 3 == 0:
        x = rng.choice((0.0, -0.0, -0.0, rng.choice((NAN, 0.0))), n).astype(t.numpy)
    elif t.is_float and seed % 3 == 1:
        x[rng.integers(n, size=3)] = rng.choice(SPECIAL, 3).astype(t.numpy)
    return x


TYPES = (F32, F32, F64, I8, I32, U8, BF16, I16)
SEEDS = 200


def test_words_in_place_of_states() -> None:
    made = 0
    for seed in range(SEEDS):
        t = TYPES[seed % len(TYPES)]
        if (program := program_of(seed, t, wide=True)) is None:
            continue
        (fold,) = program.reduces
        shown = [e.value for e in walk(program.outputs) if e.op == "result"]
        found = ranked(fold, shown)  # type: ignore[arg-type]
        made += bool(found.pairs)
        values = found.values(found.fold)
        swapped = {
            Expr("result", (fold,), a.dtype, v.expr.space, i).digest: v.expr
            for i, (a, v) in enumerate(zip(fold.args, values, strict=True))
        }
        taken = replace(program, outputs=rewrite(program.outputs, swapped))
        x = elements(seed, t, 9)
        assert all(map(same, run(taken, x), run(program, x))), seed
    assert made > SEEDS / 32


def test_the_lowest_number_of_equals_is_enough() -> None:
    made = 0
    for seed in range(SEEDS):
        t, (n, times) = TYPES[seed % len(TYPES)], ((5, 3), (4, 16), (3, 100))[seed % 3]
        program = program_of(seed, t, wide=bool(seed % 2))
        if program is None or not only_breaks_ties(program, n * times):
            continue
        made += any(e.op == "iota" for e in walk(program.outputs))
        x = elements(seed, t, n)
        for whole, numbers in ((np.repeat(x, times), np.arange(n) * times), (np.tile(x, times), np.arange(n))):
            assert all(map(same, run(program, x, numbers=numbers), run(program, whole))), seed
    assert made > SEEDS / 32


# --- bits ---
def logical(seed: int, n: int) -> Any:
    """Counts and quantifiers of functions of bits, some of which lie in other ways, or are not packed."""

    def function(x: Any, a: Any, b: Any, f: Any) -> Any:
        rng, shape = Random(seed), x.shape
        values = [wf.unpack(a, shape), wf.unpack(b, shape), rng.choice((wf.unpack(f, shape, flat=True), x > 0, x < 0))]
        values = values[: rng.choice((2, 2, 3))]
        for _ in range(rng.choice((0, 1, 2, 3))):
            p, q = (rng.choice(values) for _ in range(2))
            values.append(rng.choice((
                p & q, p | q, p ^ q, ~p, p == q, p != q, wf.where(p, q, ~q), p & True, p | (q & False), p > q, p <= q,
            )))  # fmt: skip
        v, axis = values[-1], rng.choice((None, 0, -1, 1, (0, 1)))
        if rng.random() < 0.1:
            v = v[:, : n // 2]
        fold = rng.choice((
            wf.count_nonzero, wf.any, wf.all, wf.sum, lambda v, **how: wf.sum(wf.cast(v, "int8"), **how),
            lambda v, **how: wf.max(wf.cast(v, "uint8"), **how), lambda v, **how: wf.mean(wf.cast(v, "f32"), **how),
            lambda v, **how: wf.sum(v, dtype="uint8", **how),
        ))  # fmt: skip
        return fold(v, axis=axis, keepdims=rng.random() < 0.3)

    return function


def packed(p: Any, *, flat: bool = False) -> Any:
    """Words of bits, with ones behind the elements."""
    rows = p.reshape(1, -1) if flat else p
    spare = -rows.shape[1] % 32
    bits = np.pad(rows, ((0, 0), (0, spare)), constant_values=True)
    words = np.packbits(bits, axis=1, bitorder="little").view("<u4")
    return words[0] if flat else words


def test_words_of_bits() -> None:
    made = 0
    for seed in range(SEEDS):
        rng, n = np.random.default_rng(seed), (20, 32, 33, 64, 70)[seed % 5]
        x = rng.integers(-1, 2, (3, n)).astype(np.int8)
        p, q, f = (rng.random((3, n)) < rng.choice((0.0, 0.5, 0.5, 1.0)) for _ in range(3))
        arrays = [x, packed(p), packed(q), packed(f, flat=True)]
        try:
            program = trace_arrays(logical(seed, n), [ArrayArg(wf.dtype(v.dtype), v.shape) for v in arrays], {})
        except wf.WarpfoldError:
            continue
        found = by_words(program, program.sizes_of([v.shape for v in arrays]))
        made += found is not program
        assert all(map(same, evaluate(found, arrays), evaluate(program, arrays))), seed
    assert made > SEEDS / 32


# --- constants that pad ---
def ordered(seed: int, types: tuple[DType, ...]) -> MonoidGraph:
    """A combine that chooses by order, mostly, and a constant for its padding."""
    rng, n = Random(seed), len(types)
    params = [Sym(Expr("param", (), t, SCALAR, i)) for i, t in enumerate((*types, *types))]
    identity = tuple(rng.choice(_constants(t)) for t in types)

    def value(t: DType, depth: int) -> Any:
        own = [p for p in params if p.dtype == t]
        if not depth or rng.random() < 0.2:
            return rng.choice((*own, *own, Sym(Expr("const", (), t, SCALAR, rng.choice(_constants(t))))))
        a, b = value(t, depth - 1), value(t, depth - 1)
        condition = rng.choice((a < b, a <= b, a == b, a > b, a != a, ~(a < b)))
        kinds = [wf.where(condition, a, b), wf.where(condition, b, a), wf.maximum(a, b), wf.minimum(a, b)]
        return rng.choice((*kinds, a + b if t != BOOL and rng.random() < 0.2 else kinds[0]))

    halves = [params[:n], params[n:]]
    best: list[Any] = []
    for i, t in enumerate(types):
        a, b = halves[0][i], halves[1][i]
        plain = rng.choice((wf.maximum(a, b), wf.minimum(a, b), wf.where(a < b, a, b), wf.where(b > a, b, a)))
        best.append(plain if rng.random() < 0.6 else value(t, 2))
    return MonoidGraph(
        "random", types, identity, tuple(cast(b, t).expr for b, t in zip(best, types, strict=True)), False, False
    )


def _constants(t: DType) -> tuple[Any, ...]:
    if t == BOOL:
        return False, True
    return (t.lowest, t.highest, t.lowest, t.highest, 0, *((-0.0, 1.0, -INF, INF) if t.is_float else (1, 100)))


def test_a_constant_that_pads_changes_no_state() -> None:
    made = 0
    for seed in range(SEEDS):
        rng = Random(seed)
        types = tuple(rng.choice((I8, U8, F32, F32, BOOL, I32)) for _ in range(rng.choice((1, 1, 2))))
        graph = ordered(seed, types)
        if not neutral(graph):
            continue
        made += 1
        own = np.random.default_rng(seed)
        states = [_states(own, t) for t in types]
        padding = [np.full_like(s, v) for s, v in zip(states, graph.identity, strict=True)]
        for side in (combine(graph, padding, states), combine(graph, states, padding)):
            assert all(same(a.astype(b.dtype), b) for a, b in zip(side, states, strict=True)), seed
    assert made > SEEDS / 32


def _states(rng: Any, t: DType) -> Any:
    if t.is_float:
        return np.concatenate([rng.choice([*SPECIAL, t.lowest, t.highest], 200), rng.standard_normal(100)]).astype(
            t.numpy
        )
    low, high = (0, 1) if t == BOOL else (int(t.lowest), int(t.highest))
    near = rng.choice([low, high, 0, 1, min(high, 99), min(high, 100), min(high, 101)], 200)
    return np.concatenate([near, rng.integers(low, high, 100, endpoint=True)]).astype(t.numpy)
