"""Names of other libraries: the error names the equivalent here, which exists."""

from __future__ import annotations

import contextlib
import inspect
import json
import operator
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold.compiler.program.arrays import namespace
from warpfold.compiler.program.public_names import PACKING, PROGRAMS, REDUCTIONS
from warpfold.compiler.program.spelling import ELSEWHERE, METHODS, NAMES, PARAMETERS, SHARED

X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_another_library_suggests_ours(name: str) -> None:
    with pytest.raises(AttributeError, match=f"WF175: warpfold has no {name}\n") as caught:
        getattr(wf, name)
    assert f"help: write {NAMES[name]}" in str(caught.value)
    assert caught.value.location.file == __file__  # type: ignore[attr-defined]
    assert all(hasattr(wf, found) for found in re.findall(r"wf\.(\w+)", NAMES[name]))


def said(function: Any, *more: Any) -> str:
    """What a program of this function is told."""
    with pytest.raises(wf.WarpfoldError) as caught:
        wf.program(function)(X, *more)
    assert caught.value.location.file == __file__  # type: ignore[union-attr]
    return str(caught.value)


def test_a_name_without_an_equivalent_says_what_to_do() -> None:
    for name, remedy in ELSEWHERE.items():
        with pytest.raises(AttributeError, match=f"WF175: warpfold has no {name}\n") as caught:
            getattr(wf, name)
        assert f"help: {remedy}" in str(caught.value)
        assert all(hasattr(wf, found) for found in re.findall(r"wf\.(\w+)", remedy))


def test_a_method_or_a_function_of_another_library_in_a_program_says_what_to_write() -> None:
    for name, remedy in METHODS.items():
        assert f"WF261: a symbolic array has no attribute {name}\n" in said(lambda x: getattr(x, name)())  # noqa: B023
        assert f"help: {remedy}" in said(lambda x: getattr(x, name))  # noqa: B023
    for name in ("exp", "softmax", "norm", "relu", "logsumexp", "unpack"):
        assert f"help: write wf.{name}(x)" in said(lambda x: getattr(x, name)())  # noqa: B023
    assert "WF217: numpy.asarray does not take symbolic values" in said(lambda x: np.asarray(x))
    assert "WF217: numpy.sum does not take symbolic values" in said(lambda x: np.sum(x))
    assert "help: write wf.sum(x, axis=...)" in said(lambda x: np.sum(x))
    assert "WF217: numpy.asarray" in said(lambda x: wf.reduce(x, lambda v: np.asarray(v)))
    torch = pytest.importorskip("torch")
    called: list[Any] = [lambda x: torch.softmax(x, -1), torch.exp, torch.sum, torch.relu]
    for name, call in zip(("softmax", "exp", "sum", "relu"), called, strict=True):
        assert f"WF217: torch.{name} does not take symbolic values" in said(lambda x: call(x))  # noqa: B023
        assert f"help: write wf.{name}" in said(lambda x: call(x))  # noqa: B023


def test_a_function_that_asks_for_numbers_is_named_with_what_to_write() -> None:
    """Libraries and Python raise a TypeError of their own; the location is the user's line, not one of theirs."""
    pandas, jnp = pytest.importorskip("pandas"), pytest.importorskip("jax.numpy")
    jax = pytest.importorskip("jax")
    asked: dict[str, Any] = {
        "jnp.exp": lambda x: jnp.exp(x), "jax.nn.softmax": lambda x: jax.nn.softmax(x), "bytes": lambda x: bytes(x),
        "np.zeros": lambda x: np.zeros(x), "json.dumps": lambda x: json.dumps(x),
        "numpy.asarray": lambda x: pandas.Series(x),
    }  # fmt: skip
    for name, function in asked.items():
        assert f"WF217: {name} does not take symbolic values" in said(function)
    assert "help: write wf.exp" in said(asked["jnp.exp"])
    assert "help: write wf.softmax" in said(asked["jax.nn.softmax"])
    with pytest.raises(wf.WarpfoldError, match="WF217: bytes does not"):
        wf.reduce(X, lambda x: bytes(x))
    for form in ("%d", "%x", "%c"):
        assert f"WF240: a symbolic value cannot be formatted as '{form}'" in said(lambda x: form % wf.sum(x))  # noqa: B023


def test_habits_of_pytorch_are_told_what_to_write() -> None:
    told: dict[str, Any] = {
        "write x.shape[axis] for an axis": lambda x: x.size(0), "write x.shape, without": lambda x: x * x.shape(),
        "an array is no function": lambda x: x(0), "nothing is computed in place: write wf.exp(x)": lambda x: x.exp_(),
        "in place: write x + y": lambda x: x.add_(1), "write slices": lambda x: x.chunk(2),
        "wf.value_and_grad(function), or": lambda x: x.sum().backward(), "pass the indices as an": lambda x: x[[0, 1]],
        "write x.__array_namespace__().tril(x)": lambda x: np.tril(x), "named": lambda x: x.named(),
        "expected x axis\n": lambda x: x.mean(1, True), "it is of type float": lambda _: 3.0,
        "to that of the program": lambda x: wf.sum(x, device="cuda"), "wf.sum(x)": lambda _: wf.sum(),
    }  # fmt: skip
    for text, function in told.items():
        assert text in said(function)
    with pytest.raises(
        wf.WarpfoldError, match=r"(?s)WF261: a symbolic array has no attribute requires_grad.*gradients"
    ):
        wf.program(lambda x: setattr(x, "requires_grad", True))(X)
    torch = pytest.importorskip("torch")
    for text, call in (
        ("warpfold moves no elements", lambda x: torch.cat([x, x])),
        ("take_along_axis", lambda x: torch.gather(x, 1, x)),
    ):
        assert text in said(call)


def test_calls_without_their_arrays_or_with_a_wrong_mask() -> None:
    for name in (*REDUCTIONS, *PROGRAMS):
        with pytest.raises(wf.WarpfoldError, match=r"WF\d+: ") as caught:
            getattr(wf, name)()
        assert caught.value.location is not None
    for name in ("dot", "vecdot", "allclose"):
        with pytest.raises(wf.WarpfoldError, match=rf"(?s)WF151: {name} needs the parameter 'y'.*wf.{name}\(x, y\)"):
            getattr(wf, name)(X)
    with pytest.raises(wf.WarpfoldError, match=r"(?s)WF176: SUM got 1 .*wf.reduce\(x, SUM\)"):
        wf.SUM(X)
    for mask in ("x > 0", {"a": 1}, lambda x: x > 0):
        with pytest.raises(wf.WarpfoldError, match=r"(?s)WF285: where is of type .*where=x > 0"):
            wf.sum(X, where=mask)


def test_functions_of_the_standard_say_what_arguments_they_take() -> None:
    xp = namespace
    mistakes: dict[str, Any] = {
        "WF176: tril got 2 ": lambda x: xp.tril(x, 1), "WF176: exp got 2 ": lambda x: xp.exp(x, 1),
        "WF127: triu takes no ": lambda x: xp.triu(x, diagonal=1), "WF151: add needs ": lambda x: xp.add(x),
        "WF151: astype needs ": lambda x: x.astype(), "WF285: x is of type int": lambda _: xp.flip(3),
        "WF285: indices is of type list": lambda x: xp.take(x, [0, 1]), "WF138: n cannot": lambda x: xp.diff(x, n="a"),
        "WF285: arrays is of type float": lambda x: xp.broadcast_arrays(x, 2.0),
        "WF256: axis (1,) is not": lambda x: xp.permute_dims(x, 1),
        "WF105: no rule for elements of type float32: expected one of int8": lambda _: xp.iinfo("f32"),
    }  # fmt: skip
    for text, mistake in mistakes.items():
        assert text in said(mistake)
    assert "help: write the others by name: k=" in said(lambda x: xp.tril(x, 1))


@pytest.mark.parametrize("name", [*PROGRAMS, *PACKING])
def test_no_array_in_the_place_of_one_has_a_code(name: str) -> None:
    """Beside one array, which makes the call one of a program, every other place is tried with what is no array."""
    function = getattr(wf, name)
    taken = [p for p in inspect.signature(function).parameters.values() if p.kind is not p.KEYWORD_ONLY]
    count = max(2, sum(p.default is p.empty for p in taken))
    for place in range(min(count, len(taken))):
        for wrong in (4, "a", None):
            xs: list[Any] = [X] * min(count, len(taken))
            xs[place] = wrong
            with contextlib.suppress(wf.WarpfoldError):
                function(*xs)


def test_what_no_symbolic_value_can_do_says_what_to_write() -> None:
    assert "WF282: the operator `in` asks for the elements" in said(lambda x: 2 in x)
    assert "wf.fold(wf.ANY, x == value)" in said(lambda x: wf.reduce(x, lambda v: 2 in v))
    assert "help: leave float() out, as in x * wf.sum(x)" in said(lambda x: x * float(wf.sum(x)))
    sizes: list[Any] = [
        lambda x: x.reshape(2.0, 3), lambda x: x.__array_namespace__().zeros(2.0), lambda x: x.reshape("a"),
        lambda x: x.__array_namespace__().broadcast_to(x, (2.0, 3)), lambda x: wf.unpack(wf.pack(x > 0), (2.0, 3)),
        lambda x: x.__array_namespace__().arange(x), lambda x: x.reshape(None), lambda x: x.reshape(True, -1),
    ]  # fmt: skip
    for function in sizes:
        assert re.search(r"WF283: .* is no size: expected a whole number.*\n.*\n.*help: write ", said(function))
    assert "help: write 2" in said(sizes[0])
    for mistake in (lambda x: wf.softmax(x, 0, 1), lambda x: wf.exp(x, x), lambda x: x.sum(0, 1)):
        assert re.search(r"WF176: \w+ got \d argument\(s\) by position: expected x", said(mistake))
    for mistake in (lambda x: wf.max(x, x), lambda x: x.max(axis=x)):
        assert re.search("WF256: axis given as an array.*\n.*\n.*wf.maximum", said(mistake))
    with pytest.raises(wf.WarpfoldError, match=r"WF103: .*got a ndarray of several elements.*\n.*\n.*wf.maximum"):
        wf.max(X, X)
    for call in (lambda: wf.scan(lambda a, b: a + b, X), lambda: wf.reduce(lambda a, b: a + b, X)):
        with pytest.raises(wf.WarpfoldError, match=r"WF245: .* got the function <lambda> in the place of its array"):
            call()
    for mask in (X, (X > 1).astype(np.int64), X.astype(np.uint8)):
        for call in (wf.softmax, wf.sum):
            with pytest.raises(wf.WarpfoldError, match=r"WF246|WF139") as caught:
                call(X, where=mask)
            assert "compare first, as in where=mask != 0" in str(caught.value)
    with pytest.raises(wf.WarpfoldError, match=r"(?s)WF289.*integers of 0 and 1 are compared first: mask != 0"):
        wf.softmax(X, where=(X > 1).astype(np.int32))
    with pytest.raises(wf.WarpfoldError, match=r"(?s)WF271.*logits come first, and then the numbers"):
        wf.cross_entropy(np.array([1, 2]), X)
    with pytest.raises(wf.WarpfoldError, match=r"WF403: .*memory chain none"):
        wf.softmax(X, plan="resident=foo")
    with pytest.raises(wf.WarpfoldError, match=r"(?s)WF132: running_var shares memory.*at .*test_spelling"):
        wf.batch_norm(X, running := X[0].copy(), running, training=True)


@pytest.mark.parametrize(
    ("name", "near"), [("SUMM", "SUM"), ("summ", "sum"), ("Argmax", "argmax"), ("MEAN", "mean"), ("monoids", "monoid")]
)
def test_a_misspelt_name_suggests_similar_ones(name: str, near: str) -> None:
    with pytest.raises(wf.WarpfoldError, match=rf"WF175: warpfold has no {name} \(did you mean {near}"):
        getattr(wf, name)
    assert not hasattr(wf, name)


@pytest.mark.parametrize("name", ["__wrapped__", "__path_hooks__"])
def test_optional_module_attributes_of_python_are_missing_as_usual(name: str) -> None:
    with pytest.raises(AttributeError, match="module 'warpfold' has no attribute"):
        getattr(wf, name)


@pytest.mark.parametrize("key", PARAMETERS)
def test_a_parameter_of_another_library_suggests_ours(key: str) -> None:
    with pytest.raises(wf.WarpfoldError, match=f"WF127: var takes no parameter '{key}'") as caught:
        wf.var(X, **{key: 1})
    assert f"help: write {PARAMETERS[key]}" in str(caught.value)


@pytest.mark.parametrize(("key", "near"), [("keepdimz", "keepdims"), ("axiss", "axis"), ("corection", "correction")])
def test_a_misspelt_parameter(key: str, near: str) -> None:
    with pytest.raises(wf.WarpfoldError, match=f"did you mean {near}"):
        wf.var(X, **{key: 1})


def test_parameters_of_other_calls_name_the_call_they_belong_to() -> None:
    for key in ("keepdims", "out"):
        with pytest.raises(wf.WarpfoldError, match=f"{key}= belongs to calls such as wf.reduce"):
            wf.compile("sum", (3,), **{key: True})
    assert {"axis", "keepdims", "out", "where"} < set(SHARED)


def test_parameters_of_a_monoid_are_suggested() -> None:
    with pytest.raises(
        ValueError, match=r"(?s)WF127: wf\.monoid takes no parameter 'lifts': it takes identity, .*mean lift"
    ) as caught:
        wf.monoid(identity=0, lifts=lambda x: x)  # type: ignore[call-arg]
    assert caught.value.location.file == __file__  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("option", "given", "expected"),
    [
        ("commutative", "no", "True or False"), ("has_identity", 0, "True or False"),
        ("idempotent", None, "True or False"),
        ("lift", "x", "a function"), ("finish", 2.0, "a function"),
    ],
)  # fmt: skip
def test_options_of_a_monoid_have_their_types(option: str, given: Any, expected: str) -> None:
    with pytest.raises(ValueError, match=f"WF138: {option} cannot be {given!r}: expected {expected}"):
        wf.monoid(identity=0, **{option: given})


@pytest.mark.parametrize("given", ["yes", None, (1,)])
def test_keepdims_is_a_bool(given: Any) -> None:
    for call in (wf.sum, wf.argmax, lambda x, **how: wf.reduce(x, wf.SUM, **how)):
        with pytest.raises(ValueError, match=r"WF138: keepdims cannot be .*: expected True or False"):
            call(X, keepdims=given)
    assert wf.sum(X, axis=1, keepdims=np.True_).shape == (len(X), 1)  # type: ignore[call-overload]


class Adding:
    """A class instead of a monoid."""


REDUCED: list[tuple[Any, str, str]] = [
    (sum, "builtins.sum", "write 'sum'"), (max, "builtins.max", "write 'max'"), (np.add, "numpy.add", "write 'sum'"),
    (np.mean, "numpy.mean", "write 'mean'"), (operator.mul, "operator.mul", "write 'prod'"),
    (wf.argmax, "wf.argmax", "write 'argmax'"), (["sum"], "a list", "write a tuple"), (Adding, "a type", "wf.monoid"),
    (3, "a int", "wf.monoid"), ({"a": "sum"}, "a dict", "name a reduction, such as 'sum'"),
]  # fmt: skip


@pytest.mark.parametrize(("what", "kind", "remedy"), REDUCED)
def test_an_object_that_cannot_reduce_is_answered_with_what_can(what: Any, kind: str, remedy: str) -> None:
    with pytest.raises(wf.WarpfoldError, match=f"WF130: cannot reduce with {kind}: expected a monoid") as caught:
        wf.reduce(X, what)
    assert remedy in caught.value.remedy
    assert caught.value.location.file == __file__  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("program", "remedy"),
    [
        (lambda x: wf.fold(x, wf.SUM), "the monoid comes first"),  # type: ignore[arg-type]
        (lambda x: wf.fold("max", x), "write wf.fold(wf.MAX, x)"),  # type: ignore[arg-type]
        (lambda x: wf.fold(wf.sum, x), "write wf.fold(wf.SUM, x)"),  # type: ignore[arg-type]
        (lambda x: wf.fold(lambda a, b: a + b, x), "make a monoid of the combine function"),  # type: ignore[arg-type]
    ],
)
def test_an_object_that_cannot_fold_is_answered_with_what_can(program: Any, remedy: str) -> None:
    with pytest.raises(wf.WarpfoldError, match=r"WF130: cannot reduce with .*: expected a monoid\n") as caught:
        wf.reduce(X, program)
    assert remedy in caught.value.remedy


def test_arrays_come_before_the_reduction() -> None:
    with pytest.raises(wf.WarpfoldError, match=r"(?s)WF130: cannot reduce with a ndarray.*what reduces comes last"):
        wf.reduce(wf.SUM, X)


def nothing(x: Any) -> None:
    wf.fold(wf.SUM, x)


@pytest.mark.parametrize(
    ("what", "text"),
    [
        (nothing, "the function of nothing returns nothing: expected one or several results"),
        (wf.monoid(identity=0, lift=lambda _: None)(lambda a, b: a + b), "the lift of <lambda> returns nothing: "),
        (wf.monoid(identity=0, finish=lambda _: None)(lambda a, b: a + b), "the function of <lambda> returns nothing"),
    ],
)  # fmt: skip
def test_a_missing_return_is_located(what: Any, text: str) -> None:
    with pytest.raises(TypeError, match=f"WF228: {text}") as caught:
        wf.reduce(X, what)
    assert "def nothing" in str(caught.value) or "lambda _: None" in str(caught.value)


def test_values_of_another_call_are_refused() -> None:
    seen: list[Any] = []

    def keeps(*xs: Any) -> Any:
        seen.extend(xs)
        return wf.fold(wf.SUM, seen[0] + seen[len(xs) - 1])

    @wf.monoid(identity=0.0)
    def leaky(a: Any, b: Any) -> Any:
        seen[:] = [a]
        return a + b

    wf.reduce(X, keeps)
    with pytest.raises(wf.WarpfoldError, match="WF253: keeps uses a symbolic value of another function") as caught:
        wf.reduce(X.astype("float64"), keeps)
    assert "def keeps" in str(caught.value)
    wf.reduce(X, leaky)
    with pytest.raises(wf.WarpfoldError, match="WF253"):
        wf.reduce(X, lambda x: wf.fold(wf.SUM, x + seen[0]))


def test_a_mistake_inside_a_built_in_function_is_located_at_its_call(tmp_path: Path) -> None:
    for call in (
        lambda: wf.sum(X * 1j, dtype="float32"),
        lambda: wf.compile("sum", shape=(3,)).save(tmp_path / "a" / "b"),
    ):
        with pytest.raises(wf.WarpfoldError, match=r"WF230|WF505") as caught:
            call()
        assert caught.value.location.file == __file__  # type: ignore[union-attr]


BY_POSITION: list[tuple[str, Any]] = [
    ("sum got 4", lambda: wf.sum(X, 0, None, np.zeros(3, np.float32))), ("max got 3", lambda: wf.max(X, 0, None)),
    ("argmax got 3", lambda: wf.argmax(X, 0, True)), ("allclose got 4", lambda: wf.allclose(X, X, None, 1e-5)),
    ("dot got 3", lambda: wf.dot(X[0], X[0], X[0])), ("array_equal got 3", lambda: wf.array_equal(X, X, True)),
    ("reduce got 3", lambda: wf.reduce(X, "sum", 0)), ("reduce got 3", lambda: wf.reduce(X, wf.SUM, (0, 1))),
]  # fmt: skip


@pytest.mark.parametrize(("text", "call"), BY_POSITION)
def test_arguments_that_numpy_takes_by_position_are_keywords(text: str, call: Any) -> None:
    with pytest.raises(wf.WarpfoldError, match=rf"WF176: {text} argument\(s\) by position: expected") as caught:
        call()
    assert re.search(r"help: write .*(keepdims= out=|rtol=).*", str(caught.value))
    assert caught.value.location.line == call.__code__.co_firstlineno  # type: ignore[union-attr]


MISFITS: list[tuple[str, Any]] = [
    ("WF127: histogram takes no parameter 'density': it takes x, bins, range,", lambda: wf.histogram(X, 9, density=1)),
    ("WF127: sum takes no parameter 'where'", lambda: wf.scan(X, "sum", 1, where=X > 0)),
    ("WF127: sum takes no parameter 'out'", lambda: wf.reduce_stream([X], "sum", out=X)),
    ("WF151: unpack needs the parameter 'shape'.*shape=value", lambda: wf.unpack(X)),
    ("WF151: load_state needs the parameter 'what'", lambda: wf.load_state("x")),
    (r"WF176: vjp got 2 argument\(s\) by position: expected function\n.*results= wrt=", lambda: wf.vjp(wf.sum, 1)),
    ("WF194: segment_reduce got 'offsets' twice.*are x offsets what", lambda: wf.segment_reduce(X, 0, offsets=1)),
    ("WF194: dropout got 'p' twice: by position and by name", lambda: wf.dropout(X, 5, p=0.5)),
    (r"WF130: cannot reduce with the program softmax: .*call it: softmax\(x\)", lambda: wf.reduce(X, wf.softmax)),
    (r"WF103: axis must be an int, a tuple of ints or None, got \(None,\)", lambda: wf.sum(X, axis=(None,))),
]  # fmt: skip


@pytest.mark.parametrize(("text", "call"), MISFITS)
def test_arguments_that_fit_no_place_have_a_code_and_a_line(text: str, call: Any) -> None:
    with pytest.raises(wf.WarpfoldError, match=f"(?s)^({text})") as caught:
        call()
    assert caught.value.location.line == call.__code__.co_firstlineno  # type: ignore[union-attr]


def test_a_type_error_inside_of_a_call_is_not_one_of_its_arguments() -> None:
    def broken() -> Any:
        yield X
        raise TypeError("no more")

    with pytest.raises(TypeError, match="no more"):
        wf.reduce_stream(broken(), "sum")


@pytest.mark.parametrize(
    ("call", "found"),
    [
        (lambda: wf.monoid(lambda a, b: a + b), "a function"), (lambda: wf.monoid(0), "0"),  # type: ignore[call-arg, misc]
        (lambda: wf.monoid(max, identity=0), "a function"),  # type: ignore[call-arg, misc]
    ],
)  # fmt: skip
def test_a_monoid_whose_identity_is_not_a_keyword(call: Any, found: str) -> None:
    with pytest.raises(
        TypeError, match=f"WF242: wf.monoid was given {found} by position: expected identity="
    ) as caught:
        call()
    assert "write @wf.monoid(identity=0)" in str(caught.value)
    assert caught.value.location.file == __file__  # type: ignore[attr-defined]
