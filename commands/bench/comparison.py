"""Measures one case by warpfold and its peers; each result is checked before it is timed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...compiler.errors import WarpfoldError
from ...runtime import named_reductions
from ...runtime.arrays.conversion import to_numpy
from ...runtime.calls.operands import Operands as Bound
from ...runtime.execute import prepared
from ...runtime.prepare import Request
from ...runtime.tuning.measure import Timing, timed
from ...runtime.view import View
from .answers import Answer, answer, error_of
from .cases import PLAIN, Case
from .inputs import SETS, Arrays, Owned
from .peers import Peer, UnservedError, reason
from .results import Entry, Row

if TYPE_CHECKING:
    from ...runtime.backends.cuda_backend import CudaBackend

Call = Callable[[], Any]
Timer = Callable[..., Timing]
RUNS, SECONDS = 20, 1.0
"""Number of timed calls, and the time in seconds after which no further call begins."""


@dataclass
class Contest:
    """The means to measure cases.

    Attributes:
        backend: the device.
        arrays: makes the inputs.
        peers: the peers, or the reason why one is missing.
        timer: ``measure.timed``, or a substitute in tests.
    """

    backend: CudaBackend
    arrays: Arrays
    peers: Mapping[str, Peer | str]
    timer: Timer = timed

    def row(self, case: Case) -> Row:
        """Measures one case; the entry of a contestant that fails contains the reason."""
        row = Row(case.name, case.group, case.nbytes, case.name in PLAIN, Entry(), {})
        try:
            xs = [self.arrays.random(case, i) for i in range(SETS)]
            out = self.arrays.empty(case.kept, case.result)
            seen = self.backend.get(xs[0].view, 0) if isinstance(xs[0], Owned) else xs[0]
            expected = answer(case, seen)
            chosen = prepared(Request(case.what, case.axis), Bound.of([xs[0]], "auto"), out).choice
        except Exception as e:
            failed = Entry(word="failed", reason=f"not prepared: {_said(e)}")
            return replace(row, ours=failed, peers=dict.fromkeys(self.peers, failed))
        reduce = getattr(named_reductions, case.what)
        ours = [lambda x=x: reduce(x, axis=case.axis, out=out) for x in xs]
        work: dict[str, Callable[[], Sequence[Call]] | str] = {"": lambda: ours}
        for name, peer in self.peers.items():
            work[name] = peer if isinstance(peer, str) else partial(_calls, peer, case, xs)
        entries = {name: self._entry(case, seen, expected, calls) for name, calls in work.items()}
        plan, reasons = chosen.plan.to_dict(), list(chosen.reasons)
        return replace(row, ours=entries.pop(""), peers=entries, plan=plan, reasons=reasons)

    def _entry(self, case: Case, x: Any, expected: Answer, calls: Callable[[], Sequence[Call]] | str) -> Entry:
        """Checks the result for the first array, then times the calls; a failure does not stop other contestants."""
        if isinstance(calls, str):
            return Entry(word="missing", reason=calls)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                work = calls()
                error, right = error_of(case, expected, self._host(work[0]()), x)
                if not right:
                    return Entry(error=error, word="wrong", reason=f"off by {error:.3g}")
                timing = self.timer(self.backend, work, runs=RUNS, seconds=SECONDS)
                return Entry(timing, error)
        except UnservedError as e:
            return Entry(word="none", reason=str(e))
        except Exception as e:
            return Entry(word="failed", reason=_said(e))

    def _host(self, result: Any) -> np.ndarray[Any, Any]:
        return self.backend.get(result, 0) if isinstance(result, View) else to_numpy(result)


def _calls(peer: Peer, case: Case, xs: Sequence[Any]) -> list[Call]:
    """A peer's call for each set of buffers."""
    return [peer.call(case, x) for x in xs]


def _said(e: Exception) -> str:
    return reason(e) if isinstance(e, WarpfoldError) else f"{type(e).__name__}: {reason(e)}"
