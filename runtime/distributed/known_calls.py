"""Calls that were seen before: what was found out about each kind of call, for calls that are alike."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import torch

from ...compiler.program.exact import exactly, never_changes
from ..calls.closure_watch import watch_of

T = TypeVar("T")
MOST_CALLS = 1024
"""The most kinds of calls that are remembered; the oldest is dropped first."""
MOST_FOUND = 64
"""The most things that are remembered of each, such as extents of other ranks' shards."""
_TENSORS = (torch.Tensor, torch.nn.Parameter)


class KnownCall:
    """A kind of call, and what was found out about it, which holds while the variables that its functions read do."""

    def __init__(self, what: Any) -> None:
        self._watch = watch_of(what)
        self._found: dict[Hashable, Any] = {}

    @property
    def holds(self) -> bool:
        """Whether the functions still read the same variables."""
        return self._watch is not None and (self._watch.empty or self._watch.same())

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What ``make`` made for this key, now or earlier."""
        found: T = self._found[key] if key in self._found else _kept(self._found, key, make(), MOST_FOUND)
        return found


K = TypeVar("K", bound=KnownCall)


class KnownCalls(Generic[K]):
    """Kinds of calls by what they are known by, see ``key_of``."""

    def __init__(self) -> None:
        self._calls: dict[Hashable, K] = {}

    def of(self, key: Hashable | None, make: Callable[[], K]) -> K:
        """What is known of the call with this key, or what ``make`` finds out; one without a key is not remembered."""
        found = None if key is None else self._calls.get(key)
        if found is not None and found.holds:
            return found
        made = make()
        return made if key is None else _kept(self._calls, key, made, MOST_CALLS)


def key_of(what: Any, xs: Sequence[Any], how: Mapping[str, Any], name: Hashable) -> Hashable | None:
    """What a call is known by; None for one with arrays of other libraries, or with parameters that may change."""
    given = (*xs, *how.values())
    if not all(type(x) in _TENSORS or never_changes(x) for x in given):
        return None
    found = (what, name, len(xs), *how, *map(_said, given))
    try:
        hash(found)
    except TypeError:
        return None
    return found


def _said(x: Any) -> Any:
    """What a key says of an argument."""
    if type(x) in _TENSORS:
        return x.shape, x.dtype, x.device
    return exactly(x)


def _kept(memory: dict[Hashable, T], key: Hashable, found: T, most: int) -> T:
    """What was found, remembered in place of the oldest where there are more than ``most``."""
    memory[key] = found
    if len(memory) > most:
        memory.pop(next(iter(memory)))
    return found
