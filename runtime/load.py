"""``load``: a compiled reduction, or a compiled program of arrays, from its file."""

from __future__ import annotations

import os

from ..compiler import files
from ..compiler.driver import artifact_file, program_file
from ..compiler.program.frames import outermost
from .arrays.torch_compile import opaque
from .compiled import Compiled
from .programs.compiled import CompiledProgram


@opaque
@outermost
def load(path: str | os.PathLike[str]) -> Compiled | CompiledProgram:
    """Reads a compiled reduction, or a compiled program of arrays, that ``save`` wrote; imports no MLIR.

    Raises:
        FileError: WF501 for an unreadable file, WF502 for one that is no artifact, WF503 for one that is truncated or
            altered, WF510 for one with inconsistent parts.
    """
    data = files.read(path, "WF501")
    if data.startswith(program_file.MAGIC):
        return CompiledProgram(program_file.parse(data, path))
    return Compiled(artifact_file.load(path))
