"""Tracing: types as in NumPy, weak Python numbers, and every mistake shown at the user's line."""

# ruff: noqa: ARG005, SIM300 - both operand orders; mistakes need not use their arguments

from __future__ import annotations

import inspect
import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from graph_numpy import evaluate
from hypothesis import given, settings
from hypothesis import strategies as st

from warpfold.compiler.dtypes import ALL, BF16, BOOL, C64, F16, F32, F64, I8, I32, I64, U8, U32, U64, DType, promote
from warpfold.compiler.errors import DTypeError, TraceError, WarpfoldError
from warpfold.compiler.program import frames, functions
from warpfold.compiler.program.complexes import Complex
from warpfold.compiler.program.functions import where
from warpfold.compiler.program.graph import SCALAR, Expr
from warpfold.compiler.program.symbols import Sym, constant
from warpfold.compiler.program.values import cast

NATIVE = [t for t in ALL if t != BF16]


def sym(t: DType, number: int = 0) -> Sym:
    return Sym(Expr("param", (), t, SCALAR, number))


def caught(code: str, action: Callable[..., Any], *args: Any) -> WarpfoldError:
    """The error that ``action`` ends in, which must be located in its source."""
    with pytest.raises(TraceError, match=f"{code}: ") as found:
        action(*args)
    made = found.value
    lines, first = inspect.getsourcelines(action)
    assert made.location is not None
    assert made.location.file == __file__
    assert first <= made.location.line < first + len(lines)
    assert made.location.text.strip() in str(made)
    assert made.location.text in lines
    return made


# --- types ---
@pytest.mark.parametrize(("a", "b"), list(itertools.product(NATIVE, NATIVE)), ids=str)
def test_two_types_promote_as_in_numpy(a: DType, b: DType) -> None:
    assert promote(a, b).numpy == np.result_type(a.numpy, b.numpy)
    assert promote(a, b) == promote(b, a)


@pytest.mark.parametrize(
    ("other", "result"),
    [(BF16, BF16), (BOOL, BF16), (I8, BF16), (U8, BF16), (F16, F32), (F32, F32), (F64, F64), (I32, F64), (U64, F64)],
    ids=str,
)
def test_bf16_promotes_to_a_type_that_holds_both(other: DType, result: DType) -> None:
    assert promote(BF16, other) == promote(other, BF16) == result


@pytest.mark.parametrize("t", NATIVE, ids=str)
@pytest.mark.parametrize("number", [True, 3, 2.5], ids=repr)
@pytest.mark.parametrize(
    "op", [operator.add, operator.mul, operator.truediv, operator.lt, functions.minimum], ids=lambda f: f.__name__
)
def test_python_numbers_are_weak(t: DType, number: float, op: Callable[..., Any]) -> None:
    reference = np.minimum if op is functions.minimum else op
    expected = np.asarray(reference(np.ones(2, t.numpy), number)).dtype
    assert op(sym(t), number).dtype.numpy == expected
    other = np.asarray(reference(number, np.ones(2, t.numpy))).dtype
    assert op(number, sym(t)).dtype.numpy == other


@pytest.mark.parametrize(
    "scalar", [np.float32(2), np.float64(2), np.int8(2), np.bool_(True), np.uint64(2), np.array(2.0)]
)
@pytest.mark.parametrize("t", [I32, F32], ids=str)
def test_numpy_scalars_are_strong_on_either_side(scalar: Any, t: DType) -> None:
    expected = np.result_type(t.numpy, scalar.dtype)
    assert (sym(t) * scalar).dtype.numpy == expected
    assert (scalar * sym(t)).dtype.numpy == expected


@pytest.mark.parametrize("t", ALL, ids=str)
def test_real_functions_give_floats(t: DType) -> None:
    for function in (functions.sqrt, functions.exp, functions.log):
        assert function(sym(t)).dtype == (t if t.is_float else F64)
    for function in (functions.floor, functions.ceil, abs):
        assert function(sym(t)).dtype == t
    for function in (functions.isnan, functions.isinf):
        assert function(sym(t)).dtype == BOOL
    assert (sym(t) / sym(t)).dtype == (t if t.is_float else F64)


def test_where_takes_the_type_of_its_values() -> None:
    condition = sym(I32) > 0
    assert where(condition, sym(F32), 0).dtype == F32
    assert where(condition, 0.0, sym(F16)).dtype == F16
    assert where(condition, 1, 2.5).dtype == F64
    assert where(condition, True, False).dtype == BOOL
    assert where(sym(I32), 1, 0).expr.args[0].op == "ne"


def test_a_cast_to_the_same_type_adds_no_node() -> None:
    x = sym(F32)
    assert cast(x, "f32") is x
    assert cast(x, bool).dtype == BOOL
    assert cast(1, "f16").expr.op == "const"
    assert cast(cast(0.1, F32), F64).expr.op == "cast", "widening must not bring back what rounding to f32 lost"
    with pytest.raises(DTypeError, match="WF105"):
        cast(x, "complex32")


def test_a_cast_to_a_type_of_arrays_only() -> None:
    """A complex value is a pair of floats, and nothing computes in 8-bit floats."""
    z = cast(sym(F32), "complex64")
    assert isinstance(z, Complex)
    assert (z.dtype, z.imag.expr.value) == (C64, 0.0)
    for t in ("f8e4m3fn", "f8e5m2"):
        assert caught("WF206", lambda a: cast(a, t), sym(F32)).message == f"operator cast is not defined for {t}"  # noqa: B023


def test_sums_of_bools_are_or_and_products_are_and() -> None:
    a, b = sym(BOOL), sym(BOOL, 1)
    assert [(a + b).expr.op, (a * b).expr.op] == ["or", "and"]
    assert [functions.minimum(a, b).expr.op, functions.maximum(a, b).expr.op] == ["and", "or"]


def test_a_symbol_has_no_hash_and_a_readable_repr() -> None:
    assert repr(sym(F32)) == "Sym(param: f32)"
    with pytest.raises(TypeError, match="WF252: a symbolic value cannot be a key of a dict or a member of a set"):
        hash(sym(F32))


# --- values ---
BINARY = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.and_,
    operator.or_, operator.xor, operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne,
]  # fmt: skip


@settings(max_examples=400)
@given(st.sampled_from(BINARY), st.sampled_from([I8, I32, I64, U8, U32, F32, F64]), st.data())
def test_operators_compute_what_numpy_computes(op: Callable[..., Any], t: DType, data: st.DataObject) -> None:
    if t.is_float and op in (operator.and_, operator.or_, operator.xor):
        return
    numbers = st.integers(-50, 50) if t.kind != "uint" else st.integers(0, 50)
    a, b = (np.asarray(data.draw(numbers), t.numpy) for _ in range(2))
    if b == 0 and op in (operator.floordiv, operator.mod, operator.truediv):
        return
    x, y = sym(t, 0), sym(t, 1)
    (value,) = evaluate((op(x, y).expr,), {x.expr.digest: a, y.expr.digest: b})
    with np.errstate(all="ignore"):
        expected = op(a, b)
    assert value.dtype == expected.dtype
    assert np.allclose(value, expected, rtol=1e-6, atol=1e-5)


@given(st.integers(-100, 100), st.integers(0, 6))
def test_unary_operators_and_shifts(number: int, places: int) -> None:
    x = sym(I32)
    known = {x.expr.digest: np.asarray(number, np.int32)}
    made = [
        -x,
        +x,
        ~x,
        abs(x),
        x << places,
        x >> places,
        functions.floor(x),
        cast(x, I8),
        cast(x, BOOL),
        1 << abs(x % 8),
        5 - x,
    ]
    values = [int(v) for v in evaluate([m.expr for m in made], known)]
    wrapped = int(np.asarray(number).astype(np.int8))
    assert values == [
        -number, number, ~number, abs(number), number << places, number >> places, number, wrapped, number != 0,
        1 << (number % 8), 5 - number,
    ]  # fmt: skip


@pytest.mark.parametrize("t", [BOOL, U8, U32, U64, I8], ids=str)
def test_invert_turns_every_bit(t: DType) -> None:
    x = sym(t)
    for number in (0, 1):
        (value,) = evaluate(((~x).expr,), {x.expr.digest: np.asarray(number, t.numpy)})
        assert value == ~np.asarray(number, t.numpy)
        assert (~x).dtype == t


@pytest.mark.parametrize("x", [0.0, -0.0, 1.5, -2.5, math.inf, -math.inf, math.nan])
def test_classifying_and_rounding(x: float) -> None:
    s = sym(F64)
    made = [functions.isnan(s), functions.isinf(s), functions.floor(s), functions.ceil(s), abs(s)]
    values = evaluate([m.expr for m in made], {s.expr.digest: np.asarray(x)})
    expected = [np.isnan(x), np.isinf(x), np.floor(x), np.ceil(x), np.abs(x)]
    assert np.array_equal(np.array(values, float), np.array(expected, float), equal_nan=True)


# --- constants ---
@pytest.mark.parametrize("t", [t for t in ALL if t.is_integer], ids=str)
def test_a_constant_is_within_its_type(t: DType) -> None:
    for value in (t.lowest, t.highest):
        assert constant(value, t).expr.value == value
    for value in (t.lowest - 1, t.highest + 1, 0.5, math.nan, math.inf):
        with pytest.raises(
            TraceError, match=rf"WF204: the constant .* does not fit {t.name}: expected a whole number from"
        ):
            constant(value, t)
    assert type(constant(2.0, t).expr.value) is int


def test_a_constant_beyond_all_floats_is_infinite() -> None:
    assert constant(10**400, F32).expr.value == math.inf
    assert constant(-(10**400), F64).expr.value == -math.inf


# --- mistakes ---
@pytest.mark.parametrize(
    "mistake",
    [
        lambda a: a if a > 0 else -a,
        lambda a: a and a,
        lambda a: not a,
        lambda a: 0 < a < 1,
        lambda a: max(a, 0),
        lambda a: a in (1, 2),
    ],
)
def test_branching_says_to_write_where(mistake: Callable[..., Any]) -> None:
    made = caught("WF201", mistake, sym(F32))
    assert "branches on a symbolic value" in made.message
    assert "wf.where(condition, a, b)" in made.remedy


@pytest.mark.parametrize("mistake", [lambda a: (*a,), lambda a: len(a), lambda a: sum(a)])
def test_a_scalar_is_not_a_tuple(mistake: Callable[..., Any]) -> None:
    made = caught("WF202", mistake, sym(F32))
    assert "cannot be unpacked or iterated" in made.message
    assert "one element at a time, and wf.fold reduces all" in made.remedy


@pytest.mark.parametrize(
    ("mistake", "kind"),
    [
        (lambda a: float(a), "float"),
        (lambda a: math.exp(a), "float"),
        (lambda a: int(a), "int"),
        (lambda a: [1, 2][a], "int"),
        (lambda a: range(a), "int"),
    ],
)
def test_a_symbol_is_not_a_python_number(mistake: Callable[..., Any], kind: str) -> None:
    made = caught("WF203", mistake, sym(F32))
    assert f"cannot become a Python {kind}" in made.message
    assert "wf.cast" in made.remedy


def test_a_constant_that_does_not_fit() -> None:
    made = caught("WF204", lambda a: a + 300, sym(U8))
    assert made.message == "the constant 300 does not fit u8: expected a whole number from 0 to 255"


TABLE = np.arange(3)


@pytest.mark.parametrize(
    ("mistake", "kind"),
    [
        (lambda a: a + TABLE, "ndarray"), (lambda a: TABLE + a, "ndarray"), (lambda a: TABLE * 1.0 < a, "ndarray"),
        (lambda a: a == TABLE, "ndarray"), (lambda a: TABLE == a, "ndarray"), (lambda a: where(TABLE, a, a), "ndarray"),
        (lambda a: TABLE & a, "ndarray"), (lambda a: a * [1], "list"), (lambda a: a + "x", "str ('x')"),
        (lambda a: a + None, "NoneType"), (lambda a: a * 1j, "complex"), (lambda a: np.complex64(1j) + a, "complex"),
        (lambda a: functions.exp(TABLE), "ndarray"),
    ],
)  # fmt: skip
def test_arrays_and_other_things_cannot_be_captured(mistake: Callable[..., Any], kind: str) -> None:
    made = caught("WF205", mistake, sym(I32))
    assert f"a value of type {kind}: expected a symbolic value or a Python number" in made.message
    assert made.remedy.startswith("compute with Python numbers and the function's arguments; pass another array as")


@pytest.mark.parametrize(
    ("mistake", "t", "op"),
    [
        (lambda a: a & 1, F32, "&"),
        (lambda a: a | a, F64, "|"),
        (lambda a: 1 ^ a, F16, "^"),
        (lambda a: a << 1, F32, "<<"),
        (lambda a: 1 >> a, F32, ">>"),
        (lambda a: a >> a, BOOL, ">>"),
        (lambda a: ~a, F32, "~"),
        (lambda a: a - a, BOOL, "-"),
        (lambda a: -a, BOOL, "-"),
        (lambda a: a // a, BOOL, "//"),
        (lambda a: a % a, BOOL, "%"),
    ],
)
def test_an_operator_without_a_meaning_is_refused(mistake: Callable[..., Any], t: DType, op: str) -> None:
    assert caught("WF206", mistake, sym(t)).message == f"operator {op} is not defined for {t.name}"


def test_the_line_of_a_node_is_the_users() -> None:
    made = sym(F32) + 1
    assert made.expr.where is not None
    assert made.expr.where.file == __file__
    assert "sym(F32) + 1" in made.expr.where.text


def test_a_folder_with_a_similar_name_is_the_users() -> None:
    """Only files in the compiler's own folder are skipped."""
    code = compile("location = frames.caller()", frames.__file__.replace("compiler", "compiler_of_mine"), "exec")
    found: dict[str, Any] = {"frames": frames}
    exec(code, found)
    assert found["location"].line == 1
    assert "compiler_of_mine" in found["location"].file


def test_bf16_scalars_are_those_of_ml_dtypes() -> None:
    assert BF16.numpy == np.dtype(ml_dtypes.bfloat16)


@pytest.mark.parametrize("name", ["sum", "T", "astype", "shape"])
def test_an_element_is_not_an_array(name: str) -> None:
    x = sym(F32)
    with pytest.raises(
        TraceError, match=f"(?s)WF229: an element of an array has no attribute {name}.*wf.fold"
    ) as found:
        getattr(x, name)
    assert isinstance(found.value, AttributeError)
    assert found.value.location is not None
    assert not hasattr(x, name)


@pytest.mark.parametrize(("index", "text"), [(0, "0"), (slice(1, None), "a slice"), ("mean", "'mean'")])
def test_a_scalar_has_no_entries(index: Any, text: str) -> None:
    def assigns(a: Any) -> None:
        a[index] = 0

    def deletes(a: Any) -> None:
        del a[index]

    for mistake, done in ((lambda a: a[index], "asked for"), (assigns, "assigned to"), (deletes, "deleted")):
        made = caught("WF238", mistake, sym(F32))
        assert made.message == f"a symbolic value has no entries: {text} was {done}"
        assert "slice the array before the call" in made.remedy


@pytest.mark.parametrize("mistake", [lambda a: {a: 1}, lambda a: {a}, lambda a: a in {1.0}, lambda a: {}.get(a)])
def test_a_symbol_is_not_a_key(mistake: Callable[..., Any]) -> None:
    assert "write (x == 1) | (x == 2)" in caught("WF252", mistake, sym(F32)).remedy


@pytest.mark.parametrize(
    ("call", "remedy"),
    [
        (np.exp, "write wf.exp"), (lambda x: np.hypot(x, x), "no such function here"), (np.sign, "write wf.sign"),
        (lambda x: np.power(x, 2, dtype="f8"), "write x ** y"), (np.sum, "wf.fold(wf.SUM, x)"),
        (np.amax, "wf.fold(wf.MAX, x)"), (np.average, "call wf.mean outside of the function"),
        (np.std, "call wf.std outside of the function"), (np.sinc, "there is no such function here"),
        (lambda x: np.where(x > 0, x, 0), "write wf.where"), (lambda x: np.heaviside(x, 1), "operators, wf.where, and"),
    ],
)  # fmt: skip
def test_numpys_functions_suggest_ours(call: Any, remedy: str) -> None:
    with pytest.raises(TraceError) as found:
        call(sym(F32))
    assert remedy in found.value.remedy


@pytest.mark.parametrize("mistake", [lambda a: a @ a, lambda a: a @ 2.0, lambda a: [1.0] @ a])
def test_elements_have_no_matrix_product(mistake: Any) -> None:
    assert "wf.fold(wf.SUM, x * y)" in caught("WF239", mistake, sym(F32)).remedy


@pytest.mark.parametrize("form", [".3f", "d", ">8", "e"])
def test_a_symbol_has_no_number_to_format(form: str) -> None:
    made = caught("WF240", lambda a: format(a, form), sym(F32))
    assert repr(form) in made.message
    assert "print(x)" in made.remedy
    assert f"{sym(F32)}" == repr(sym(F32))


@pytest.mark.parametrize("mistake", [lambda a: math.floor(a), lambda a: math.ceil(a), lambda a: math.trunc(a)])
def test_python_rounding_functions_are_refused(mistake: Any) -> None:
    assert "Python int" in caught("WF203", mistake, sym(F32)).message


def test_quotient_and_remainder_at_once() -> None:
    a = sym(F32)
    for found, expected in ((divmod(a, 3.0), (a // 3.0, a % 3.0)), (divmod(3.0, a), (3.0 // a, 3.0 % a))):
        assert [f.expr for f in found] == [e.expr for e in expected]


@pytest.mark.parametrize(
    "call", [np.exp, lambda x: np.maximum(x, 1), lambda x: np.add.reduce(x), lambda x: np.where(x > 0, x, 0), np.sum]
)
def test_numpys_functions_do_not_accept_symbols(call: Any) -> None:
    with pytest.raises(TraceError, match=r"WF217: numpy\.\w+ does not take symbolic values") as caught:
        call(sym(F32))
    assert "test_symbols.py" in str(caught.value)


def test_a_numpy_scalar_on_the_left_is_an_operand() -> None:
    x = sym(F32)
    assert (np.float32(2) * x).expr == (x.__rmul__(np.float32(2))).expr
    assert (np.float64(2) - x).dtype == F64
    assert (np.int32(2) < x).dtype == BOOL
    with pytest.raises(TraceError, match="WF205"):
        np.ones(3) * x
