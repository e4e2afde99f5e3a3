"""Measures one case by warpfold and its peers; each result is checked before it is timed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ...compiler.errors import WarpfoldError
from ...runtime.tuning.measure import Timing, timed
from . import reduction_trial
from .cases import PLAIN, Case
from .inputs import Arrays
from .peers import AnyCase, Peer, UnservedError, reason, serves
from .programs import trial as program_trial
from .results import Entry, Row
from .trial import Call, Trial

if TYPE_CHECKING:
    from ...runtime.backends.cuda_backend import CudaBackend

Timer = Callable[..., Timing]
RUNS, SECONDS = 20, 1.0
"""Number of timed calls, and the time in seconds after which no further call begins."""


@dataclass
class Contest:
    """The means to measure cases.

    Attributes:
        backend: the device.
        arrays: makes the inputs of reductions.
        peers: the peers, or the reason why one is missing.
        timer: ``measure.timed``, or a substitute in tests.
    """

    backend: CudaBackend
    arrays: Arrays
    peers: Mapping[str, Peer | str]
    timer: Timer = timed

    def row(self, case: AnyCase) -> Row:
        """Measures one case; the entry of a contestant that fails contains the reason."""
        row = Row(case.name, case.group, case.nbytes, case.name in PLAIN, Entry(), {})
        asked = {name: peer for name, peer in self.peers.items() if serves(name, case)}
        try:
            trial = self._trial(case)
            copy = self._time([trial.copy]) if trial.copy else None
        except Exception as e:
            failed = Entry(word="failed", reason=f"not prepared: {_said(e)}")
            return replace(row, ours=failed, peers=dict.fromkeys(asked, failed))
        ours = trial.ours
        work: dict[str, Callable[[], Sequence[Call]] | str] = {"": ours if isinstance(ours, str) else lambda: ours}
        for name, peer in asked.items():
            work[name] = peer if isinstance(peer, str) else partial(_calls, peer, case, trial.inputs)
        entries = {name: self._entry(trial, calls, own=not name) for name, calls in work.items()}
        found = replace(row, ours=entries.pop(""), peers=entries, copy=copy)
        return replace(found, plan=trial.plan, reasons=trial.reasons)

    def _trial(self, case: AnyCase) -> Trial:
        if isinstance(case, Case):
            return reduction_trial.trial(case, self.arrays, self.backend)
        return program_trial.trial(case)

    def _entry(self, trial: Trial, calls: Callable[[], Sequence[Call]] | str, *, own: bool) -> Entry:
        """Checks the result for the first arrays, then times the calls; a failure does not stop other contestants."""
        if isinstance(calls, str):
            return Entry(word="missing", reason=calls)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                work = calls()
                error, right = trial.check(work[0](), own)
                if not right:
                    return Entry(error=error, word="wrong", reason=f"off by {error:.3g}")
                return Entry(self._time(work), error)
        except UnservedError as e:
            return Entry(word="none", reason=str(e))
        except Exception as e:
            return Entry(word="failed", reason=_said(e))

    def _time(self, calls: Sequence[Call]) -> Timing:
        return self.timer(self.backend, calls, runs=RUNS, seconds=SECONDS)


def _calls(peer: Peer, case: AnyCase, xs: Sequence[Any]) -> list[Call]:
    """A peer's call for each set of buffers."""
    return [peer.call(case, x) for x in xs]


def _said(e: Exception) -> str:
    return reason(e) if isinstance(e, WarpfoldError) else f"{type(e).__name__}: {reason(e)}"
