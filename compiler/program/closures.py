"""What functions read from outside themselves: a trace bakes these values in, so a change needs a new trace."""

from __future__ import annotations

import contextlib
import functools
import opcode
from collections.abc import Iterator, Mapping, Sequence, Set
from hashlib import blake2b
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

import numpy as np

from .exact import ARRAYS, IN_C, LIBRARIES, PACKAGE, Identical, exactly, is_of

PLAIN = (bool, int, float, complex, str, type(None))
MOST_BYTES = 1 << 16
"""Of a NumPy array that is compared by its elements."""
MOST_NAMES = 1 << 18
"""Names times namespaces that are looked through, in a fraction of a second: a large library has more behind a call."""
_OWN = __name__.rpartition(".compiler.")[0] + "."


def captured(what: object, *more: object) -> tuple[object, ...]:
    """The values that functions read from outside, as far as they are seen, as one that has a hash.

    Seen are numbers, strings, functions and monoids, also in tuples, lists, dicts and the like, that a function names:
    its globals, the variables around it, its defaults, and attributes of the modules, classes and objects among them.
    A small array of NumPy counts by its elements. What cannot be looked into is another value each time, as are other
    arrays, whose elements would be read in each call.

    >>> def scaled(factor):
    ...     return lambda x: x * factor
    >>> captured(scaled(2.0))[0] == captured(scaled(2))[0]
    False

    Args:
        what: a function, a name, a monoid, or a tuple of these.
        more: objects that the functions get as parameters.
    """
    return () if isinstance(what, str) and not more else tuple(_Values((what, *more)).found)


class CaptureWalk:
    """Everything that the functions of ``what`` may read from outside, once.

    Names are looked up in *namespaces*: the globals of a function, a module, a class, the fields of an object. They are
    the names in the code of all functions found, since a function may pass an object to another that reads its fields.
    """

    def __init__(self, what: object) -> None:
        self._names: dict[str, None] = {}
        self._namespaces: dict[int, Mapping[str, Any]] = {}
        self._looked: set[tuple[int, str]] = set()
        self._seen: dict[int, Any] = {}  # with the values, since an id is used again once its object is gone
        self._walk(what)
        while asked := self._unlooked():
            if len(self._names) * len(self._namespaces) > MOST_NAMES:
                self.opaque()
                break
            self._looked.update(asked)
            for key, name in asked:
                namespace = self._namespaces[key]
                self.looked_up(namespace, name)
                if name in namespace:
                    self._walk(namespace[name])
        for found in (self._names, self._namespaces, self._looked, self._seen):
            found.clear()

    # what is done with what is found
    def plain(self, value: Any) -> None:
        """A number or a string was found."""

    def function(self, value: FunctionType) -> None:
        """A function was found."""

    def held(self, cell: CellType) -> None:
        """A variable around a function was found."""

    def defaults(self, function: FunctionType) -> None:
        """A function with defaults was found."""

    def looked_up(self, namespace: Mapping[str, Any], name: str) -> None:
        """A name is looked up."""

    def changeable(self) -> None:
        """What was found may change where it stands; its entries or fields come next."""

    def opaque(self) -> None:
        """What was found cannot be looked into."""

    def identity(self, value: Any) -> None:
        """What was found counts by identity, or is an object of this class."""

    def elements(self, value: np.ndarray[Any, Any]) -> None:
        """A small array was found."""

    # the way
    def _unlooked(self) -> list[tuple[int, str]]:
        return [(k, n) for k in self._namespaces for n in self._names if (k, n) not in self._looked]

    def _walk(self, value: Any) -> None:
        number = type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0
        if number or isinstance(value, PLAIN):
            self.plain(value)
        if number or type(value) in PLAIN:
            return
        if id(value) not in self._seen:
            self._seen[id(value)] = value
            for inner in self._inside(value):
                self._walk(inner)

    def _inside(self, value: Any) -> Iterator[Any]:
        if isinstance(value, FunctionType):
            if not is_own(value):
                yield from self._variables(value)
            elif "defined" in vars(value):  # made of a user's function, as its gradient is
                yield vars(value)["defined"]
            self.function(value)
        elif is_own(type(value)) and hasattr(value, "__wrapped__"):  # a program of arrays, which keeps its traces
            yield value.__wrapped__
        elif isinstance(
            value, MethodType | BuiltinFunctionType | functools.partial | property | staticmethod | classmethod
        ):
            if isinstance(value, BuiltinFunctionType):
                self.identity(value)
            yield from _bound(value)
        elif isinstance(value, ModuleType):
            if value.__name__ != PACKAGE:  # whose names stay what they are, and are imported when they are first used
                self._open(vars(value))
        elif isinstance(value, type):
            self.identity(value)
            yield from self._classes(value, type(value))
        else:
            yield from self._object(value)

    def _variables(self, function: FunctionType) -> Iterator[Any]:
        for cell in function.__closure__ or ():
            self.held(cell)
            try:
                yield cell.cell_contents
            except ValueError:  # not assigned yet
                yield None
        if is_of(function, LIBRARIES):
            return
        given = function.__kwdefaults__ or {}
        if function.__defaults__ or given:
            self.defaults(function)
            yield function.__defaults__
        names, imports = read_by(function.__code__)
        if imports:
            self.opaque()
        self._names.update(dict.fromkeys((*names, *given)))
        for namespace in (given, vars(function), function.__globals__):
            self._open(namespace)

    def _object(self, value: Any) -> Iterator[Any]:
        cls, fields = type(value), _fields(value)
        self.identity(cls)
        frozen = getattr(getattr(cls, "__dataclass_params__", None), "frozen", False)
        if frozen or (is_own(cls) and hasattr(value, "function")):  # as a monoid, or one of its functions
            yield from fields.values()
        elif (entries := _entries(value)) is not None:
            if cls not in (tuple, frozenset):
                self.changeable()
            yield from (len(entries), *entries)
        elif _has_value(value):
            self.plain(value)
        elif cls is np.ndarray and value.nbytes <= MOST_BYTES and not value.dtype.hasobject:
            self.elements(value)
        elif hasattr(cls, "__dlpack__") or not _is_known(value):
            self.opaque()
        elif is_of(cls, ARRAYS):
            self.identity(value)
        if not frozen:
            grows = hasattr(value, "__dict__") and not is_of(cls, LIBRARIES)
            if fields or grows or (hasattr(cls, "__setitem__")):
                self.changeable()
            yield from (v for v in fields.values() if isinstance(v, (*PLAIN, FunctionType)))
            self._open(fields)
            if hasattr(cls, "__getattr__"):  # as in a module of PyTorch, whose attributes are entries of its fields
                for held in fields.values():
                    self._open(held if isinstance(held, dict) else {})
        yield from self._classes(cls)

    def _classes(self, *classes: type) -> Iterator[Any]:
        """Opens the user's among these and their bases; gives the methods that code calls without naming them."""
        for base in (b for c in classes for b in c.__mro__ if not is_of(b, LIBRARIES)):
            if id(base) not in self._namespaces:
                self._namespaces[id(base)] = vars(base)
                yield from (v for n, v in vars(base).items() if _is_called(n) and isinstance(v, _METHODS))

    def _open(self, namespace: Mapping[str, Any]) -> None:
        if namespace:
            self._namespaces.setdefault(id(namespace), namespace)


class _Values(CaptureWalk):
    """What is found, as values that have a hash."""

    def __init__(self, what: object) -> None:
        self.found: list[object] = []
        super().__init__(what)

    def plain(self, value: Any) -> None:
        self.found.append(exactly(value))

    def function(self, value: FunctionType) -> None:
        self.found += (value, value.__code__)

    def identity(self, value: Any) -> None:
        self.found.append(Identical(value))

    def elements(self, value: np.ndarray[Any, Any]) -> None:
        self.found += (value.dtype, value.shape, blake2b(value.tobytes()).digest())

    def looked_up(self, namespace: Mapping[str, Any], name: str) -> None:
        if name in namespace:
            self.found.append(name)

    def opaque(self) -> None:
        self.found.append(object())


# --- what things are -----------------------------------------------------------------------------------------------
_METHODS = (FunctionType, staticmethod, classmethod)
_OBJECT: Any = object
_BY_IDENTITY: tuple[Any, ...] = (None, object.__hash__)


def is_own(thing: Any) -> bool:
    return str(thing.__module__).startswith(_OWN)


def _is_called(name: str) -> bool:
    """Whether Python calls the method without its name in the code; object's own, as for printing, are not asked."""
    return (
        name.startswith("__") and name.endswith("__") and (name in ("__init__", "__new__") or not hasattr(object, name))
    )


def _entries(value: Any) -> list[Any] | None:
    """What a container holds; None for anything else."""
    if isinstance(value, Mapping):
        return [*value.keys(), *value.values()]
    if isinstance(value, Sequence | Set) and not isinstance(value, str | bytes | range | memoryview):
        return list(value)
    return None


def _fields(value: Any) -> dict[str, Any]:
    """The attributes that an object itself holds, those of ``__slots__`` included."""
    fields = dict(getattr(value, "__dict__", {}))
    classes = (c for c in type(value).__mro__ if not c.__flags__ & IN_C)
    for name, slot in ((n, v) for c in classes for n, v in vars(c).items()):
        if isinstance(slot, MemberDescriptorType):
            with contextlib.suppress(AttributeError):  # not assigned yet
                fields[name] = slot.__get__(value)
    return fields


def _has_value(value: Any) -> bool:
    """Whether an object of a class in C shows in its text what it is and never changes, as bytes."""
    cls: Any = type(value)
    compared = cls.__eq__ is not _OBJECT.__eq__ and cls.__hash__ not in _BY_IDENTITY
    return bool(cls.__flags__ & IN_C) and compared and not callable(value) and not hasattr(cls, "__setitem__")


def _is_known(value: Any) -> bool:
    """Whether fields are all that an object holds, or what else it holds counts as it is."""
    cls = type(value)
    hides = (c.__flags__ & IN_C and c.__basicsize__ > object.__basicsize__ for c in cls.__mro__ if not c.__dictoffset__)
    return (
        isinstance(value, PLAIN)
        or is_of(cls, ARRAYS)
        or (cls.__module__ == "builtins" and (callable(value) or hasattr(cls, "__get__")))
        or not any(hides)
    )


@functools.lru_cache(maxsize=1024)
def read_by(code: CodeType) -> tuple[tuple[str, ...], bool]:
    """The names that ``code`` and the functions inside it look up, and whether they import.

    Texts count as names: they may be given to ``getattr`` or ``vars``.
    """
    inner = [read_by(c) for c in code.co_consts if isinstance(c, CodeType)]
    texts = (c for c in code.co_consts if isinstance(c, str) and c.isidentifier())
    names = dict.fromkeys((*code.co_names, *texts, *(n for found, _ in inner for n in found)))
    return tuple(names), opcode.opmap["IMPORT_NAME"] in code.co_code[::2] or any(imports for _, imports in inner)


def _bound(value: Any) -> Iterator[Any]:
    """The function behind a callable object, and what it is bound to."""
    if isinstance(value, MethodType):
        yield from (value.__func__, value.__self__)
    elif isinstance(value, BuiltinFunctionType):
        if not isinstance(value.__self__, ModuleType | type):
            yield value.__self__
    elif isinstance(value, functools.partial):
        yield from (value.func, value.args, *([value.keywords] if value.keywords else ()))
    else:
        yield value.fget if isinstance(value, property) else value.__func__
