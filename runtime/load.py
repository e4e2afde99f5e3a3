"""``load``: a compiled program of arrays from its file."""

from __future__ import annotations

import os

from ..compiler import files
from ..compiler.driver import artifact_file, program_file
from ..compiler.errors import error
from ..compiler.program.frames import outermost
from .arrays.torch_compile import opaque
from .programs.compiled import Compiled


@opaque
@outermost
def load(path: str | os.PathLike[str]) -> Compiled:
    """Reads a compiled program of arrays, as a reduction is, that ``save`` wrote; imports no MLIR.

    Raises:
        FileError: WF501 for an unreadable file, WF502 for one that is no artifact, WF503 for one that is truncated or
            altered, WF510 for one with inconsistent parts, WF513 for one of an earlier format.
    """
    data = files.read(path, "WF501")
    for magic in (*artifact_file.EARLIER, *program_file.EARLIER):
        if data.startswith(magic):
            raise error("WF513", path=path, format=magic.decode().strip())
    return Compiled(program_file.parse(data, path))
