"""The one exception tree, the source line that an error names, and an entry of the catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


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

    def __reduce__(self) -> tuple[type[WarpfoldError], tuple[object, ...]]:
        """Rebuilds the error from its parts, so that it survives pickling on its way out of a worker process."""
        return type(self), (self.code, self.message, self.remedy, self.location)

    def locate(self, where: Location | None) -> None:
        """Says where it happened, once that is known."""
        self.location = where
        self.args = (self.render(),)

    def render(self) -> str:
        """The message as users see it: code and text, then the location, then what to do."""
        lines = [f"{self.code}: {self.message}"]
        if self.location is not None:
            lines.append(f"  at {self.location}")
        if self.remedy:
            lines.append(f"  help: {self.remedy}")
        return "\n".join(lines)


class WarpfoldWarning(UserWarning):
    """Something that works but will surprise; its text looks like that of an error."""


class ArgumentError(WarpfoldError, ValueError):
    """A value that the call cannot take."""


class DTypeError(WarpfoldError, TypeError):
    """A type that the call cannot take."""


class TraceError(WarpfoldError, TypeError):
    """A combine, lift or finish function that cannot be traced into a graph."""


class TraceAttributeError(TraceError, AttributeError):
    """An attribute that a symbolic value does not have, for Python to ask for as it asks any object."""


class MissingNameError(WarpfoldError, AttributeError):
    """A name that warpfold does not have, for Python to ask for as it asks any module."""


class MissingModuleError(WarpfoldError, ModuleNotFoundError):
    """A library that a part of warpfold is made for, and that is not installed."""


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


class Diagnostic(NamedTuple):
    """One entry of the catalogue: ``text`` and ``remedy`` are ``str.format`` templates over the facts of a case."""

    kind: type[WarpfoldError]
    text: str
    remedy: str


Entries = dict[type[WarpfoldError], dict[str, tuple[str, str]]]
"""Entries of the catalogue, by the kind of error: (text, remedy) by code."""
