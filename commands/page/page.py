"""``warpfold page``: one HTML file that shows an operation from Python to the lanes."""

from __future__ import annotations

from ...compiler.errors import error
from ...runtime.ptxas import has_disassembler
from .. import terminal
from ..output_file import Output
from ..requests.choose import AnyRequest
from .collect import collect
from .html import html


def page(
    request: AnyRequest,
    output: str,
    *,
    compare: str | None = None,
    max_steps: int | None = None,
    sass: bool | None = None,
) -> None:
    """Writes the page, and says where, and what of it is missing.

    Machine code is a column if ``sass`` says so; if it says nothing, where an assembler and a disassembler are found.

    Raises:
        WarpfoldError: WF856 for a PTX file, WF505 for a path that cannot be written; whatever is wrong with the
            request. What the emulator cannot run is no error: the page says it.
    """
    if request.op.endswith(".ptx"):
        raise error("WF856", op=request.op)
    target = Output(output, request.files)
    sass = has_disassembler() if sass is None else sass
    with terminal.progress("looking"):
        found = collect(request, compare, max_steps, sass=sass)
        text = html(found)
    target.write(lambda f: f.write(text.encode()))
    terminal.show(f"{output}: {terminal.size(len(text.encode()))}")
    for side in found.sides:
        if side.trouble:
            terminal.show(f"not run: {side.trouble}")
