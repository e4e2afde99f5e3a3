"""The check of ``warpfold run``, tested by mutation: a kernel with a mistake must fail it, and a correct one must pass.

A *twin* of a kernel is the same program with a mistake in its fold, compiled and run, while the check sees the correct
program. The command makes the input arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from covering import some

from warpfold.commands import run
from warpfold.commands.programs.run import launched
from warpfold.commands.requests.request import Request
from warpfold.compiler.dtypes import BOOL, I32, I64, DType
from warpfold.compiler.errors import WarpfoldError
from warpfold.compiler.program.cuts.steps import Steps
from warpfold.compiler.program.functions import bitcast, where
from warpfold.compiler.program.graph import ELEMENT, Expr, MonoidGraph, Program, rewrite, walk
from warpfold.compiler.program.library.reductions import FUNCTIONS
from warpfold.compiler.program.symbols import Sym, constant
from warpfold.runtime.calls.operands import Operands
from warpfold.runtime.programs import plans, row_cuts
from warpfold.runtime.programs.plans import PreparedProgram

N = 500
SHAPE = f"256x{N}"
LANE = 5
USERS = """
import warpfold as wf

@wf.monoid(identity=(1, 0, 0, 1), commutative=False)
def matrices(x, y):
    (a, b, c, d), (e, f, g, h) = x, y
    return a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h

def product(a, b, c, d):
    return wf.fold(matrices, a, b, c, d)

@wf.monoid(identity=(1.0, 0.0), commutative=False)
def affine(x, y):
    return x[0] * y[0], x[1] * y[0] + y[1]

@wf.monoid(identity=(float("-inf"), 0.0))
def softmax(x, y):
    (m, s), (n, t) = x, y
    k = wf.maximum(m, n)
    base = wf.where(k == float("-inf"), 0.0, k)
    return k, s * wf.exp(m - base) + t * wf.exp(n - base)

def normalizer(x):
    return wf.fold(softmax, x, 1)
"""
Mutation = Callable[[MonoidGraph, tuple[Expr, ...]], tuple[MonoidGraph, tuple[Expr, ...]]]


@pytest.fixture(scope="module", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WARPFOLD_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("users") / "users.py"
    path.write_text(USERS)
    return path


# --- the mistakes ------------------------------------------------------------------------------------------------
def wrong_identity(graph: MonoidGraph, lifts: tuple[Expr, ...]) -> tuple[MonoidGraph, tuple[Expr, ...]]:
    """Pads with 1 where the identity is 0, with 0 elsewhere, and with the other truth value."""
    values = [not v if t == BOOL else 1 if v == 0 else 0 for v, t in zip(graph.identity, graph.state, strict=True)]
    return replace(graph, identity=tuple(values)), lifts


def _omitting(which: Callable[[Sym], Sym]) -> Mutation:
    def omit(graph: MonoidGraph, lifts: tuple[Expr, ...]) -> tuple[MonoidGraph, tuple[Expr, ...]]:
        out = which(Sym(Expr("iota", (), I32, ELEMENT)))
        pairs = zip(lifts, graph.identity, strict=True)
        return graph, tuple(where(out, constant(v, e.dtype), Sym(e)).expr for e, v in pairs)

    return omit


dropped_element = _omitting(lambda i: i == N - 1)
dropped_element.__name__ = "dropped_element"
wrong_lane = _omitting(lambda i: i // 4 % 32 == LANE)
wrong_lane.__name__ = "wrong_lane"


def an_ulp_too_many(graph: MonoidGraph, lifts: tuple[Expr, ...]) -> tuple[MonoidGraph, tuple[Expr, ...]]:
    """Every combined float is the next float away from zero."""

    def next_one(e: Expr) -> Expr:
        word: DType | None = {32: I32, 64: I64}.get(e.dtype.bits) if e.dtype.is_float else None
        return e if word is None else bitcast(bitcast(Sym(e), word) + 1, e.dtype).expr

    return replace(graph, combine=tuple(map(next_one, graph.combine))), lifts


def swapped_sides(graph: MonoidGraph, lifts: tuple[Expr, ...]) -> tuple[MonoidGraph, tuple[Expr, ...]]:
    """The right state is combined first."""
    n = len(graph.state)
    params = [e for e in walk(graph.combine) if e.op == "param"]
    moved = {p.digest: replace_value(p, (p.value + n) % (2 * n)) for p in params}  # type: ignore[operator]
    return replace(graph, combine=rewrite(graph.combine, moved)), lifts


def replace_value(e: Expr, value: int) -> Expr:
    return Expr(e.op, e.args, e.dtype, e.space, value)


def swapped_operands(program: Program) -> Program:
    """Swaps the operands of every difference and quotient, in the fold and after it."""

    def swap(roots: tuple[Expr, ...]) -> tuple[Expr, ...]:
        nodes = [e for e in walk(roots) if e.op in ("sub", "div", "shl") and e.space != ELEMENT]
        return rewrite(roots, {e.digest: Expr(e.op, e.args[::-1], e.dtype, e.space, e.value) for e in nodes})

    fold = program.reduces[0]
    graph = fold.value
    assert isinstance(graph, MonoidGraph)
    outputs = swap(program.outputs)
    inner = replace(graph, combine=swap(graph.combine))
    (now,) = (e for e in walk(outputs) if e.op == "reduce")
    return replace(program, outputs=rewrite(outputs, {now.digest: replace_value(now, inner)}))  # type: ignore[arg-type]


def with_mistake(program: Program, mutation: Mutation) -> Program:
    swapped = {}
    for e in program.reduces:
        assert isinstance(e.value, MonoidGraph)
        graph, lifts = mutation(e.value, e.args)
        swapped[e.digest] = Expr("reduce", lifts, e.dtype, e.space, graph, e.where)
    return replace(program, outputs=rewrite(program.outputs, swapped))


def judged(request: Request, change: Callable[[Program], Program] | None = None) -> run.Outcome:
    """The outcome of running the changed program and checking it as the correct one."""
    arrays = request.operands(request.arrays, "emulator")
    whole = made = request.prepared(arrays)
    ready = whole.steps[0].prepared
    if change is not None:
        made = _made(request, arrays, change)
        assert made.steps[0].prepared.key != ready.key, "no mistake was made"
    outcome = run.Outcome(ready, arrays, launched(arrays, made), False, 0, 0, whole=whole)
    outcome.checks = run.checks(request, outcome)
    return outcome


def _made(request: Request, arrays: Operands, change: Callable[[Program], Program]) -> PreparedProgram:
    """The preparation of the changed program."""
    right = row_cuts.cut

    def wrong(*args: Any, **how: Any) -> Steps:
        found = right(*args, **how)
        if len(found.steps) > 1 or found.steps[0].program.reads_again:  # cuts are tried that are not taken
            return found
        (step,) = found.steps
        program = change(step.program)
        return Steps((replace(step, program=program, numbered=(step.reduced,) if program.uses_index else ()),))

    def forget() -> None:
        row_cuts._steps.cache_clear()
        plans.forget()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_cuts, "cut", wrong)
        forget()
        made = request.prepared(arrays)
    forget()
    return made


def request_for(name: str, users: Path | None = None, dtype: str = "f32") -> Request:
    return Request(name if name in FUNCTIONS else f"{users}:{name}", (), SHAPE, dtype, "1")


# --- twins -------------------------------------------------------------------------------------------------------
PLAIN = [name for name in FUNCTIONS if not name.startswith("nan")]
OF_USERS = ("product", "affine", "normalizer")
ROUNDED = ("sum", "prod", "mean", "var", "std", "norm", "logsumexp", "nansum", "dot", "describe", *OF_USERS)
OF_LANES = ("sum", "prod", "min", "argmax", "any", "all", "var", "logsumexp", "array_equal", "nanmax")
OF_OPERANDS = ("ptp", "mean", "var", "std", "mean_var", "logsumexp", "describe")
TWINS = [
    *((name, wrong_identity) for name in (*PLAIN, *OF_USERS)),
    *((name, dropped_element) for name in (*FUNCTIONS, *OF_USERS)),
    *((name, wrong_lane) for name in OF_LANES),
    *((name, an_ulp_too_many) for name in ROUNDED),
    *((name, swapped_sides) for name in ("product", "affine")),
    *((name, swapped_operands) for name in OF_OPERANDS),
]
OF_TYPES = [
    *((name, kind, mistake) for kind in ("f64", "i32", "bool") for name in ("sum", "prod", "max")
      for mistake in (wrong_identity, dropped_element)
      if (kind, name, mistake) != ("bool", "prod", wrong_identity)),
    *((name, "f64", an_ulp_too_many) for name in ("sum", "prod", "var")),
]  # fmt: skip


def named(value: object) -> str:
    return value if isinstance(value, str) else str(getattr(value, "__name__", value))


def fails(request: Request, mistake: Any) -> bool:
    change = mistake if mistake is swapped_operands else lambda p: with_mistake(p, mistake)
    return not judged(request, change).passed


@pytest.mark.parametrize(("name", "mistake"), some(TWINS, 16), ids=named)
def test_a_twin_does_not_pass(name: str, mistake: Any, users: Path) -> None:
    assert fails(request_for(name, users), mistake)


@pytest.mark.parametrize(("name", "kind", "mistake"), some(OF_TYPES, 11), ids=named)
def test_a_twin_of_another_type_does_not_pass(name: str, kind: str, mistake: Any) -> None:
    assert fails(request_for(name, dtype=kind), mistake)


def test_the_last_of_equals_does_not_pass() -> None:
    for name, last in (("argmin", np.argmin), ("argmax", np.argmax)):
        request = request_for(name)
        (x,) = request.arrays
        arrays = request.operands(request.arrays, "emulator")
        wrong = N - 1 - last(x[:, ::-1], axis=1)
        whole = request.prepared(arrays)
        outcome = run.Outcome(whole.steps[0].prepared, arrays, [wrong], False, 0, 0, whole=whole)
        outcome.checks = run.checks(request, outcome)
        assert not outcome.passed


@pytest.mark.parametrize("name", ["dot", "sum", "var", "logsumexp", "max", "affine"])
def test_one_row_is_enough(name: str, users: Path) -> None:
    request = Request(name if name in FUNCTIONS else f"{users}:{name}", (), f"{N}", "f32")
    assert fails(request, dropped_element)
    assert judged(request).passed


# --- no false alarm ----------------------------------------------------------------------------------------------
PLANS = ("", "", "vector=1", "finish=two_kernels", "walk=blocked", "lanes=1,warps=1", "cta=serial", "unroll=1")
KINDS = ("f32", "f32", "f64", "f16", "bf16", "i32", "u8", "i64", "bool", "c64", "f8e5m2")
PARAMS = {"var": ("", "correction=1"), "norm": ("", "ord=1", "ord=3", "ord=inf"), "sum": ("", "initial=3")}
GIVEN: tuple[Callable[[Any, Any], Any], ...] = (
    lambda _rng, x: np.full(x.shape, 0.1),
    lambda rng, x: x * 10.0 ** rng.uniform(-4, 3, x.shape),
    lambda _rng, x: x + 1000,
    lambda rng, x: np.where(rng.random(x.shape) < 0.01, x * 1e6, x),
    lambda _rng, x: np.round(x * 3),
)
"""Arrays whose roundings are not random, or that are ill-conditioned."""


def drawn(seed: int, users: Path, folder: Path) -> Request:
    """A random request."""
    rng = np.random.default_rng(seed)
    name = str(rng.choice([*FUNCTIONS, *OF_USERS]))
    rank = int(rng.integers(1, 4))
    shape = tuple(int(2 ** rng.uniform(0, (16, 7, 5)[rank - 1])) for _ in range(rank))
    axes = sorted(rng.choice(rank, int(rng.integers(1, rank + 1)), replace=False))
    kind, plan = str(rng.choice(KINDS)), str(rng.choice(PLANS))
    op = name if name in FUNCTIONS else f"{users}:{name}"
    params = tuple(filter(None, [str(rng.choice(PARAMS.get(name, ("",))))]))
    axis = ",".join(map(str, axes))
    if rng.random() < 0.6 or kind not in ("f32", "f64", "f16") or name in OF_USERS:
        return Request(op, (), "x".join(map(str, shape)), kind, axis, plan, seed, params)
    files = []
    given = GIVEN[int(rng.integers(len(GIVEN)))]
    for i in range(2 if name in ("dot", "vecdot", "allclose", "array_equal") else 1):
        files.append(str(folder / f"x{i}.npy"))
        with np.errstate(over="ignore"):
            np.save(files[-1], given(rng, rng.standard_normal(shape)).astype(f"f{int(kind[1:]) // 8}"))
    return Request(op, tuple(files), None, None, axis, plan, 0, params)


@pytest.mark.parametrize("seed", some(range(40), 19))
@pytest.mark.filterwarnings("ignore")
def test_no_right_result_fails(seed: int, users: Path, tmp_path: Path) -> None:
    try:
        outcome = judged(drawn(seed, users, tmp_path))
    except WarpfoldError:
        return  # complex numbers have no order, and some plans do not fit
    assert outcome.passed, [(c.error, c.allowed, c.worst) for c in outcome.checks]
