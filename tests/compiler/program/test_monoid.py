"""Users' monoids: tracing, comparison with the Python function, and every mistake in one."""

# ruff: noqa: N802, ARG005 - monoids are values, though functions make them; mistakes need not use their arguments

from __future__ import annotations

import functools
import inspect
import operator
from typing import Any

import numpy as np
import pytest
from graph_numpy import combine, identity, tree
from hypothesis import given, settings
from hypothesis import strategies as st
from tasks import AFFINE, SUMS

from warpfold.compiler.dtypes import BOOL, C64, C128, F32, F64, I8, I32, I64, U8, DType
from warpfold.compiler.errors import TraceError, WarpfoldError
from warpfold.compiler.program.fold import count, fold, index
from warpfold.compiler.program.functions import maximum, minimum, where
from warpfold.compiler.program.graph import ELEMENT
from warpfold.compiler.program.library import monoids
from warpfold.compiler.program.monoid import Monoid, monoid
from warpfold.compiler.program.symbols import Sym
from warpfold.compiler.program.tracing import program
from warpfold.compiler.program.values import cast


@monoid(identity=(0, 0.0, 0.0), commutative=False)
def LAST(a: Any, b: Any) -> Any:
    """The count, the sum and the last element: a state of several types whose order matters."""
    (n, s, x), (m, t, y) = a, b
    return n + m, s + t, where(m > 0, y, x)


@monoid(identity=lambda *state: (state[0].highest, state[1].lowest), has_identity=False)
def RANGE(a: Any, b: Any) -> Any:
    return minimum(a[0], b[0]), maximum(a[1], b[1])


@monoid(identity=0)
def XOR(a: Any, b: Any) -> Any:
    """Exclusive or: a combine of one value."""
    return a ^ b


# --- what tracing gives ---
def test_a_monoid_stays_a_python_function() -> None:
    assert XOR(6, 3) == 5
    assert AFFINE((2, 1), (3, 4)) == (6, 7)
    assert (XOR.name, XOR.commutative, AFFINE.commutative, RANGE.has_identity) == ("XOR", True, False, False)


def test_the_identity_follows_the_types_of_the_state() -> None:
    assert RANGE.typed(I8, F32).identity == (127, float("-inf"))
    assert LAST.typed(I32, F32, F64).identity == (0, 0.0, 0.0)
    assert [type(v) for v in LAST.typed(I32, F32, F64).identity] == [int, float, float]
    assert SUMS.typed(BOOL).identity == (False,)
    assert monoid(identity=[0, np.float32(1.5)])(SUMS.function).typed(I32, F32).identity == (0, 1.5)


def test_typing_twice_traces_once() -> None:
    assert RANGE.typed(I8, F32) is RANGE.typed(I8, F32)


def test_the_location_of_a_monoid_is_its_function() -> None:
    assert LAST.location is not None
    assert (LAST.location.file, LAST.location.line) == (__file__, inspect.getsourcelines(LAST.function)[1])
    assert monoid(identity=0)(operator.add).location is None


def test_any_callable_of_two_arguments_is_a_combine() -> None:
    class Adder:
        def __call__(self, a: Any, b: Any) -> Any:
            return a + b

    for function in (operator.add, Adder(), functools.partial(lambda k, a, b: a + b, 0), lambda a, b, k=0: a + b):
        assert monoid(identity=0)(function).typed(F32).combine[0].op == "add"


@settings(max_examples=200)
@given(st.lists(st.integers(-9, 9), min_size=3, max_size=3), st.lists(st.integers(-9, 9), min_size=3, max_size=3))
def test_the_traced_combine_computes_what_the_function_does(a: list[int], b: list[int]) -> None:
    cases: list[tuple[Monoid, tuple[DType, ...]]] = [
        (AFFINE, (I32, I32)), (AFFINE, (F64, F64)), (SUMS, (I64, F32, F64)), (SUMS, (I32,)), (XOR, (I8,))
    ]  # fmt: skip
    for m, state in cases:
        left = tuple(t.numpy.type(v) for t, v in zip(state, a, strict=False))
        right = tuple(t.numpy.type(v) for t, v in zip(state, b, strict=False))
        got = m(left, right) if len(state) > 1 else (m(left[0], right[0]),)
        found = combine(m.typed(*state), left, right)
        assert [v.dtype for v in found] == [t.numpy for t in state]
        assert [v.item() for v in found] == [v.item() for v in got]


@settings(max_examples=100)
@given(st.lists(st.integers(-3, 3), max_size=40))
def test_a_tree_keeps_the_order_of_a_monoid_that_is_not_commutative(numbers: list[int]) -> None:
    scales = np.array(numbers, np.int64)
    expected = (1, 0)
    for s in numbers:
        expected = AFFINE(expected, (s, s + 1))
    found = tree(AFFINE.typed(I64, I64), (scales, scales + 1))
    assert [int(v) for v in found] == [(v + 2**63) % 2**64 - 2**63 for v in expected]


@settings(max_examples=100)
@given(st.lists(st.integers(-100, 100), max_size=30))
def test_a_state_of_several_types(numbers: list[int]) -> None:
    xs = np.array(numbers, np.float64)
    graph = LAST.typed(I32, F64, F64)
    n, total, last = tree(graph, (np.ones(len(xs), np.int32), xs, xs))
    assert (int(n), float(total), float(last)) == (len(xs), xs.sum(), xs[-1] if len(xs) else 0.0)
    assert [v.item() for v in combine(graph, identity(graph), (n, total, last))] == [n, total, last]


# --- programs ---
def test_a_program_knows_its_inputs_and_results() -> None:
    def weighted(x: Any, w: Any) -> Any:
        total, weight = fold(SUMS, x * w, w)
        return total / weight, weight / count(F32)

    p = program(weighted, (F32, F32))
    assert (p.name, p.inputs, [o.dtype for o in p.outputs]) == ("weighted", (F32, F32), [F32, F32])
    assert len(p.reduces) == 1
    assert program(weighted, (F32, F64), "other").name == "other"


def test_parameters_are_baked_in() -> None:
    def scaled(x: Any, *, factor: float = 1.0) -> Any:
        return fold(SUMS, x * factor)

    assert program(scaled, (F32,), factor=2.0).digest != program(scaled, (F32,), factor=3.0).digest


def test_a_fold_of_numbers_and_of_positions() -> None:
    """Numbers take the type of the first symbolic value, if it holds their kind."""
    p = program(lambda x: fold(SUMS, x, 1, 0.5, True, index(I32)), (F32,), "p")
    assert [o.dtype for o in p.outputs] == [F32, F32, F32, BOOL, I32]
    p = program(lambda x: fold(SUMS, x, 1, 0.5, True, index()), (I8,), "p")
    assert [o.dtype for o in p.outputs] == [I8, I8, F64, BOOL, I64]
    assert p.uses_index


# --- mistakes ---
def caught(code: str, action: Any, inside: Any = None) -> WarpfoldError:
    """The error that ``action`` ends in, located in the source of ``inside``."""
    with pytest.raises(TraceError, match=f"{code}: ") as found:
        action()
    made = found.value
    lines, first = inspect.getsourcelines(inside or action)
    assert made.location is not None
    assert made.location.file == __file__
    assert first <= made.location.line < first + len(lines)
    assert made.location.text in lines
    return made


@pytest.mark.parametrize(
    ("function", "required"),
    [(lambda a: a, 1), (lambda a, b, c: a, 3), (lambda: 0, 0), (lambda *a: a, 0), (lambda a, *, b: a, 1)],
)
def test_a_combine_takes_two_states(function: Any, required: int) -> None:
    made = caught("WF207", lambda: monoid(identity=0)(function), function)
    assert f"combine function <lambda> takes {required} required argument(s): expected 2" in made.message


@pytest.mark.parametrize(
    ("returned", "found"), [(lambda a, b: (a, b), 2), (lambda a, b: (), 0), (lambda a, b: [a] * 3, 3)]
)
def test_a_combine_returns_one_value_for_each_of_the_state(returned: Any, found: int) -> None:
    made = caught("WF208", lambda: monoid(identity=0)(returned).typed(F32), returned)
    assert f"returns {found} value(s): expected 1, one per value of the state" in made.message


@pytest.mark.parametrize(
    ("function", "found"),
    [
        (lambda a, b: a + cast(b, F64), "f64"), (lambda a, b: a > b, "bool"), (lambda a, b: (None,), "NoneType"),
        (lambda a, b: np.float32(1), "float32"), (lambda a, b: "x", "str"),
    ],
)  # fmt: skip
def test_a_combine_returns_the_types_of_the_state(function: Any, found: str) -> None:
    made = caught("WF209", lambda: monoid(identity=0)(function).typed(F32), function)
    assert f"returns {found} as value 0: expected f32, the type of the state" in made.message
    typed = found in ("f64", "bool")
    assert made.remedy.startswith("cast it: wf.cast(value, 'f32')" if typed else "return what operators and")


@pytest.mark.parametrize("state", [(F32,), (F32, F32)])
def test_a_combine_without_a_return_is_an_error(state: tuple[DType, ...]) -> None:
    def forgetful(a: Any, b: Any) -> None:
        pass

    made = caught("WF228", lambda: monoid(identity=(0,) * len(state))(forgetful).typed(*state), forgetful)
    assert made.message == "combine function forgetful returns nothing: expected the combined state"
    assert made.remedy == "end it with a return"


def test_a_plain_number_takes_the_type_of_the_state() -> None:
    assert monoid(identity=0)(lambda a, b: 7).typed(F32).combine[0].value == 7.0
    inside = lambda a, b: 700  # noqa: E731
    caught("WF204", lambda: monoid(identity=0)(inside).typed(U8), test_a_plain_number_takes_the_type_of_the_state)


@pytest.mark.parametrize(("neutral", "found"), [(0, 1), ((0, 0, 0), 3), ((), 0), (lambda *t: (0,), 1), ([0], 1)])
def test_an_identity_has_one_value_for_each_of_the_state(neutral: Any, found: int) -> None:
    made = caught("WF210", lambda: monoid(identity=neutral)(RANGE.function).typed(F32, F32), RANGE.function)
    assert f"the identity of RANGE has {found} value(s), but the fold has 2" in made.message


@pytest.mark.parametrize(
    ("neutral", "t", "code"),
    [("0", U8, "WF227"), (None, I32, "WF250"), (1j, I64, "WF227"), (0.5, I32, "WF204"), (np.float32(0.5), I32, "WF204"),
     (-1, U8, "WF204"), (float("inf"), I64, "WF204")],
)  # fmt: skip
def test_an_identity_is_a_number_that_the_state_can_hold(neutral: Any, t: DType, code: str) -> None:
    caught(code, lambda: monoid(identity=neutral)(XOR.function).typed(t), XOR.function)


def test_a_combine_may_not_branch_or_capture_an_array() -> None:
    table = np.arange(4)

    def branching(a: Any, b: Any) -> Any:
        return a if a > b else b

    def capturing(a: Any, b: Any) -> Any:
        return a + b * table

    caught("WF201", lambda: monoid(identity=0)(branching).typed(F32), branching)
    assert "type ndarray" in caught("WF205", lambda: monoid(identity=0)(capturing).typed(F32), capturing).message


def test_a_result_cannot_be_reduced_again() -> None:
    def twice(x: Any) -> Any:
        return fold(SUMS, fold(SUMS, x))

    made = caught("WF211", lambda: program(twice, (F32,)), twice)
    assert made.message == "SUMS is folded over values that are reduced already"


@pytest.mark.parametrize(
    ("function", "position"),
    [
        (lambda x: x, 0),
        (lambda x: (fold(SUMS, x), x + 1), 1),
        (lambda x: 3, 0),
        (lambda x: count(F32), 0),
        (lambda x: "x", 0),
    ],
)
def test_a_result_is_made_with_fold(function: Any, position: int) -> None:
    made = caught("WF212", lambda: program(function, (F32,)), function)
    assert made.message == f"result {position} of <lambda> was never reduced"


def test_the_functions_of_a_program_get_symbols() -> None:
    seen: list[Any] = []
    program(lambda x: seen.append(x) or fold(SUMS, x), (I32,))
    assert isinstance(seen[0], Sym)
    assert (seen[0].dtype, seen[0].expr.space) == (I32, ELEMENT)


@pytest.mark.parametrize(("fold_it", "code", "text"), [
    (lambda x: fold("sum", x), "WF130", "cannot reduce with a str"),
    (lambda x: fold(XOR), "WF210", "the identity of XOR has 1 value(s), but the fold has 0"),
    (lambda x: fold(XOR, x, x), "WF210", "the identity of XOR has 1 value(s), but the fold has 2"),
    (lambda x: fold(Monoid("PAIR", RANGE.function, lambda a, b: (a.lowest, b.lowest)), x), "WF210",
     "the identity of PAIR has 2 value(s), but the fold has 1"),
    (lambda x: fold(XOR, x + fold(SUMS, x)), "WF213",
     "<lambda> folds values with XOR that depend on the result of the fold"),
])  # fmt: skip
def test_a_wrong_fold_is_located_where_it_is_made(fold_it: Any, code: str, text: str) -> None:
    with pytest.raises(WarpfoldError, match=f"^{code}: ") as caught:
        program(fold_it, (I32,))
    assert text in caught.value.message
    assert caught.value.location is not None
    assert caught.value.location.file == __file__
    assert caught.value.location.line == fold_it.__code__.co_firstlineno


def test_a_lift_of_too_many_values_is_located_at_its_monoid() -> None:
    lifting = monoid(identity=(0, 0), lift=lambda x: (x, x, x))(RANGE.function)
    made = caught("WF210", lambda: program(lambda x: fold(lifting, x, x, x), (F32,)), RANGE.function)
    assert made.message.startswith("the identity of RANGE has 2 value(s), but the fold has 3: expected one per value")
    assert made.remedy == "give one identity per value, and a lift that returns as many"


def test_an_identity_that_is_an_array_is_refused_where_it_is_given() -> None:
    for neutral in (np.zeros(2), (0, np.zeros(2))):
        with pytest.raises(TraceError, match=r"^WF227: "):
            monoid(identity=neutral)(RANGE.function)  # type: ignore[arg-type]


# --- lift, finish and parameters ---
def scaled(x: Any, *, factor: float = 1.0) -> Any:
    return x * factor


def rooted(s: Any, *, power: float = 0.5) -> Any:
    return s * power


ENERGY = monoid(identity=0, lift=scaled, finish=rooted)(lambda a, b, *, slope=1: a + b * slope)


def test_the_parameters_of_a_monoid_are_those_of_its_functions() -> None:
    assert ENERGY.parameters == {"factor": 1.0, "slope": 1, "power": 0.5}
    assert XOR.parameters == {}
    assert XOR.given({"factor": 2}) == XOR, "what it does not take is not bound"
    bound = ENERGY.given({"factor": 2.0, "slope": 3})
    assert bound.parameters == ENERGY.parameters
    assert (bound.lift(5), bound(1, 2), bound.finish(4)) == (10.0, 7, 2.0)  # type: ignore[misc]
    assert bound.location is not None
    assert bound == ENERGY.given({"slope": 3, "factor": 2.0})


def test_numbers_that_compare_equal_in_python_are_bound_separately() -> None:
    made = [ENERGY.given({"slope": k}) for k in (1, 1.0, True, 2)]
    assert len({*made}) == 4
    assert made[0].typed(I32).digest != made[3].typed(I32).digest
    with pytest.raises(TraceError, match="WF209"):
        made[1].typed(I32)  # 1.0 makes a float of it; a cached trace of 1 would not


def test_zeros_of_both_signs_are_different_identities() -> None:
    def latest(a: Any, b: Any) -> Any:
        return where(b == 0, a, b)

    plus, minus = (monoid(identity=z, commutative=False)(latest) for z in (0.0, -0.0))
    assert plus != minus
    assert [str(m.typed(F64).identity[0]) for m in (plus, minus)] == ["0.0", "-0.0"]
    assert plus == monoid(identity=0.0, commutative=False)(latest)


@pytest.mark.parametrize(
    ("make", "kind"),
    [(lambda: monoid(identity=0)(max), "builtins.max"), (lambda: monoid(identity=0)(3), "a int"),  # type: ignore[arg-type]
     (lambda: monoid(identity=0, lift=max)(XOR.function), "builtins.max")],
)  # fmt: skip
def test_only_functions_with_known_parameters_are_accepted(make: Any, kind: str) -> None:
    with pytest.raises(WarpfoldError, match=f"WF130: cannot reduce with {kind}") as found:
        make()
    assert found.value.location is not None
    assert found.value.location.file == __file__


def test_a_state_may_hold_complex_numbers() -> None:
    graph = SUMS.typed(C64, F32)
    assert graph.state == (F32, F32, F32)
    assert graph.identity == (0.0, 0.0, 0.0)
    product = monoid(identity=1 + 0j)(lambda a, b: a * b).typed(C128)
    assert product.identity == (1.0, 0.0)
    assert [v.item() for v in combine(product, (1.0, 2.0), (3.0, 4.0))] == [-5.0, 10.0]
    with pytest.raises(TraceError, match="WF209: combine function <lambda> returns f32 as value 0: expected c64"):
        monoid(identity=0)(lambda a, b: abs(a + b)).typed(C64)
    with pytest.raises(
        TraceError, match="WF227: the identity of <lambda> holds a complex: expected numbers of the sta"
    ):
        monoid(identity=1j)(lambda a, b: a * b).typed(F32)


@pytest.mark.parametrize("promise", ["commutative", "has_identity", "idempotent"])
def test_declared_properties_are_stored_as_given(promise: str) -> None:
    for given_value in (True, False):
        assert getattr(monoid(identity=0, **{promise: given_value})(XOR.function), promise) is given_value  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("combine", "what"),
    [(lambda a, b: a + fold(monoids.SUM, b), "wf.fold"), (lambda a, b: a + b * index(F32), "wf.index"),
     (lambda a, b: (a + b) / count(F32), "wf.count")],
)  # fmt: skip
def test_a_combine_may_use_only_its_two_states(combine: Any, what: str) -> None:
    with pytest.raises(TraceError, match=f"WF218: combine function <lambda> uses {what}: expected only the values"):
        monoid(identity=0)(combine).typed(F32)
