"""``warpfold check --gradient``: the gradient of a program beside differences in f64, for arrays of several kinds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import terminal
from ..checking.gradients import Compared, compared
from ..requests.inputs import Array
from ..requests.program_request import ProgramRequest
from .check import INPUTS, changed

HARD: dict[str, tuple[str, Callable[[Array], Array]]] = {
    **{name: INPUTS[name] for name in ("as given", "large", "equal")},
    "ties": ("whole numbers in the largest arrays", lambda x: np.round(x)),
    "zeros": ("zeros in the largest arrays, but for every fifth element", lambda x: np.where(_each(x, 5), x, 0.0)),
    "infinite": ("every seventh element of the largest arrays is -inf", lambda x: np.where(_each(x, 7), -np.inf, x)),
}
"""What is done to the largest arrays of floats, in words and as a function of f64."""


def _each(x: Array, step: int) -> Array:
    """Every so many elements."""
    found: Array = np.arange(x.size).reshape(x.shape) % step == 0
    return found


def check_gradient(request: ProgramRequest, *, json: bool) -> bool:
    """Shows how far the derived gradient is from differences, and where it is farthest.

    Returns:
        Whether it is a gradient for all arrays.
    """
    found: list[tuple[str, list[Compared]]] = []
    with request.users_code():
        for name, (_, change) in HARD.items():
            with terminal.progress(f"checking with inputs {name}"):
                arrays = changed(request.arrays, change)
                found.append((name, compared(request.of_arrays, request.program, arrays, request.seed)))
    passed = all(c.passed for _, own in found for c in own)
    worst = max(((c.error, name, c) for name, own in found for c in own if c.known), key=lambda w: w[0], default=None)
    if json:
        facts = {"name": request.name, "title": request.title(), "passed": passed}
        lines = [{**_plain(request, c), "inputs": name} for name, own in found for c in own]
        terminal.show(terminal.as_json({**facts, "directions": lines}))
        return passed
    terminal.facts([("check", f"the gradient of {request.title()} ({request.source})")])
    terminal.show()
    terminal.table(
        ("input", "array", "directions", "without a derivative", "not finite", "greatest error", "verdict"),
        [line for name, own in found for line in _lines(request, name, own)],
    )
    if worst is not None:
        terminal.section("the worst case", _words(request, worst[1], worst[2]))
    used = [(name, words) for name, (words, _) in HARD.items() if words]
    terminal.section("inputs", terminal.columns(used))
    terminal.section("how", [
        "a gradient along a direction is compared with differences to both sides, relative to the sum of its terms",
        "where the sides differ there is no derivative, and the gradient must lie between them",
        "both are computed in NumPy, in f64 and wider: no kernel runs",
    ])  # fmt: skip
    return passed


def _lines(request: ProgramRequest, name: str, own: list[Compared]) -> list[tuple[str, ...]]:
    """A line for each array."""
    lines: list[tuple[str, ...]] = []
    for array in sorted({c.array for c in own}):
        of = [c for c in own if c.array == array]
        known = [c for c in of if c.known]
        error = max((c.error for c in known), default=0.0)
        verdict = "passed" if all(c.passed for c in of) else "FAILED"
        kinks = sum(not c.smooth for c in known)
        cells = str(len(of)), str(kinks), str(len(of) - len(known)), f"{error:.2g}", verdict
        lines.append((name, request.names[array], *cells))
    return lines


def _words(request: ProgramRequest, name: str, c: Compared) -> list[str]:
    """One comparison in words."""
    where = "all elements" if c.at is None else f"element {list(c.at)}"
    sides = f"{(c.left + c.right) / 2:.9g}" if c.smooth else f"{c.left:.9g} to the left and {c.right:.9g} to the right"
    return [
        f"inputs {name}: {where} of {request.names[c.array]}",
        f"the gradient gives {c.derived:.9g}, the difference is {sides}",
    ]


def _plain(request: ProgramRequest, c: Compared) -> dict[str, Any]:
    """One comparison as plain values, for JSON."""
    return {
        "array": request.names[c.array], "element": c.at, "derived": c.derived, "left": c.left, "right": c.right,
        "known": c.known, "smooth": c.smooth, "error": c.error if c.known else None, "passed": c.passed,
    }  # fmt: skip
