"""Names of other libraries: each is answered with what to write here, and that is there."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold.compiler.spelling import NAMES, PARAMETERS, SHARED

X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_another_library_is_answered_with_ours(name: str) -> None:
    with pytest.raises(AttributeError, match=f"WF175: warpfold has no {name}\n") as caught:
        getattr(wf, name)
    assert f"help: write {NAMES[name]}" in str(caught.value)
    assert caught.value.location.file == __file__  # type: ignore[attr-defined]
    assert all(hasattr(wf, found) for found in re.findall(r"wf\.(\w+)", NAMES[name]))


@pytest.mark.parametrize(
    ("name", "near"), [("SUMM", "SUM"), ("summ", "sum"), ("Argmax", "argmax"), ("MEAN", "mean"), ("monoids", "monoid")]
)
def test_a_slip_is_answered_with_what_is_like_it(name: str, near: str) -> None:
    with pytest.raises(wf.WarpfoldError, match=rf"WF175: warpfold has no {name} \(did you mean {near}"):
        getattr(wf, name)
    assert not hasattr(wf, name)


@pytest.mark.parametrize("name", ["__wrapped__", "__path_hooks__"])
def test_what_python_asks_of_every_module_is_answered_as_ever(name: str) -> None:
    with pytest.raises(AttributeError, match="module 'warpfold' has no attribute"):
        getattr(wf, name)


@pytest.mark.parametrize("key", PARAMETERS)
def test_a_parameter_of_another_library_is_answered_with_ours(key: str) -> None:
    with pytest.raises(wf.WarpfoldError, match=f"WF127: var takes no parameter '{key}'") as caught:
        wf.var(X, **{key: 1})
    assert f"help: write {PARAMETERS[key]}" in str(caught.value)


@pytest.mark.parametrize(("key", "near"), [("keepdimz", "keepdims"), ("axiss", "axis"), ("corection", "correction")])
def test_a_slip_of_a_parameter(key: str, near: str) -> None:
    with pytest.raises(wf.WarpfoldError, match=f"did you mean {near}"):
        wf.var(X, **{key: 1})


def test_parameters_of_calls_that_are_not_this_ones() -> None:
    for key in ("keepdims", "out"):
        with pytest.raises(wf.WarpfoldError, match=f"{key}= belongs to calls such as wf.reduce"):
            wf.compile("sum", (3,), **{key: True})
    assert {"axis", "keepdims", "out", "where"} < set(SHARED)


BY_POSITION: list[tuple[str, Any]] = [
    ("sum takes 4", lambda: wf.sum(X, 0, None, np.zeros(3, np.float32))), ("max takes 3", lambda: wf.max(X, 0, None)),
    ("argmax takes 3", lambda: wf.argmax(X, 0, True)), ("allclose takes 4", lambda: wf.allclose(X, X, None, 1e-5)),
    ("dot takes 3", lambda: wf.dot(X[0], X[0], X[0])), ("array_equal takes 3", lambda: wf.array_equal(X, X, True)),
    ("reduce takes 3", lambda: wf.reduce(X, "sum", 0)), ("reduce takes 3", lambda: wf.reduce(X, wf.SUM, (0, 1))),
]  # fmt: skip


@pytest.mark.parametrize(("text", "call"), BY_POSITION)
def test_what_numpy_takes_by_position_is_named(text: str, call: Any) -> None:
    with pytest.raises(wf.WarpfoldError, match=rf"WF176: {text} argument\(s\) by position: expected") as caught:
        call()
    assert "write the others by name: axis=, dtype=, out=, keepdims=, where=" in str(caught.value)
    assert caught.value.location.line == call.__code__.co_firstlineno  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("call", "found"),
    [
        (lambda: wf.monoid(lambda a, b: a + b), "a function"), (lambda: wf.monoid(0), "0"),  # type: ignore[call-arg, misc]
        (lambda: wf.monoid(max, identity=0), "a function"),  # type: ignore[call-arg, misc]
    ],
)  # fmt: skip
def test_a_monoid_whose_identity_is_not_named(call: Any, found: str) -> None:
    with pytest.raises(
        TypeError, match=f"WF242: wf.monoid was given {found} by position: expected identity="
    ) as caught:
        call()
    assert "write @wf.monoid(identity=0)" in str(caught.value)
    assert caught.value.location.file == __file__  # type: ignore[attr-defined]
