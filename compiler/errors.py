"""The one exception tree and the one catalogue of diagnostic codes.

Every mistake a user can make ends in ``error("WFnnn", ...)``: the text says what was expected, what came and what to
do. Codes are grouped: WF1 arrays and arguments, WF2 tracing and monoids, WF3 IR and passes, WF4 plans and targets,
WF5 files (artifacts, cache, inputs, outputs), WF6 CUDA, WF7 emulator, WF8 command line.
"""

from __future__ import annotations

from dataclasses import dataclass


class WarpfoldError(Exception):
    """Base of all errors warpfold raises on purpose.

    Attributes:
        code: the diagnostic code, ``WF101`` and so on.
        location: where in the user's code or file it happened, or None.
    """

    def __init__(self, code: str, message: str, remedy: str, location: Location | None) -> None:
        self.code = code
        self.message = message
        self.remedy = remedy
        self.location = location
        super().__init__(self.render())

    def render(self) -> str:
        """The message as users see it: code and text, then the location, then what to do."""
        lines = [f"{self.code}: {self.message}"]
        if self.location is not None:
            lines.append(f"  at {self.location}")
        if self.remedy:
            lines.append(f"  help: {self.remedy}")
        return "\n".join(lines)


class ArgumentError(WarpfoldError, ValueError):
    """A value that the call cannot take."""


class DTypeError(WarpfoldError, TypeError):
    """A type that the call cannot take."""


class TraceError(WarpfoldError, TypeError):
    """A combine, lift or finish function that cannot be traced into a graph."""


class CompileError(WarpfoldError, RuntimeError):
    """IR that does not verify, or a pass that failed."""


class PlanError(WarpfoldError, ValueError):
    """A plan that does not fit the reduction or the target."""


class FileError(WarpfoldError, OSError):
    """A file that cannot be read, written or trusted."""

    def __init__(self, code: str, message: str, remedy: str, location: Location | None) -> None:
        WarpfoldError.__init__(self, code, message, remedy, location)

    def __str__(self) -> str:
        return self.render()


class BackendError(WarpfoldError, RuntimeError):
    """A device, driver or tool that is missing or that refused."""


class EmulatorError(WarpfoldError, RuntimeError):
    """PTX that the emulator does not run, or that did something illegal while running."""


@dataclass(frozen=True)
class Location:
    """A line of the user's source: ``file`` and 1-based ``line``, with the line's ``text`` when it is known."""

    file: str
    line: int
    text: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" + (f": {self.text.strip()}" if self.text else "")


@dataclass(frozen=True)
class Diagnostic:
    """One row of the catalogue: ``text`` and ``remedy`` are ``str.format`` templates over the facts of a case."""

    kind: type[WarpfoldError]
    text: str
    remedy: str


CATALOGUE: dict[str, Diagnostic] = {}


def _rows(kind: type[WarpfoldError], rows: dict[str, tuple[str, str]]) -> None:
    for code, (text, remedy) in rows.items():
        CATALOGUE[code] = Diagnostic(kind, text, remedy)


# --- WF3: IR and passes ------------------------------------------------------------------------------------------
_rows(
    CompileError,
    {
        "WF301": (
            "no MLIR bindings with the NVPTX backend were found (looked for 'mlir' and 'numba_cuda_mlir')",
            "python -m pip install 'numba-cuda-mlir>=0.5.2,<0.7'",
        ),
    },
)

# --- WF59, WF89: warpfold-opt ------------------------------------------------------------------------------------
_rows(
    FileError,
    {
        "WF591": ("cannot read {path}: {reason}", "give the path of an MLIR text file, or - for standard input"),
        "WF592": ("cannot write {path}: {reason}", "give -o a path in a folder that exists and may be written"),
    },
)
_rows(
    ArgumentError,
    {
        "WF891": ("no pass is called {name!r}{near}", "warpfold-opt --list-passes names warpfold's own passes"),
        "WF892": ("the pass pipeline does not parse: {reason}", "write builtin.module(pass,gpu.module(pass),...)"),
        "WF893": (
            "{name} runs on builtin.module and cannot be nested in {anchor}",
            "move {name} out of {anchor}(...)",
        ),
        "WF894": ("{name} takes no options, got {options}", "write {name} alone: the IR carries what it reads"),
    },
)

# --- WF7: the emulator -------------------------------------------------------------------------------------------
_rows(
    EmulatorError,
    {},
)


def error(code: str, *, where: Location | None = None, **facts: object) -> WarpfoldError:
    """Makes (does not raise) the error ``code`` with its texts filled from ``facts``.

    Args:
        code: a key of ``CATALOGUE``; an unknown one is a ``KeyError``, which a test forbids.
        where: the user's source line, when there is one.
        facts: the values named in the row's templates.
    """
    row = CATALOGUE[code]
    return row.kind(code, row.text.format(**facts), row.remedy.format(**facts), where)
