"""States of the outside world: values that a function reads through a chain of holders, and ways to change them."""

from __future__ import annotations

import dataclasses
import enum
import functools
import random
import sys
import types
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

import numpy as np

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]

VALUES: list[Any] = [2.0, 3.0, 2, True, -0.0, 0.0, np.float32(3), np.float64(2)]
Read, Write = Callable[[Any], Any], Callable[[Any, Any], None]


class Place(NamedTuple):
    """A kind of holder of one value.

    Attributes:
        hold: makes a holder of a value.
        read: reads what a holder holds, as a user's function would.
        write: replaces it in place; None for a holder that never changes.
        last: whether it holds numbers alone.
    """

    hold: Callable[[Any], Any]
    read: Read
    write: Write | None
    last: bool = False


class Number(float):
    held: Any = 2.0


class Text(str):
    held: Any = 2.0


class Slots:
    __slots__ = ("held",)


class Plain:
    held: Any

    @property
    def behind(self) -> Any:
        return self.held

    def __getitem__(self, _: Any) -> Any:
        return self.held

    def __call__(self) -> Any:
        return self.held


class Asked:
    """An object that computes its attributes."""

    def __init__(self) -> None:
        self.inner: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        try:
            return self.inner[name]
        except KeyError:
            raise AttributeError(name) from None


@dataclasses.dataclass(frozen=True)
class Frozen:
    held: Any = dataclasses.field(repr=False)


def _set(holder: Any, new: Any) -> None:
    holder.held = new


def _set_static(holder: Any, new: Any) -> None:
    """A function of a class would be a method."""
    holder.held = staticmethod(new) if isinstance(new, types.FunctionType) else new


def _set_meta(holder: Any, new: Any) -> None:
    _set_static(type(holder), new)


def _set_base(holder: Any, new: Any) -> None:
    _set_static(holder.__mro__[1], new)


def _set_entry(holder: Any, new: Any) -> None:
    holder[0] = new


def _set_cell(holder: Any, new: Any) -> None:
    holder.__closure__[0].cell_contents = new


def _set_code(holder: Any, new: Any) -> None:
    holder.__code__ = _constant(new).__code__


def _set_defaults(holder: Any, new: Any) -> None:
    holder.__defaults__ = (new,)


def _set_inner(holder: Any, new: Any) -> None:
    holder.inner["held"] = new


def _with(make: Callable[[], Any], write: Write = _set) -> Callable[[Any], Any]:
    def hold(value: Any) -> Any:
        made = make()
        write(made, value)
        return made

    return hold


def _around(value: Any) -> Any:
    return lambda: value


def _default(value: Any) -> Any:
    return lambda value=value: value


def _constant(value: Any) -> Any:
    return eval(f"lambda: {float(value)!r}")


def _attribute(holder: Any) -> Any:
    return holder.held


def _entry(holder: Any) -> Any:
    return holder[0]


def _called(holder: Any) -> Any:
    return holder()


def _key(holder: Any) -> Any:
    return holder["held"]


def _set_key(holder: Any, new: Any) -> None:
    holder["held"] = new


PLACES: dict[str, Place] = {
    "list": Place(lambda v: [v], _entry, _set_entry),
    "deque": Place(lambda v: deque([v]), _entry, _set_entry),
    "tuple": Place(lambda v: (v,), _entry, None),
    "dict": Place(lambda v: {"held": v}, _key, _set_key),
    "namespace": Place(_with(types.SimpleNamespace), _attribute, _set),
    "slots": Place(_with(Slots), _attribute, _set),
    "object": Place(_with(Plain), _attribute, _set),
    "property": Place(_with(Plain), lambda h: h.behind, _set),
    "operator": Place(_with(Plain), _entry, _set),
    "callable": Place(_with(Plain), _called, _set),
    "method": Place(_with(Plain), lambda h: h.__getitem__(0), _set),
    "getattr": Place(_with(Asked, _set_inner), _attribute, _set_inner),
    "frozen": Place(Frozen, _attribute, None),
    "class": Place(_with(lambda: type("Made", (), {}), _set_static), _attribute, _set_static),
    "metaclass": Place(_with(lambda: type("Meta", (type,), {})("Made", (), {}), _set_meta), _attribute, _set_meta),
    "base": Place(_with(lambda: type("Made", (type("Base", (), {}),), {}), _set_base), _attribute, _set_base),
    "number": Place(_with(lambda: Number(1.0)), _attribute, _set),
    "text": Place(_with(lambda: Text("a")), _attribute, _set),
    "member": Place(_with(lambda: enum.IntEnum("Made", {"A": 1}).A), _attribute, _set),  # type: ignore[attr-defined]
    "module": Place(_with(lambda: types.ModuleType("made")), _attribute, _set),
    "cell": Place(_around, _called, _set_cell),
    "default": Place(_default, _called, _set_defaults),
    "field of a function": Place(_with(lambda: _around(0)), _attribute, _set),
    "partial": Place(lambda v: functools.partial(_around, v)(), _called, _set_cell),
    "reader": Place(_with(Plain), attrgetter("held"), _set),
    "getter": Place(lambda v: [v], itemgetter(0), _set_entry),
    "code": Place(_constant, _called, _set_code, last=True),
    "array": Place(lambda v: np.array([float(v)]), lambda h: float(h[0]), _set_entry, last=True),
    "number of rank 0": Place(lambda v: np.array(float(v)), float, lambda h, new: h.fill(new), last=True),
    "view of an array": Place(lambda v: memoryview(np.array([float(v)])), _entry,
                              lambda h, new: _set_entry(h, float(new)), last=True),
    "great array": Place(lambda v: np.full(1 << 15, float(v)), lambda h: float(h[-1]),
                         lambda h, new: h.fill(float(new)), last=True),
}  # fmt: skip
if torch is not None:

    class Module(torch.nn.Module):
        def __init__(self, value: Any) -> None:
            super().__init__()
            self.register_buffer("weight", torch.tensor([float(value)], dtype=torch.float64))

    PLACES |= {
        "tensor of torch": Place(lambda v: torch.tensor([float(v)], dtype=torch.float64), lambda h: h.item(),
                        lambda h, new: h.fill_(float(new)), last=True),
        "module of torch": Place(Module, lambda h: h.weight.item(), lambda h, new: h.weight.data.fill_(float(new)),
                           last=True),
    }  # fmt: skip


def names_of() -> list[str]:
    """The kinds of holders; without PyTorch's where something stands in for it."""
    return [name for name in PLACES if not name.endswith("of torch") or sys.modules["torch"] is torch]


class Outside:
    """A value behind a random chain of holders.

    Attributes:
        holder: the outermost holder.
        names: the kinds of the holders, the outermost first.
    """

    def __init__(self, rng: random.Random, names: list[str] | None = None) -> None:
        last = [name for name in names_of() if PLACES[name].last]
        chain = [
            rng.choice([name for name, place in PLACES.items() if not place.last])
            for _ in range(rng.choice([1, 1, 2, 3]))
        ]
        if rng.random() < 0.4:
            chain[-1] = rng.choice(last)
        self.names, self._rng = names or chain, rng
        self._places = [PLACES[name] for name in self.names]
        self.holder = self._held(0)
        reads = tuple(place.read for place in self._places)

        def read(holder: Any) -> Any:
            for one in reads:
                holder = one(holder)
            return holder

        self.read = read

    def _held(self, depth: int) -> Any:
        """A holder at this depth, of a random value."""
        found = self._rng.choice(VALUES)
        for place in reversed(self._places[depth:]):
            found = place.hold(found)
        return found

    def change(self) -> None:
        """Replaces what one of the holders holds; the outermost one stays."""
        ways = [i for i, place in enumerate(self._places) if place.write]
        if not ways:
            return
        depth, holder = self._rng.choice(ways), self.holder
        for place in self._places[:depth]:
            holder = place.read(holder)
        write = self._places[depth].write
        assert write is not None
        with suppress(TypeError):  # a member of an enumeration that is made anew
            write(holder, self._held(depth + 1))

    def replace(self) -> None:
        """Makes all holders anew."""
        self.holder = self._held(0)
