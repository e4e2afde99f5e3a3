"""``warpfold bench``: warpfold and its peers side by side on one GPU, every answer checked."""

from __future__ import annotations

import math
import sys
import time

from ...compiler.errors import WarpfoldError
from ...runtime.tuning.measure import ceilings
from .. import terminal
from ..output_file import Output
from . import inputs, peers, provenance, report, selection
from .comparison import Contest
from .gpu import gpu
from .host_time import host
from .results import FORMAT, Results, Row


class Run:
    """One run of the benchmark. The constructor checks all options before anything is measured.

    Args:
        cases, only: the values of ``--cases`` and ``--only``.
        names: the value of ``--peers``.
        seconds: the time after which no further case begins; None for no limit.
        out: the file of results, written after every case.
        plot: the file of the picture.

    Raises:
        ArgumentError: WF740, WF741.
        FileError: WF505 for files that cannot be written, WF830 and WF831 for a picture that cannot be drawn.
        BackendError: WF742 without a GPU.
    """

    def __init__(
        self, cases: str, only: str, names: str, seconds: float | None, out: str | None, plot: str | None
    ) -> None:
        from .roofline import Roofline

        self.cases = selection.select(cases, only)
        self.names = [n for n in peers.select(names) if any(peers.serves(n, case) for case in self.cases)]
        self.until = math.inf if seconds is None else time.monotonic() + seconds
        self.output = Output(out) if out else None
        self.picture = Roofline(plot) if plot else None
        self.backend = gpu(FORMAT, "what kernels do there, warpfold profile counts anywhere")
        self.results: Results | None = None

    def measure(self) -> Results:
        """Measures all cases; ``results`` and, after every case, the file contain the measurements so far."""
        early = provenance.busy(self.backend)
        for warning in early:
            print(f"warning: {warning}", file=sys.stderr)
        with terminal.progress("ceilings"):
            top = ceilings(self.backend)
        with terminal.progress("peers"):
            opened = peers.open_peers(self.names, self.backend)
        said = {n: p if isinstance(p, str) else p.version for n, p in opened.items()}
        self.results = found = Results(provenance.machine(self.backend), top, said, warnings=early)
        contest = Contest(self.backend, inputs.arrays(self.backend), opened)
        for number, case in enumerate(self.cases, start=1):
            if time.monotonic() > self.until:
                found.warnings.append(f"the time is over: {number - 1} of {len(self.cases)} cases were measured")
                break
            with terminal.progress(f"{number} of {len(self.cases)}: {case.name}"):
                self._keep(contest.row(case))
        with terminal.progress("host"):
            self._host(found)
        found.warnings += provenance.unsteady(found.rows)
        self.write()
        return found

    def _host(self, found: Results) -> None:
        """The host time of calls, or the reason why it cannot be measured."""
        try:
            found.host = host(self.backend, bool(found.programs))
        except Exception as e:
            found.warnings.append(f"the host's costs were not measured: {type(e).__name__}: {peers.reason(e)}")

    def _keep(self, row: Row) -> None:
        assert self.results is not None
        self.backend.wait()  # a kernel that breaks the device must not affect other cases
        self.results.rows.append(row)
        self.write()

    def write(self) -> None:
        """Writes the measurements so far to the file."""
        if self.output and self.results:
            self.results.write(self.output)

    def draw(self) -> None:
        """Draws the measurements."""
        if self.picture and self.results:
            self.picture.write(self.results)


def bench(
    cases: str, only: str, names: str, seconds: float | None, out: str | None, plot: str | None
) -> bool:  # fmt: skip
    """Measures, prints, writes and draws; returns whether the run was not interrupted.

    After an interruption it shows the measurements so far, and the file that keeps them.
    """
    run = Run(cases, only, names, seconds, out, plot)
    ended = True
    try:
        run.measure()
    except KeyboardInterrupt:
        ended = False
        print(_broken_off(run, "interrupted", out), file=sys.stderr)
    except WarpfoldError:
        print(_broken_off(run, "the device failed", out), file=sys.stderr)
        _show(run)
        raise
    _show(run)
    return ended


def _show(run: Run) -> None:
    if run.results is not None:
        report.show(run.results)
        run.draw()


def _broken_off(run: Run, why: str, out: str | None) -> str:
    """The message after an interruption."""
    done = len(run.results.rows) if run.results else 0
    kept = f", kept in {out}" if out and done else ""
    return f"{why}: {done} of {len(run.cases)} cases were measured{kept}"
