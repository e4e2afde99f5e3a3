"""The arrays of a program, as ``--input``, ``--shape`` and ``--dtype`` give them: by position in order, or by name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from inspect import Parameter
from typing import Any, NamedTuple

from ...compiler.dtypes import F32, DType, dtype
from ...compiler.errors import WarpfoldError, error
from ...compiler.program.signatures import parameters, takes_array
from . import inputs
from .operation import label

RANDOM = "random"
"""The ``--input`` of an array that a ``--shape`` describes."""


class Asked(NamedTuple):
    """An array that a command line asks for, before it is read or made.

    Attributes:
        path: the file of its elements; empty for random ones.
        shape: the sizes of a random array; () for a file, which has its own.
        dtype: the element type; None for a file, which names its own, if ``--dtype`` says nothing of it.
    """

    path: str
    shape: tuple[int, ...] = ()
    dtype: DType | None = None


def asked(
    function: Callable[..., Any],
    files: Sequence[str],
    shapes: Sequence[str],
    types: str | None,
    params: Collection[str],
) -> tuple[list[Asked], dict[str, Asked]]:
    """The arrays of a call of ``function``, by position and by keyword, as options give them.

    One shape describes all arrays that the function needs.

    Args:
        function: the function.
        files: the texts of ``--input``.
        shapes: the texts of ``--shape``.
        types: the text of ``--dtype``.
        params: the names of other parameters that are given.

    Raises:
        ArgumentError: WF802 for a malformed shape, WF808 for a wrong number of types, WF817 for an array that is given
            twice, WF840 for a wrong number of arrays, WF841 for shapes beside files that none of them asks for, WF842
            for the type of an array that is not given.
        DTypeError: WF105 for an unknown type.
    """
    read, made = (list(map(_named, texts)) for texts in (files, shapes))
    _check_once([(name, text) for name, text in (*read, *made) if name])
    by_name = {name: Asked(path) for name, path in read if name}
    by_name |= {name: Asked("", inputs.shape_of(text)) for name, text in made if name}
    taken = [p for p in parameters(function) if p.kind is not p.KEYWORD_ONLY and takes_array(p)]
    free = [p for p in taken if p.name not in (*by_name, *params)]
    in_order = _in_order([path for name, path in read if not name], [text for name, text in made if not name])
    in_order, by_name = _typed(_as_many_as_needed(function, in_order, free), by_name, types)
    return _placed(function, in_order, by_name, params)


def _placed(
    function: Callable[..., Any], in_order: Sequence[Asked], by_name: dict[str, Asked], params: Collection[str]
) -> tuple[list[Asked], dict[str, Asked]]:
    """Arrays in the places of the parameters: by position as far as every parameter has one, then by keyword."""
    rest, by_name = list(in_order), dict(by_name)
    for p in parameters(function):
        is_free = takes_array(p) and p.name not in (*by_name, *params)
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and is_free and rest:
            by_name[p.name] = rest.pop(0)
    by_position = []
    for p in parameters(function):
        if p.kind is p.KEYWORD_ONLY or p.name not in by_name:
            break
        by_position.append(by_name.pop(p.name))
    return [*by_position, *rest], by_name


def _named(text: str) -> tuple[str, str]:
    """The parts of ``NAME=REST``; a text without a name is all rest. ``./a=b.npy`` names no array."""
    name, equals, rest = text.partition("=")
    return (name, rest) if equals and name.isidentifier() else ("", text)


def _check_once(given: Sequence[tuple[str, str]]) -> None:
    """Checks that no array is given twice by name."""
    found: dict[str, str] = {}
    for name, text in given:
        if name in found:
            raise error("WF817", key=name, first=found[name], second=text)
        found[name] = text


def _in_order(files: Sequence[str], shapes: Sequence[str]) -> list[Asked]:
    """The arrays by position: the files, with a random array of the next shape in place of each ``random``."""
    count = sum(path == RANDOM for path in files) if files else len(shapes)
    if count != len(shapes):
        raise error("WF841", shapes=len(shapes), count=count)
    sizes = iter(shapes)
    return [
        Asked("", inputs.shape_of(next(sizes))) if path == RANDOM else Asked(path) for path in files or [RANDOM] * count
    ]


def _as_many_as_needed(function: Callable[..., Any], given: list[Asked], free: Sequence[Parameter]) -> list[Asked]:
    """``given`` as the arrays by position of a call; ``free`` are the parameters that take one."""
    several = any(p.kind is p.VAR_POSITIONAL for p in free)
    order = [p for p in free if p.kind is not p.VAR_POSITIONAL]
    needed = sum(p.default is p.empty for p in order)
    if not given and needed:
        given = [Asked("", inputs.shape_of(inputs.DEFAULT_SHAPE))]
    if len(given) == 1 and not given[0].path:
        given = given * max(1, needed)
    if len(given) < needed or (len(given) > len(order) and not several):
        raise _wrong_number(function, order, needed, len(given))
    return given


def _wrong_number(function: Callable[..., Any], order: Sequence[Parameter], needed: int, found: int) -> WarpfoldError:
    expected = str(needed) if needed == len(order) else f"{needed} to {len(order)}"
    names = " ".join(p.name if p.default is p.empty else f"[{p.name}]" for p in order)
    return error("WF840", name=label(function), expected=expected, names=names, found=found)


def _typed(
    in_order: Sequence[Asked], by_name: dict[str, Asked], types: str | None
) -> tuple[list[Asked], dict[str, Asked]]:
    """The arrays with the types of ``--dtype``: one for all, or one for each by position; ``NAME=TYPE`` for one."""
    pairs = [item.strip().rpartition("=") for item in types.split(",")] if types is not None else []
    own = {name: dtype(text) for name, equals, text in pairs if equals}
    found: list[DType | None] = [dtype(text) for _, equals, text in pairs if not equals]
    if len(found) > 1 and len(found) != len(in_order):
        raise error("WF808", text=types, found=len(found), count=len(in_order))
    if unknown := [name for name in own if name not in by_name]:
        raise error("WF842", name=unknown[0])
    rest = found[0] if len(found) == 1 else None
    each = found if len(found) > 1 else [rest] * len(in_order)
    return (
        [_of_type(a, t) for a, t in zip(in_order, each, strict=True)],
        {name: _of_type(a, own.get(name, rest)) for name, a in by_name.items()},
    )


def _of_type(a: Asked, t: DType | None) -> Asked:
    """An array of this type; where none is given, a random one of f32."""
    return a._replace(dtype=t or (None if a.path else F32))
