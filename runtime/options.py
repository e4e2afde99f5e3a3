"""The options of calls: their defaults, and what they may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import index
from typing import Any

from ..compiler.errors import error
from ..compiler.plan.ladder import FEW, menu_of

OPTIONS = {
    "nan": (("propagate", "ignore", "raise"), "propagate"),
    "determinism": (("run", "portable", "none"), "run"),
}
DEFAULTS: dict[str, Any] = {
    "keepdims": False, "nan": "propagate", "determinism": "run", "device": "auto", "plan": "",
}  # fmt: skip
"""The options of ``reduce`` with their defaults; all other keywords are parameters of the program."""
MOST = (1 << 31) - (1 << 25)
"""The most results of a count, and the most segments: their numbers have 32 bits."""


def check_options(**given: str) -> None:
    """Checks ``nan`` and ``determinism``; WF138 for an unknown value."""
    for option, value in given.items():
        known, default = OPTIONS[option]
        if value not in known:
            raise error("WF138", option=option, value=value, expected=" or ".join(known), default=default)


def plan_text(plan: object) -> str:
    """``plan=`` as text, empty for None; WF131 for any other type."""
    if plan is not None and not isinstance(plan, str):
        raise error("WF131", kind=type(plan).__name__)
    return plan or ""


def of_gradients(how: Mapping[str, Any]) -> dict[str, Any]:
    """Which options of a call its gradients have, too: ``determinism``, and whether kernels are to be few."""
    found = {name: value for name, value in how.items() if name == "determinism" and value != DEFAULTS[name]}
    return found | ({"plan": FEW} if menu_of(plan_text(how.get("plan")))[0] else {})


def checked_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """A shape as integers of at least 0; WF129 for anything else."""
    try:
        full = tuple(index(n) for n in shape)
    except TypeError:
        raise error("WF129", shape="an array" if hasattr(shape, "shape") else shape) from None
    if any(n < 0 for n in full):
        raise error("WF129", shape=full)
    return full
