"""Values that functions read from outside: whatever a trace captures changes its key when it changes."""

from __future__ import annotations

import functools
import itertools
import sys
import time
from collections import UserList, deque
from collections.abc import Callable
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold.compiler.dtypes import F32
from warpfold.compiler.program.closures import captured

FACTOR: Any = 2.0


def by_global(x: Any) -> Any:
    return x * FACTOR


def by_helper(x: Any) -> Any:
    return by_global(x) + 1


def around(**held: Any) -> tuple[Callable[[Any], Any], Callable[..., None]]:
    """A function that reads ``held``, and one that changes it."""
    value: Any = held["value"]

    def reads(x: Any) -> Any:
        return x * value

    def change(new: Any) -> None:
        nonlocal value
        value = new

    return reads, change


class Scaled:
    def __init__(self, factor: Any) -> None:
        self.factor = factor

    def __call__(self, x: Any) -> Any:
        return wf.fold(wf.SUM, x * self.factor)

    def method(self, x: Any) -> Any:
        return self(x)


@pytest.mark.parametrize("new", [3.0, 2, True, -2.0, np.float32(2), "2.0", (2.0,), [2.0], {"by": 2.0}, by_global])
def test_another_value_is_another_trace(new: Any) -> None:
    reads, change = around(value=2.0)
    before = captured(reads)
    assert captured(reads) == before
    hash(before)
    change(new)
    assert captured(reads) != before


@pytest.mark.parametrize("what", [by_global, by_helper, (by_global, "sum"), functools.partial(by_helper),
                                  lambda x: (lambda y: by_global(y))(x)])  # fmt: skip
def test_globals_count_wherever_they_are_read(what: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    before = captured(what)
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    assert captured(what) != before


def test_attributes_and_entries_count() -> None:
    scaled, settings, weights = Scaled(2.0), SimpleNamespace(factor=2.0), [1.0, 2.0]

    def program(x: Any) -> Any:
        return x * settings.factor * weights[1]

    found = [captured(f) for f in (scaled, scaled.method, program)]
    scaled.factor = settings.factor = 3.0
    again = [captured(f) for f in (scaled, scaled.method, program)]
    assert all(a != b for a, b in zip(found, again, strict=True))
    weights[1] = 5.0
    assert captured(program) != again[2]


def test_an_object_may_contain_itself() -> None:
    held: list[Any] = [1]
    held.append(held)
    reads, _ = around(value=held)
    assert captured(reads) == captured(reads)


def test_a_call_into_a_large_library_is_looked_through_as_far_as_a_second_goes() -> None:
    """What lies further may change, so such a function is traced in each call."""
    pandas = pytest.importorskip("pandas")

    def into(x: Any) -> Any:
        return pandas.Series(x)

    before = time.process_time()
    assert captured(into) != captured(into)
    assert time.process_time() - before < 10  # it took minutes, and gigabytes


def test_names_and_built_in_monoids_capture_nothing() -> None:
    assert captured("sum") == ()
    assert captured(wf.SUM) == captured(wf.SUM)


def test_a_combine_is_traced_anew() -> None:
    reads, change = around(value=2.0)
    m = wf.monoid(identity=0.0)(lambda a, b: reads(a) + b)
    first = m.typed(F32)
    assert m.typed(F32) is first
    change(3.0)
    assert m.typed(F32).digest != first.digest


# --- where a value may stand ----------------------------------------------------------------------------------------
class Config:
    scale = 2.0

    @classmethod
    def of_class(cls) -> Any:
        return cls.scale

    @property
    def factor(self) -> Any:
        return Config.scale


class Derived(Config):
    pass


class Slotted:
    __slots__ = ("scale",)

    def __init__(self, scale: Any) -> None:
        self.scale = scale

    def __getitem__(self, _: int) -> Any:
        return self.scale


class Read(Config):
    """Holds nothing itself; nothing else names what its operator reads."""

    def __getitem__(self, _: int) -> Any:
        return Config.scale


class Made:
    def __init__(self) -> None:
        self.made = Config.scale


package = ModuleType("package")
package.inner = ModuleType("package.inner")  # type: ignore[attr-defined]
Place = tuple[Callable[[Any], Any], Callable[[Any], None]]


def setter(thing: Any, name: str = "scale") -> Callable[[Any], None]:
    """A function that sets an attribute, which is 2 at first."""
    setattr(thing, name, 2.0)
    return lambda new: setattr(thing, name, new)


def in_a_class() -> Place:
    return lambda x: x * Config.scale, setter(Config)


def in_what_a_text_names() -> Place:
    return lambda x: x * getattr(Config, "scale"), setter(Config)  # noqa: B009


def in_what_it_imports() -> Place:
    def read(x: Any) -> Any:
        from package.inner import scale  # type: ignore[import-not-found]

        return x * scale

    sys.modules.update({"package": package, "package.inner": package.inner})
    return read, setter(package.inner)


def in_a_class_in_a_cell() -> Place:
    class Here:
        scale = 2.0

    return lambda x: x * Here.scale, setter(Here)


def in_a_base() -> Place:
    return lambda x: x * Derived.scale, setter(Config)


def in_a_class_method() -> Place:
    return lambda x: x * Derived.of_class(), setter(Config)


def in_a_property() -> Place:
    held = Config()
    return lambda x: x * held.factor, setter(Config)


def in_an_operator() -> Place:
    held = Read()
    return lambda x: x * held[0], setter(Config)


def in_a_constructor() -> Place:
    return lambda x: x * Made().made, setter(Config)


def in_a_metaclass() -> Place:
    class Meta(type):
        scale = 2.0

    class Here(metaclass=Meta):
        pass

    return lambda x: x * Here.scale, setter(Meta)


def in_a_nested_module() -> Place:
    return lambda x: x * package.inner.scale, setter(package.inner)


def in_a_module_in_a_cell() -> Place:
    held = ModuleType("held")
    return lambda x: x * held.scale, setter(held)


def in_slots() -> Place:
    held = Slotted(2.0)
    return lambda x: x * held.scale, setter(held)


def in_a_number_with_attributes() -> Place:
    class Number(float):
        pass

    held = Number(1.0)
    return lambda x: x * held.scale, setter(held)  # type: ignore[attr-defined]


def in_a_number_of_numpy() -> Place:
    held = np.array(2.0)
    return lambda x: x * float(held), held.fill


def in_an_object_of_an_object() -> Place:
    held = SimpleNamespace(inner=SimpleNamespace())
    return lambda x: x * held.inner.scale, setter(held.inner)


def in_an_object_that_another_function_reads() -> Place:
    held = SimpleNamespace(inner=SimpleNamespace())

    def read(thing: Any) -> Any:
        return thing.inner.scale

    return lambda x: x * read(held), setter(held.inner)


def in_a_list_of_an_object() -> Place:
    held = SimpleNamespace(factors=[2.0])
    return lambda x: x * held.factors[0], lambda new: held.factors.__setitem__(0, new)


def in_a_deque() -> Place:
    held = deque([2.0])
    return lambda x: x * held[0], lambda new: held.__setitem__(0, new)


def in_a_sequence() -> Place:
    held = UserList([2.0])
    return lambda x: x * held[0], lambda new: held.__setitem__(0, new)


def in_a_set() -> Place:
    held = {2.0}

    def change(new: Any) -> None:
        held.clear()
        held.add(new)

    return lambda x: x * max(held), change


def in_what_hides_it() -> Place:
    held = itertools.count(2)

    def change(new: Any) -> None:
        while float(repr(held)[6:-1]) < new:
            next(held)

    return lambda x: x * float(repr(held)[6:-1]), change


def in_defaults() -> Place:
    def read(x: Any, scale: Any = 2.0) -> Any:
        return x * scale

    return lambda x: read(x), lambda new: setattr(read, "__defaults__", (new,))


def in_own_defaults() -> Place:
    made = FunctionType((lambda x, scale: x * scale).__code__, globals(), argdefs=(2.0,))
    return made, lambda new: setattr(made, "__defaults__", (new,))


def in_keyword_defaults() -> Place:
    def read(x: Any, *, scale: Any = 2.0) -> Any:
        return x * scale

    return lambda x: read(x), lambda new: setattr(read, "__kwdefaults__", {"scale": new})


def in_an_entry_of_keyword_defaults() -> Place:
    def read(x: Any, *, scale: Any = 2.0) -> Any:
        return x * scale

    return lambda x: read(x), lambda new: read.__kwdefaults__.update(scale=new)


def in_an_attribute_of_a_function() -> Place:
    def read(x: Any) -> Any:
        return x * read.scale  # type: ignore[attr-defined]

    return read, setter(read)


PLACES = [f for name, f in list(globals().items()) if name.startswith("in_")]


@pytest.mark.parametrize("place", PLACES, ids=lambda p: p.__name__)
def test_a_changed_value_is_seen_wherever_it_is_stored(place: Callable[[], Place]) -> None:
    reads, change = place()
    x = np.ones(4, np.float32)
    summed = wf.monoid(identity=0.0, lift=reads)(lambda a, b: a + b)

    def program(v: Any) -> Any:
        return wf.fold(wf.SUM, reads(v))

    for value in (2.0, 2.0, 3.0, 5.0):
        change(value)
        before = captured(reads)
        hash(before)
        assert wf.reduce(x, program, device="emulator") == 4 * value
        assert wf.reduce(x, summed, device="emulator") == 4 * value


@pytest.mark.parametrize(
    "place", [p for p in PLACES if p not in (in_what_hides_it, in_what_it_imports)], ids=lambda p: p.__name__
)
def test_unchanged_values_keep_the_trace(place: Callable[[], Place]) -> None:
    reads, _ = place()
    assert captured(reads) == captured(reads)


def test_a_class_that_hides_its_bases_attribute() -> None:
    class Above:
        scale = 2.0

    class Below(Above):
        pass

    before = captured(lambda x: x * Below.scale)
    Below.scale = 3.0
    assert captured(lambda x: x * Below.scale)[:-1] != before[:-1]


def test_fields_that_appear_and_slots_that_are_empty() -> None:
    for held in (Slotted.__new__(Slotted), Config()):
        reads, _ = around(value=held)
        before = captured(reads)
        held.scale = 3.0
        assert captured(reads) != before
