"""Cases in which every value of every axis comes, without every combination: ``@covering(("a", A), ("b, c", B))``.

Stacked ``parametrize`` decorators run all combinations, and most of these are near-equal.
Here there are as many cases as the longest axis has values, and the other axes go
round, each time with another partner. A run with ``WARPFOLD_CASES=every`` takes all combinations.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterable, Sequence
from typing import Any

import pytest


def covering(*axes: tuple[Any, ...]) -> pytest.MarkDecorator:
    """Axes are (names, values) or (names, values, ids), as ``parametrize`` takes them."""
    names, values, ids = [], [], []
    for name, of_axis, *labels in axes:
        names.append([part.strip() for part in name.split(",")] if isinstance(name, str) else list(name))
        values.append(list(of_axis))
        ids.append(_labels(names[-1], values[-1], labels[0] if labels else None))
    lengths = [len(of_axis) for of_axis in values]
    chosen: Any = itertools.product(*map(range, lengths))
    if os.environ.get("WARPFOLD_CASES") != "every":
        chosen = [
            [(case + k * (case // length)) % length for k, length in enumerate(lengths)] for case in range(max(lengths))
        ]
    cases = []
    for places in chosen:
        taken = [of_axis[place] for of_axis, place in zip(values, places, strict=True)]
        flat = [v for name, v in zip(names, taken, strict=True) for v in (_values(v) if len(name) > 1 else [_one(v)])]
        cases.append(pytest.param(*flat, id="-".join(i[p] for i, p in zip(ids, places, strict=True))))
    return pytest.mark.parametrize([part for name in names for part in name], cases)


def some(values: Iterable[Any], most: int) -> list[Any]:
    """So many of the values, drawn once and for all, in their order; all of them with ``WARPFOLD_CASES=every``."""
    listed = list(values)
    if len(listed) <= most or os.environ.get("WARPFOLD_CASES") == "every":
        return listed
    return [listed[place] for place in sorted(random.Random(len(listed)).sample(range(len(listed)), most))]


def _values(value: Any) -> Sequence[Any]:
    return value.values if hasattr(value, "marks") else value


def _one(value: Any) -> Any:
    return value.values[0] if hasattr(value, "marks") else value


def _labels(names: list[str], values: list[Any], given: Any) -> list[str]:
    """What stands for each value in the name of a case, as ``parametrize`` makes it."""
    if given is not None and not callable(given):
        return list(given)

    def label(value: Any, name: str, place: int) -> str:
        own = given(value) if given is not None else None
        if own is not None:
            return str(own)
        simple = isinstance(value, str | int | float | bool) or value is None
        return str(value) if simple else getattr(value, "__name__", f"{name}{place}")

    return [
        getattr(value, "id", None)
        or "-".join(
            label(part, name, place)
            for part, name in zip(_values(value) if len(names) > 1 else [_one(value)], names, strict=True)
        )
        for place, value in enumerate(values)
    ]
