"""Marks functions that all ranks of a group call together."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from ...compiler.errors import WarpfoldError
from .group import Ranks, missed

P = ParamSpec("P")
R = TypeVar("R")


def together(function: Callable[P, R]) -> Callable[P, R]:
    """``function``, whose calls are counted if they are checked; what they raise before the ranks meet is told to all.

    Its keywords ``group`` and ``check`` are those of ``reduce``.
    """

    @wraps(function)
    def call(*xs: P.args, **how: P.kwargs) -> R:
        ranks = _ranks(how.get("group"))
        if ranks is None or not how.get("check", True):
            return function(*xs, **how)  # which says what is wrong with a group
        ranks.number += 1
        ranks.met = False
        try:
            return function(*xs, **how)
        except Exception:
            ranks.refuse(xs)
            raise

    return call


def _ranks(group: object) -> Ranks | None:
    """As ``Ranks.of``, but None where that raises; ranks that wait then learn of it when this one comes again."""
    try:
        return Ranks.of(group)
    except WarpfoldError as e:
        if e.code == "WF138":
            missed()
        return None
