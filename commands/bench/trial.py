"""A case with its arrays on the device, ready to be checked and timed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Call = Callable[[], Any]


@dataclass(frozen=True)
class Trial:
    """One case, ready.

    Attributes:
        inputs: what a peer takes, for each set of buffers: an array, or the tuple of the inputs of a program.
        ours: warpfold's call for each set of buffers, or the reason why there is none.
        check: the greatest error of a result for the first set, and whether it is allowed; the second argument says
            whether the result is warpfold's.
        copy: a device copy that moves as many bytes as the case must; None for a reduction.
        plan: warpfold's plan, if it has one.
        reasons: the planner's reasons.
    """

    inputs: Sequence[Any]
    ours: Sequence[Call] | str
    check: Callable[[Any, bool], tuple[float, bool]]
    copy: Call | None = None
    plan: Mapping[str, Any] = field(default_factory=dict)
    reasons: Sequence[str] = ()
