"""What cases of masks are to reach beside PyTorch, a read, or a case without a mask, and whether a run reached it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ....runtime.tuning.measure import Ceilings
from ..results import Row
from .case import ProgramCase, parse
from .operations import ELEMENTWISE, OF_BITS

LARGE = 256_000_000
"""Bytes from which a case has such a goal."""
BACKWARD, FORWARD, CHANNELS_INNERMOST = 1.15, 1.0, 1.35
"""The speed of batch norms with a ReLU relative to compiled PyTorch: of their gradients, and of forwards."""
OF_READ, OF_COPY = 0.95, 0.95
"""The fraction of a read that reductions of bits reach, and of a copy that programs of single elements reach."""
WITHOUT: Mapping[str, tuple[str, float]] = {
    "relu_bits": ("relu", 1.04),
    "add_relu_bits": ("add_relu", 1.04),
    "sum_where": ("sum", 1.05),
}
"""For cases with a mask the one without it, and how much longer they may take."""
BESIDE_TORCH: Mapping[str, float] = {"relu_backward": 1.40}
"""The speed relative to PyTorch's own function."""


@dataclass(frozen=True)
class Goal:
    """One line to reach.

    Attributes:
        beside: ``copy``, ``read``, the name of a peer, or that of another case.
        least: the least speed relative to it.
    """

    beside: str
    least: float


def goals(case: ProgramCase) -> list[Goal]:
    """What a case is to reach; nothing for small cases, and for those without such a goal."""
    if case.nbytes < LARGE:
        return []
    found = [Goal("copy", OF_COPY)] if case.what in ELEMENTWISE else []
    found += [Goal("read", OF_READ)] if case.what in OF_BITS else []
    found += [Goal("torch", BESIDE_TORCH[case.what])] if case.what in BESIDE_TORCH else []
    if case.what in WITHOUT:
        what, longer = WITHOUT[case.what]
        found.append(Goal(replace(case, what=what, name=f"{what}.{case.name.partition('.')[2]}").name, 1 / longer))
    if case.what.startswith("batchnorm_") and "relu" in case.what:
        forward = CHANNELS_INNERMOST if case.is_nhwc else FORWARD
        found.append(Goal("compile", BACKWARD if "backward" in case.what or case.base != case.what else forward))
    return found


def reached(goal: Goal, row: Row, rows: Sequence[Row], top: Ceilings) -> float | None:
    """The speed of a row relative to what its goal names; None where either was not measured."""
    if not row.ours.us:
        return None
    if goal.beside == "copy":
        return row.of_copy
    if goal.beside == "read":
        return top.read_at(row.nbytes) / row.ours.us
    other = row.peers.get(goal.beside) or next((r.ours for r in rows if r.name == goal.beside), None)
    return other.us / row.ours.us if other and other.us else None


def words(row: Row, rows: Sequence[Row], top: Ceilings) -> str:
    """The goals of a row, each with what was reached: ``1.40 of torch: 1.46``; what was missed is marked."""
    case = parse(row.name)
    said = []
    for goal in goals(case) if case else ():
        found = reached(goal, row, rows, top)
        if found is not None:
            missed = " missed" if found < goal.least else ""
            said.append(f"{goal.least:.2f} of {goal.beside.partition('.')[0]}: {found:.2f}{missed}")
    return "; ".join(said)
