"""The results of the benchmark: the measurements of each case, and their file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from ...runtime.tuning.measure import Ceilings, Timing
from .. import terminal
from ..output_file import Output
from . import versioned_file
from .programs.case import GROUP

FORMAT = "warpfold bench"
VERSION = 1
LARGE = 256_000_000
"""Bytes from which a case should reach ``HIGH`` of the ceiling."""
HIGH, LEVEL = 0.95, 0.98
"""The fraction of the ceiling, and the speed relative to the best peer below which a case is lost."""


@dataclass(frozen=True)
class Entry:
    """The result of one contestant in one case.

    Attributes:
        timing: the device time, if the result is right.
        error: the greatest error against float64, if there is a result.
        word: why there is no timing: ``missing``, ``none`` (unsupported), ``failed`` or ``wrong``.
        reason: the details of ``word``.
    """

    timing: Timing | None = None
    error: float | None = None
    word: str = ""
    reason: str = ""

    @property
    def us(self) -> float | None:
        """The median in microseconds."""
        return self.timing.median if self.timing else None


@dataclass(frozen=True)
class Row:
    """One case, measured.

    Attributes:
        name, group: name and group of the case; ``fused`` for a program.
        nbytes: bytes that must move.
        plain: whether it counts in the geometric mean of the plain cases.
        ours: the entry of warpfold.
        peers: the entries of the peers, by name.
        plan: warpfold's plan.
        reasons: the planner's reasons.
        copy: a device copy of as many bytes, in the same run; None for a reduction.
    """

    name: str
    group: str
    nbytes: int
    plain: bool
    ours: Entry
    peers: Mapping[str, Entry]
    plan: Mapping[str, Any] = field(default_factory=dict)
    reasons: Sequence[str] = ()
    copy: Timing | None = None

    @property
    def best(self) -> tuple[str, float] | None:
        """The fastest peer and its microseconds."""
        timed = [(e.us, name) for name, e in self.peers.items() if e.us is not None]
        return (min(timed)[1], min(timed)[0]) if timed else None

    @property
    def ratio(self) -> float | None:
        """Warpfold's speed relative to the best peer."""
        return self.best[1] / self.ours.us if self.best and self.ours.us else None

    @property
    def of_copy(self) -> float | None:
        """Warpfold's speed as a fraction of a copy of as many bytes."""
        return self.copy.median / self.ours.us if self.copy and self.ours.us else None

    def of_ceiling(self, top: Ceilings) -> tuple[float, float] | None:
        """Warpfold's speed as a fraction of the read of 1 GiB, and of a plain read of the same size."""
        if not self.ours.us:
            return None
        return self.nbytes / self.ours.us / 1e3 / top.read, top.read_at(self.nbytes) / self.ours.us


@dataclass
class Results:
    """A run of the benchmark.

    Attributes:
        machine: GPU, driver, versions, commit, date: labelled texts.
        ceilings: the device's.
        peers: each peer's version, or the reason why it is missing.
        rows: the cases, in order.
        host: host costs in microseconds and counts, by cost, then by call.
        warnings: reasons to doubt the numbers.
    """

    machine: dict[str, Any]
    ceilings: Ceilings
    peers: dict[str, str]
    rows: list[Row] = field(default_factory=list)
    host: dict[str, dict[str, float]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    @property
    def reductions(self) -> list[Row]:
        """The cases that are reductions."""
        return [r for r in self.rows if r.group != GROUP]

    @property
    def programs(self) -> list[Row]:
        """The cases that are programs."""
        return [r for r in self.rows if r.group == GROUP]

    @property
    def behind(self) -> list[Row]:
        """Cases in which a peer is faster by more than noise."""
        return [r for r in self.rows if r.ratio is not None and r.ratio < LEVEL]

    @property
    def low(self) -> list[Row]:
        """Large reductions below their fraction of the ceiling."""
        found = [(r, r.of_ceiling(self.ceilings)) for r in self.reductions if r.nbytes >= LARGE]
        return [r for r, of in found if of and of[0] < HIGH]

    def mean(self, *, plain: bool = False) -> tuple[float, int]:
        """The geometric mean of the reductions' speeds relative to the best peer, and their number."""
        return mean([r.ratio for r in self.reductions if r.plain or not plain])

    def read_mean(self, *, plain: bool = False) -> float:
        """The geometric mean of the best peer's time over that of a plain read: the ratio that ``mean`` could reach."""
        rows = [r for r in self.reductions if r.ratio and (r.plain or not plain)]
        return mean([r.best[1] / self.ceilings.read_at(r.nbytes) for r in rows if r.best])[0]

    def to_dict(self) -> dict[str, Any]:
        """The contents of the file."""
        return {"format": FORMAT, "version": VERSION, **asdict(self)}

    def write(self, output: Output) -> None:
        """Writes the file, whole or not at all."""
        text = terminal.as_json(self.to_dict())
        output.write(lambda f: f.write(text.encode() + b"\n"))


def mean(values: Iterable[float | None]) -> tuple[float, int]:
    """The geometric mean of the values that are there, 0 for none, and their number."""
    found = [v for v in values if v]
    return (geometric_mean(found) if found else 0.0), len(found)


def load(path: str | Path) -> Results:
    """Reads the results from a file.

    Raises:
        FileError: WF501 for an unreadable file, WF743 for another version, WF744 for a damaged file.
    """
    return versioned_file.load(path, FORMAT, VERSION, _read)


def _read(found: dict[str, Any]) -> Results:
    top = found["ceilings"]
    reads = tuple((int(n), float(us)) for n, us in top["reads"])
    if not reads:
        raise ValueError("no reads were measured")
    ceilings = Ceilings(float(top["read"]), float(top["copy"]), float(top["empty"]), reads)
    rows = [_row(r) for r in found["rows"]]
    return Results(found["machine"], ceilings, found["peers"], rows, found["host"], list(found["warnings"]))


def _row(found: dict[str, Any]) -> Row:
    peers = {name: _entry(e) for name, e in found["peers"].items()}
    read = {"ours": _entry(found["ours"]), "peers": peers, "copy": _timing(found.get("copy"))}
    return Row(**(found | read))


def _entry(found: dict[str, Any]) -> Entry:
    return Entry(**(found | {"timing": _timing(found["timing"])}))


def _timing(found: dict[str, Any] | None) -> Timing | None:
    return Timing(**found) if found else None
