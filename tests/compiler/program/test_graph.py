"""The expression graph: what its digest depends on, and the order of a walk."""

from __future__ import annotations

from inspect import signature
from typing import Any

import pytest

from warpfold.compiler.dtypes import ALL, BOOL, F32, F64, I32, I64
from warpfold.compiler.errors import Location
from warpfold.compiler.program.fold import fold
from warpfold.compiler.program.graph import ELEMENT, KEPT, REDUCED, SCALAR, Expr, Program, rewrite, union, walk
from warpfold.compiler.program.library import reductions
from warpfold.compiler.program.monoid import monoid
from warpfold.compiler.program.tracing import program


def leaf(i: int) -> Expr:
    return Expr("input", (), F32, ELEMENT, i)


def test_graphs_of_equal_structure_are_equal_whatever_their_lines() -> None:
    a = Expr("add", (leaf(0), leaf(1)), F32, ELEMENT, where=Location("a.py", 1))
    b = Expr("add", (leaf(0), leaf(1)), F32, ELEMENT, where=Location("b.py", 2))
    assert a == b
    assert hash(a) == hash(b)
    assert a.digest == b.digest
    assert a != "add"


@pytest.mark.parametrize(
    "other",
    [
        Expr("sub", (leaf(0), leaf(1)), F32, ELEMENT), Expr("add", (leaf(1), leaf(0)), F32, ELEMENT),
        Expr("add", (leaf(0), leaf(1)), F64, ELEMENT), Expr("add", (leaf(0), leaf(1)), F32, KEPT),
        Expr("add", (leaf(0), leaf(1)), F32, ELEMENT, 0), Expr("add", (leaf(0),), F32, ELEMENT),
    ],
)  # fmt: skip
def test_any_difference_of_structure_changes_the_digest(other: Expr) -> None:
    assert Expr("add", (leaf(0), leaf(1)), F32, ELEMENT) != other


@pytest.mark.parametrize(("a", "b"), [(0.0, -0.0), (1, True), (1, 1.0), (float("inf"), float("nan"))])
def test_constants_that_compare_equal_in_python_may_differ(a: Any, b: Any) -> None:
    assert Expr("const", (), F32, SCALAR, a) != Expr("const", (), F32, SCALAR, b)


def test_a_walk_gives_operands_first_and_each_node_once() -> None:
    x, y = leaf(0), leaf(1)
    s = Expr("add", (x, y), F32, ELEMENT)
    t = Expr("mul", (s, Expr("add", (x, y), F32, ELEMENT)), F32, ELEMENT)
    assert [e.op for e in walk((t, s))] == ["input", "input", "add", "mul"]
    assert list(walk((y, x))) == [y, x]
    assert list(walk(())) == []


def test_a_rewrite_replaces_nodes_and_rebuilds_only_their_users() -> None:
    x, y = leaf(0), leaf(1)
    left, right = Expr("neg", (x,), F32, ELEMENT), Expr("neg", (y,), F32, ELEMENT)
    whole = Expr("add", (left, right), F32, ELEMENT, where=Location("a.py", 1))
    z = leaf(2)
    (found, other) = rewrite((whole, right), {x.digest: z})
    assert found == Expr("add", (Expr("neg", (z,), F32, ELEMENT), right), F32, ELEMENT)
    assert found.where == whole.where
    assert other is right
    assert rewrite((whole,), {}) == (whole,)
    assert rewrite((left,), {left.digest: x}) == (x,)
    assert rewrite((whole,), {x.digest: y, y.digest: x})[0].args == (right, left), "a swap, not one after the other"


def test_a_walk_of_a_deep_graph_with_shared_nodes_is_fast() -> None:
    """Each level uses the one below twice: 2^3000 paths, and deeper than Python's stack."""
    e = leaf(0)
    for _ in range(3000):
        e = Expr("add", (e, e), F32, ELEMENT)
    assert sum(1 for _ in walk((e,))) == 3001


def test_an_elementwise_result_varies_along_the_dims_of_all_arguments() -> None:
    assert union(iter(())) == SCALAR
    assert union(iter((SCALAR, KEPT))) == KEPT
    assert union(iter((REDUCED, KEPT, SCALAR))) == ELEMENT


REAL = {"vecdot": "dot"}
WHOLE = REAL | {f"nan{n}": n for n in ("sum", "prod", "min", "max", "mean", "argmin", "argmax")}
"""Functions that are others where nothing is complex, and where nothing can be NaN."""


def test_all_library_programs_of_all_types_have_their_own_digest() -> None:
    seen: dict[str, str] = {}
    for t in ALL:
        for name, function in reductions.FUNCTIONS.items():
            if name == "ptp" and t == BOOL:
                continue
            types = (t,) * len([p for p in signature(function).parameters.values() if p.kind is not p.KEYWORD_ONLY])
            digest = program(function, types).digest
            same = (REAL if t.is_float else WHOLE).get(name, name)
            same = "sum" if (same, t) == ("count_nonzero", BOOL) else same
            assert seen.setdefault(digest, f"{same} {t}") == f"{same} {t}"
            assert program(function, types, "other name").digest == digest


def test_the_digest_covers_the_monoid_and_not_its_name() -> None:
    def make(name: str, identity: float, commutative: bool, function: Any) -> Program:
        function.__name__ = name
        m = monoid(identity=identity, commutative=commutative)(function)
        return program(lambda x: fold(m, x), (F32,))

    base = make("a", 0, True, lambda a, b: a + b)
    assert base.digest == make("b", 0.0, True, lambda p, q: p + q).digest
    assert base.digest != make("a", 1, True, lambda a, b: a + b).digest
    assert base.digest != make("a", 0, False, lambda a, b: a + b).digest
    assert base.digest != make("a", 0, True, lambda a, b: b + a).digest


def test_the_properties_of_a_program() -> None:
    p = program(reductions.argmax, (I32,))
    assert p.uses_index
    assert not program(reductions.sum, (I32,)).uses_index
    (reduce,) = p.reduces
    assert reduce.op == "reduce"
    assert reduce.space == KEPT
    assert p.outputs[0].dtype == I64


def test_values_of_a_state_that_do_not_depend_on_elements() -> None:
    """Only a count: it is made of constants and other counts."""
    assert program(reductions.var, (F32,)).shared == {0}
    assert program(reductions.mean_var, (F32,)).shared == {0}
    for function in (reductions.sum, reductions.logsumexp, reductions.argmax):
        assert program(function, (F32,)).shared == set()


def test_a_value_that_is_combined_with_an_element_is_not_shared() -> None:
    """Even though its lift is a constant."""

    @monoid(identity=(0.0, 0.0))
    def entangled(a: Any, b: Any) -> Any:
        return a[0] + b[0], a[1] + b[1] + a[0] * b[0]

    assert program(lambda x: fold(entangled, x, 0.0)[1], (F32,)).shared == set()
    assert program(lambda x: fold(entangled, 1.0, x)[1], (F32,)).shared == {0}
