"""A compiled program of arrays as a value: its steps, and the kernels of each."""

from __future__ import annotations

from dataclasses import dataclass

from ..plan.fields import Determinism
from ..program.array_program import ArrayProgram
from ..program.cuts.steps import Steps
from .artifact import Artifact


@dataclass(frozen=True)
class ProgramArtifact:
    """A compiled program of arrays, which runs without MLIR.

    Attributes:
        program: the program.
        steps: its steps.
        kernels: for each step its kernels.
        names: what the function calls its arrays, in the order in which calls take them.
        ones: for each array which of its axes have size 1.
        plan: the fields of the plans that were asked for, see ``Plan.with_options``.
        determinism: what the bits of results may depend on, see ``Task``.
        reduced: the axes that a reduction reduces; None for another program.
    """

    program: ArrayProgram
    steps: Steps
    kernels: tuple[Artifact, ...]
    names: tuple[str, ...]
    ones: tuple[tuple[bool, ...], ...]
    plan: str = ""
    determinism: Determinism = "run"
    reduced: tuple[int, ...] | None = None
