"""A parsed PTX module: its variables and functions, before they are laid out or compiled."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ....compiler.errors import WarpfoldError
from .text import Source
from .types import CARRY, Instruction, Reg, Variable


@dataclass(eq=False)
class Function:
    """A ``.entry`` or ``.func``: ``code`` is flat, label targets inside it are indices into ``code``.

    ``limits`` holds the performance directives that bind a launch (maxntid, reqntid, reqnctapercluster ...).
    """

    name: str
    entry: bool
    line: int
    params: list[Variable | Reg] = field(default_factory=list)
    returns: list[Variable | Reg] = field(default_factory=list)
    code: list[Instruction] = field(default_factory=list)
    registers: list[Reg] = field(default_factory=lambda: [CARRY])
    variables: list[Variable] = field(default_factory=list)
    limits: dict[str, tuple[int, ...]] = field(default_factory=dict)
    defined: bool = False


@dataclass(eq=False)
class Module:
    """A parsed module: its functions by name, and its module-level variables.

    ``programs`` holds what the machine built of each kernel, and ``refused`` the errors of kernels too large to build.
    """

    source: Source
    version: str = ""
    target: str = ""
    functions: dict[str, Function] = field(default_factory=dict)
    variables: list[Variable] = field(default_factory=list)
    programs: dict[str, Any] = field(default_factory=dict)
    refused: dict[str, WarpfoldError] = field(default_factory=dict)

    @property
    def entries(self) -> list[str]:
        """Names of the kernels, in text order."""
        return [f.name for f in self.functions.values() if f.entry]
