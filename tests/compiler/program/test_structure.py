"""A monoid that declares what it is: the same results as without, the kernel of the library's, and claims that fail."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from covering import covering

import warpfold as wf
from warpfold.compiler.driver.graph_json import from_json, to_json
from warpfold.compiler.dtypes import F32, I32
from warpfold.compiler.program.graph import SCALAR, Expr

TYPES = [
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
]


def pair(x: Any) -> tuple[Any, Any]:
    return x, wf.index()


def _none(greatest: bool) -> Callable[[Any, Any], Any]:
    return lambda t, i: (t.lowest if greatest else t.highest, i.highest)


@cache
def first(key: str, *, declared: bool, finish: Any = None, identity: bool = False) -> Any:
    """An extreme and its number, written otherwise than the library's."""

    @wf.monoid(
        identity=_none(key == "greatest"), has_identity=identity, lift=pair, finish=finish,
        structure=wf.First(key) if declared else None,  # type: ignore[arg-type]
    )  # fmt: skip
    def extreme(a: Any, b: Any) -> Any:
        (x, i), (y, j) = a, b
        nan, other = (wf.isnan(x), wf.isnan(y)) if x.dtype.is_float else (x != x, y != y)
        before = (x > y if key == "greatest" else x < y) | (nan & ~other)
        left = before | (((x == y) | (nan & other)) & (i < j))
        return wf.where(left, x, y), wf.where(left, i, j)

    return extreme


def number(_: Any, i: Any) -> Any:
    return i


def made(t: str, shape: tuple[int, ...]) -> Any:
    """Few different values, so that many are equal; among floats both zeros, infinities and NaN."""
    kind = np.dtype(getattr(ml_dtypes, t, t))
    rng = np.random.default_rng(len(t) + shape[0])
    if kind.kind in "fV":
        x = rng.choice(np.array([0.0, -0.0, 1.5, -2.0, 3.0, np.inf, -np.inf]), shape)
        return np.where(rng.random(shape) < 0.01, np.nan, x).astype(kind)
    return rng.choice(
        np.array([0, 1, 2, 100, 100]) if kind.kind != "i" else np.array([-100, -1, 0, 99, 99]), shape
    ).astype(kind)


def bits(found: Any) -> list[bytes]:
    return [np.asarray(x).tobytes() for x in (found if isinstance(found, tuple) else (found,))]


@covering(
    ("t", TYPES), ("how", ["all", "where", "nan"]), ("finish", [number, None]),
    ("layout", [((3, 500), 1), ((200, 8), 0)]), ("key", ["least", "greatest"]),
)  # fmt: skip
def test_a_declared_monoid_has_the_results_of_an_undeclared_one(
    key: str, t: str, layout: tuple[tuple[int, int], int], finish: Any, how: str
) -> None:
    """Of rows and columns, with and without a mask, of the number alone, and of the element, whose bits are kept."""
    shape, axis = layout
    x, mask = made(t, shape), np.random.default_rng(1).random(shape) < 0.3
    mask[0, 0], mask[:, 1] = True, True
    given: dict[str, Any] = {"all": {}, "where": {"where": mask}, "nan": {"nan": "ignore"}}[how]
    mine, theirs = (first(key, declared=d, finish=finish, identity=how == "where") for d in (True, False))
    found, expected = (wf.reduce(x, m, axis=axis, device="emulator", **given) for m in (mine, theirs))
    assert bits(found) == bits(expected)


@covering(("t", TYPES), ("layout", [((64, 5000), 1), ((5000, 64), 0)]), ("key", ["least", "greatest"]))
def test_it_has_the_kernel_of_the_library(key: str, t: str, layout: tuple[tuple[int, int], int]) -> None:
    shape, axis = layout
    mine = wf.compile(first(key, declared=True, finish=number), shape, t, axis=axis)
    theirs = wf.compile("argmin" if key == "least" else "argmax", shape, t, axis=axis)
    (own,), (named,) = mine.artifact.kernels, theirs.artifact.kernels
    assert (own.main.plan, own.main.facts, own.state) == (named.main.plan, named.main.facts, named.state)
    if t not in ("int64", "float64"):  # which have no words, but pairs that the user combines
        for op in ("min.s16x2", "max.NaN.f32", "min.s64", "fma.rn.bf16x2", "setp"):
            assert mine.ptx.count(op) == theirs.ptx.count(op)


def test_an_identity_of_its_own_stays() -> None:
    """Where there is no element the results are those of the monoid, which no word has."""
    for key in ("least", "greatest"):
        mine, theirs = (first(key, declared=d, finish=number, identity=True) for d in (True, False))
        for n in (0, 3):
            x, nothing = np.ones((2, n), np.float32), np.zeros((2, n), bool)
            for how in ({}, {"where": nothing}):
                found, expected = (wf.reduce(x, m, axis=1, **how) for m in (mine, theirs))  # type: ignore[arg-type]
                assert bits(found) == bits(expected)


def test_beside_others_and_in_parts() -> None:
    x = made("float32", (4, 300))
    mine, theirs = (first("least", declared=d, finish=number) for d in (True, False))
    for found, expected in zip(
        wf.reduce(x, (mine, "max", mine), axis=1), wf.reduce(x, (theirs, "max", theirs), axis=1), strict=True
    ):
        assert bits(found) == bits(expected)
    parts = (wf.partial(x[:, a:b], what=mine, axis=1, start=a) for a, b in ((0, 100), (100, 300)))
    np.testing.assert_array_equal(wf.finish(wf.merge(*parts)), wf.reduce(x, theirs, axis=1))
    offsets = np.array([0, 3, 150, 300])
    assert bits(wf.segment_reduce(x, offsets, mine, axis=1)) == bits(wf.segment_reduce(x, offsets, theirs, axis=1))


def test_states_do_not_depend_on_the_declaration() -> None:
    x = made("float32", (300,))
    mine, theirs = (
        wf.partial(part, what=first("least", declared=d)) for d, part in ((True, x[:100]), (False, x[100:]))
    )
    assert mine.cut.digest == theirs.cut.digest


def careless(a: Any, b: Any) -> Any:
    """Without a rule for NaN."""
    (x, i), (y, j) = a, b
    left = (x > y) | ((x == y) & (i < j))
    return wf.where(left, x, y), wf.where(left, i, j)


def last(a: Any, b: Any) -> Any:
    (x, i), (y, j) = a, b
    left = (x > y) | ((x == y) & (i > j))
    return wf.where(left, x, y), wf.where(left, i, j)


def largest(a: Any, b: Any) -> Any:
    (x, i), (y, j) = a, b
    left = (abs(x) > abs(y)) | ((abs(x) == abs(y)) & ((x > y) | ((x == y) & (i < j))))
    return wf.where(left, x, y), wf.where(left, i, j)


def reverse(a: Any, b: Any) -> Any:
    (x, i), (y, j) = a, b
    left = (y > x) | ((x == y) & (i < j))
    return wf.where(left, x, y), wf.where(left, i, j)


@pytest.mark.parametrize(
    ("wrong", "t"), [(careless, "float32"), (last, "int32"), (largest, "int32"), (last, "int8"), (reverse, "bool")]
)
@pytest.mark.parametrize("lift", [None, pair])
def test_a_wrong_claim_is_found(wrong: Any, t: str, lift: Any) -> None:
    m = wf.monoid(identity=_none(True), has_identity=False, structure=wf.First("greatest"), lift=lift)(wrong)
    law = wf.check_monoid(m, *((t,) if lift else (t, "int32")))["structure"]
    assert law.verdict == "refuted"
    assert "first(" in str(law.counterexample)
    with pytest.warns(wf.WarpfoldWarning, match=r"WF221: (.*\n)*  structure: combine"):
        wf.reduce(np.ones(9, t), m if lift else lambda x: wf.fold(m, x, wf.index())[1])


def test_what_the_library_declares_is_proved() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert wf.check_monoid(wf.ARGMAX, "f32", "i32")["structure"].verdict == "proved"
    assert not [law for law in wf.check_monoid(wf.SUM, "f32").laws if law.law == "structure"]


def test_what_cannot_be_declared() -> None:
    with pytest.raises(wf.WarpfoldError, match=r"WF138: structure cannot be 'least': expected wf.First"):
        wf.monoid(identity=0, structure="least")  # type: ignore[arg-type]
    with pytest.raises(wf.WarpfoldError, match=r"WF138: structure cannot be First\(key='last'\)"):
        wf.monoid(identity=0, structure=wf.First("last"))  # type: ignore[arg-type]
    one = wf.monoid(identity=0, structure=wf.First("least"))(lambda a, b: wf.minimum(a, b))
    with pytest.raises(wf.WarpfoldError, match=r"WF249: <lambda> is declared a First, but its state is \(f32\)"):
        wf.reduce(np.ones(3, np.float32), one)


def test_an_artifact_keeps_the_declaration() -> None:
    graph = first("least", declared=True).typed(F32, I32)
    made = Expr("reduce", (), F32, SCALAR, graph)
    (read,) = from_json("program", to_json((made,)))
    assert (read.value, read.digest) == (graph, made.digest)
    assert graph.digest != first("least", declared=False).typed(F32, I32).digest


def test_declared_repeats_are_read_once() -> None:
    x = np.broadcast_to(np.array([1, 3, 3], np.float32)[:, None], (3, 1 << 33))
    assert wf.reduce(x, first("greatest", declared=True, finish=number)) == 1 << 33


def test_its_gradient_goes_to_the_element_that_it_finds() -> None:
    x = np.array([[1, 3, 3, -2], [0, -4, 5, 5]], np.float32)

    def spread(x: Any, m: Any) -> Any:
        return wf.sum(wf.reduce(x, lambda row: wf.fold(m, row, wf.index())[0], axis=-1))

    for key, places in (("greatest", ([0, 1], [1, 2])), ("least", ([0, 1], [3, 1]))):
        expected = np.zeros_like(x)
        expected[places] = 1
        m = first(key, declared=True)
        _, found = wf.value_and_grad(lambda x, m=m: spread(x, m))(x)
        np.testing.assert_array_equal(found, expected)
