"""Files of artifacts with one value altered and a checksum made anew, as somebody would who wants them to be run."""

from __future__ import annotations

import copy
import hashlib
import json
import random
from collections.abc import Iterator
from typing import Any

from warpfold.compiler.driver.program_file import MAGIC

VALUES = (None, True, -1, 0, 1, 2, 33, 2**31, 2**63, 10**30, 0.5, "", "x", "f64", "main", [], {}, [0, 0], [[[]]])


def sealed(j: Any, magic: bytes = MAGIC) -> bytes:
    """A whole file with a checksum of its own; ``j`` may be the text of its JSON."""
    body = j if isinstance(j, bytes) else json.dumps(j).encode()
    return magic + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def paths(j: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of each value in an object of JSON."""
    items = j.items() if isinstance(j, dict) else enumerate(j) if isinstance(j, list) else ()
    for key, value in items:
        yield (*here, key)
        yield from paths(value, (*here, key))


def at(j: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        j = j[key]
    return j


def mutants(j: Any, count: int, seed: int) -> Iterator[tuple[str, Any]]:
    """``j`` with one value altered, swapped with another's, twice there or gone: all fields in turn, said in words."""
    choice = random.Random(seed)
    known = list(paths(j))
    for n in range(count):
        path = known[n % len(known)]
        made = copy.deepcopy(j)
        inside, key, old = at(made, path[:-1]), path[-1], at(made, path)
        others = [v for p in known if type(v := at(j, p)) is type(old) and v != old]
        kind = choice.choice(["other", "value", "number", "list"])
        if kind == "list" and isinstance(inside, list):
            inside[key : key + 1] = choice.choice(([], [old, old]))
        elif kind == "number" and type(old) is int:
            inside[key] = choice.choice((old + 1, old * 2, old // 2, -old, old << 40))
        elif kind == "other" and others:
            inside[key] = copy.deepcopy(choice.choice(others))
        else:
            inside[key] = choice.choice(VALUES)
        yield f"{path}, {kind}, was {repr(old)[:50]}", made
