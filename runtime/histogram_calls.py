"""Calls of ``wf.histogram`` with the bins of an earlier one, which repeat its launches on other elements.

The edges of bins are the same arrays in all of them, so only the elements and their weights are looked at. A call that
is written as the latest one was is found without a key.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import partial
from math import prod
from typing import Any

from .arrays.conversion import stream_of
from .arrays.fast_readers import NUMBERS, READERS
from .bins import LONGEST, TABLES, Bins, spelled_bins
from .calls.recall import Memo
from .calls.recipe import MISS, Recipe

MEMO = Memo()
"""The launches of all counts."""
COPIES = 16
"""Copies of edges that are made at a time: an operation of a library costs more than the bytes of a few edges."""
MOST_COPIED = 1 << 12
"""The most edges of which several copies are made."""
APART = 16
"""Copies begin at multiples of so many elements, so that arrays of any type are aligned."""


def repeated(x: Any, bins: Any, range: Any, weights: Any, device: str) -> Any:
    """The counts and the edges of a call like an earlier one; ``MISS`` if there was none."""
    if (latest := MEMO.latest) is not None and weights is None:
        (_, own_bins), (_, own_range), (_, own_device) = latest[1]
        if bins is own_bins and range is own_range and device == own_device:
            found = latest[2](x)
            if found is not MISS:
                return found
    known = _known.get(_key_of_bins(x, bins, range, weights, device))
    recipe = None if known is None else MEMO.last.get(known.key)
    if known is None or recipe is None:
        return MISS
    found = known.repeat(recipe, *((x,) if weights is None else (x, weights)))
    if found is not MISS and type(bins) is int and type(range) is tuple:  # which cannot change
        how = ("bins", bins), ("range", range), ("device", device)
        MEMO.latest = 1, how, partial(known.repeat, recipe), known.key
    return found


def keep(x: Any, written: tuple[Any, Any, Any, str], key: Hashable, bins: Bins) -> None:
    """Keeps the bins of a call, ``written`` with bins, a range, weights and a device, whose launches have a ``key``."""
    own = _key_of_bins(x, *written)
    reader = READERS[type(x)]
    if own is not None and reader is not None and bins.count <= LONGEST:
        _known[own] = _Known(key, bins, reader.stream(x))
        if len(_known) > TABLES:
            _known.popitem(last=False)


class _Known:
    """What calls count that are like an earlier one.

    Attributes:
        key: of the launches.
        bins: the bins, which the launches read.
        stream, number: ``stream()`` must equal ``number``.
        recipe: what repeated the latest call.
        copies: copies of the edges for calls that it repeats, which are in the same modes of PyTorch.
    """

    def __init__(self, key: Hashable, bins: Bins, stream: Callable[[], int]) -> None:
        self.key, self.bins = key, bins
        self.stream, self.number = stream, stream()
        self.recipe: Recipe | None = None
        self.copies: list[Any] = []

    def repeat(self, recipe: Recipe, *arrays: Any) -> Any:
        """The counts and a copy of the edges; ``MISS`` if the recipe does not apply."""
        if self.stream() != self.number:
            return MISS
        found = recipe(*arrays)
        if found is MISS:
            return MISS
        if recipe is not self.recipe:
            self.recipe, self.copies = recipe, []
        try:
            return found, self.copies.pop()
        except IndexError:
            edges, *self.copies = _copies(self.bins.edges)
            return found, edges


_known: OrderedDict[Hashable, _Known] = OrderedDict()


def _key_of_bins(x: Any, bins: Any, range: Any, weights: Any, device: str) -> Hashable:
    """What the bins of a call follow from, besides the kind of its arrays; None where that is unknown."""
    if (range is None and type(bins) is int) or READERS[type(x)] in (None, NUMBERS):
        return None
    spelled = spelled_bins(bins, range)
    return (*spelled, type(x), x.dtype, stream_of(x), weights is None, device) if spelled else None


def copy(x: Any) -> Any:
    """A copy of an array of any library."""
    return x.clone() if hasattr(x, "clone") else x.copy()


def _copies(x: Any) -> list[Any]:
    """Copies of an array of rank 1; of PyTorch's several, which lie side by side, and know nothing of each other."""
    length = prod(x.shape)
    if length > MOST_COPIED or not hasattr(x, "unsafe_split_with_sizes"):
        return [copy(x)]
    apart = -(-length // APART) * APART
    rows = x.new_empty((COPIES, apart))
    rows[:, :length] = x
    return list(rows.view(-1).unsafe_split_with_sizes([length, apart - length] * COPIES)[::2])
