"""Variables that functions read: no change is missed, and variables that may change unseen are refused."""

from __future__ import annotations

import functools
import itertools
import math
import types
from collections import UserList, deque
from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold.compiler.program.closures import captured
from warpfold.runtime.calls.closure_watch import ChangeableError, Watch, watch_of

number, pair, helper, module = 2.0, (1, 2), None, types.ModuleType("m")
module.factor = 3.0  # type: ignore[attr-defined]


def reads_a_number(x: Any) -> Any:
    return x * number


def reads_a_tuple(x: Any) -> Any:
    return x * pair[0]


def reads_a_function(x: Any) -> Any:
    return helper(x)  # type: ignore[misc]


def reads_a_module(x: Any) -> Any:
    return x * module.factor


def one(x: Any) -> Any:
    return x * number


def other(x: Any) -> Any:
    return x


def around(value: Any) -> Any:
    return lambda x: x * value


@pytest.mark.parametrize(
    ("function", "name", "values"),
    [
        (reads_a_number, "number", (2.0, 2, 3.0, -0.0, 0.0, None)),
        (reads_a_tuple, "pair", ((1, 2), (3, 2), (True, 2))),
        (reads_a_function, "helper", (one, other)),
        (wf.monoid(identity=0, lift=reads_a_number)(lambda a, b: a + b), "number", (2.0, 4.0)),
        ((wf.SUM, reads_a_number), "number", (2.0, 4.0)),
        (functools.partial(reads_a_number), "number", (2.0, 4.0)),
    ],
)
def test_a_changed_variable_is_seen_as_the_trace_sees_it(
    monkeypatch: pytest.MonkeyPatch, function: Any, name: str, values: tuple[Any, ...]
) -> None:
    for before in values:
        monkeypatch.setitem(globals(), name, before)
        watch, seen = Watch(function), captured(function)
        assert watch.same()
        assert not watch.empty
        for after in values:
            monkeypatch.setitem(globals(), name, after)
            assert watch.same() == (captured(function) == seen)


def test_a_function_behind_a_function_a_module_and_a_name_that_appears(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "helper", one)
    watch = Watch(reads_a_function)
    monkeypatch.setitem(globals(), "number", 5.0)
    assert not watch.same()
    watch = Watch(reads_a_module)
    assert watch.same()
    monkeypatch.setattr(module, "factor", 4.0)
    assert not watch.same()
    watch = Watch(lambda x: abs(x))
    assert watch.same()
    monkeypatch.setitem(globals(), "abs", one)
    assert not watch.same()


def test_variables_around_a_function() -> None:
    program = around(2.0)
    watch = Watch(program)
    assert watch.same()
    (cell,) = program.__closure__
    cell.cell_contents = 3.0
    assert not watch.same()
    watch = Watch(program)
    assert watch.same()
    del cell.cell_contents
    assert not watch.same()
    assert watch_of(program) is None


class Settings:
    scale = 2.0


class Slotted:
    __slots__ = ("scale",)

    def __init__(self) -> None:
        self.scale = 2.0


class Empty:
    pass


def test_classes_modules_around_a_function_and_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    def program(x: Any, scale: Any = 2.0, *, power: Any = 2.0) -> Any:
        return x * scale * power * here.factor * Settings.scale

    here = types.ModuleType("here")
    here.factor = 2.0  # type: ignore[attr-defined]
    for thing, name, new in (
        (here, "factor", 3.0),
        (Settings, "scale", 3.0),
        (program, "__defaults__", (3.0,)),
        (program, "__kwdefaults__", {"power": 3.0}),
    ):
        watch = Watch(program)
        assert watch.same()
        monkeypatch.setattr(thing, name, new)
        assert not watch.same()
    watch = Watch(program)
    program.__kwdefaults__["power"] = 4.0
    assert not watch.same()


class Holder:
    def __init__(self) -> None:
        self.factor = 2.0

    def __call__(self, x: Any) -> Any:
        return x * self.factor


@pytest.mark.parametrize(
    "value",
    [
        [1.0],
        {"a": 1.0},
        Holder(),
        Holder().__call__,
        functools.partial(one, y=1),
        (1, [2]),
        Slotted(),
        Empty(),
        deque([1]),
        UserList([1]),
        {1},
        np.ones(2),
        itertools.count(),
        (i for i in (1,)),
    ],
    ids=[
        "list",
        "dict",
        "instance",
        "bound method",
        "partial",
        "tuple of a list",
        "slots",
        "fields to come",
        "deque",
        "sequence",
        "set",
        "array",
        "iterator",
        "generator",
    ],
)
def test_objects_that_change_in_place_cannot_be_watched(value: Any) -> None:
    with pytest.raises(ChangeableError):
        Watch(value)
    with pytest.raises(ChangeableError):
        Watch(around(value))
    assert watch_of(value) is None


def test_functions_that_read_nothing() -> None:
    for what in ("sum", wf.SUM, (wf.SUM, wf.ARGMAX), None, math.sqrt):
        watch = Watch(what)
        assert watch.empty
        assert watch.same()


def test_code_that_is_replaced_as_by_a_reload() -> None:
    def program(x: Any) -> Any:
        return x

    total = wf.monoid(identity=0, lift=program)(lambda a, b: a + b)
    for what, code in ((program, other.__code__), (total, one.__code__)):
        watch, seen = Watch(what), captured(what)
        assert watch.same()
        program.__code__ = code
        assert not watch.same()
        assert captured(what) != seen
