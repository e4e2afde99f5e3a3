"""What one run of a reduction or of a program gives: results, times and checks, in words and as plain values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from ..runtime.calls.operands import Operands
from ..runtime.programs.plans import PreparedProgram
from . import terminal
from .checking import reference
from .requests.inputs import Array
from .timing import REPEATS, Timed, why

P = TypeVar("P")
"""What was prepared: ``Prepared`` of a reduction, ``PreparedProgram`` of a program."""


@dataclass
class Outcome(Generic[P]):
    """One run.

    Attributes:
        prepared: the reduction, or the steps of the program, with their plans.
        operands: the arrays, with the backend.
        results: NumPy arrays.
        cached: whether all kernels came from the cache.
        compile_s, run_s: host times in seconds; the second includes copies and the wait for the results.
        device_us: device time of the kernels in microseconds; None on the emulator.
        checks: one per result; empty with ``--no-check``.
        whole: the program of a reduction, whose one step is ``prepared``; None for another program.
    """

    prepared: P
    operands: Operands
    results: list[Array]
    cached: bool
    compile_s: float
    run_s: float
    device_us: float | None = None
    checks: list[reference.Check] = field(default_factory=list)
    whole: PreparedProgram | None = None

    @property
    def passed(self) -> bool:
        """Whether every result is right."""
        return all(c.passed for c in self.checks)

    def times(self, arrays: Sequence[Array]) -> list[tuple[str, object]]:
        """The times in words; the kernels' beside the bytes of ``arrays`` and results that they move."""
        made = "found in the cache" if self.cached else "made now"
        lines: list[tuple[str, object]] = [
            ("compile", f"{terminal.duration(self.compile_s)} ({made})"),
            ("run", f"{terminal.duration(self.run_s)} (host clock, from arrays to result)"),
        ]
        if self.device_us:
            moved = sum(x.nbytes for x in (*arrays, *self.results)) / self.device_us / 1e3
            spent = terminal.duration(self.device_us / 1e6)
            lines.append(("kernels", f"{spent} (device clock, least of {REPEATS}), {moved:.4g} GB/s"))
        return lines

    def written(self, output: str | None) -> list[tuple[str, object]]:
        """What was written to the file ``output``, in words."""
        return [("written", output if self.passed else "nothing, since the check failed")] if output else []

    def facts(self, device: str, output: str | None) -> dict[str, object]:
        """Where it ran, whether it passed, and its times, as plain values."""
        return {
            "backend": self.operands.backend.name, "why": why(self.operands.backend, device),
            "passed": self.passed if self.checks else None,
            "compile_ms": self.compile_s * 1e3, "cached": self.cached, "run_ms": self.run_s * 1e3,
            "kernels_us": self.device_us, "output": output if self.passed else None,
        }  # fmt: skip


def device_time(operands: Operands, launch: Callable[[], object]) -> float | None:
    """The device time in microseconds of all that ``launch`` launches, each kernel the least of a few runs.

    None for a backend without a clock, and for arrays without elements.
    """
    backend: Any = operands.backend
    if not hasattr(backend, "elapsed") or any(0 in v.shape for v in operands.inputs):
        return None
    timed: Any = Timed(backend)
    operands.backend = timed
    launch()
    operands.backend = backend
    return float(timed.microseconds)
