"""``warpfold page``: one HTML file that shows an operation from Python to the lanes."""

from __future__ import annotations

from ...compiler.errors import error
from .. import terminal
from ..output_file import Output
from ..requests.choose import AnyRequest
from .collect import collect
from .html import html


def page(
    request: AnyRequest, output: str, *, compare: str | None = None, max_steps: int | None = None, sass: bool = False
) -> None:
    """Writes the page, and says where, and what of it is missing.

    Raises:
        WarpfoldError: WF856 for a PTX file, WF505 for a path that cannot be written; whatever is wrong with the
            request. What the emulator cannot run is no error: the page says it.
    """
    if request.op.endswith(".ptx"):
        raise error("WF856", op=request.op)
    target = Output(output, request.files)
    with terminal.progress("looking"):
        found = collect(request, compare, max_steps, sass=sass)
        text = html(found)
    target.write(lambda f: f.write(text.encode()))
    terminal.show(f"{output}: {terminal.size(len(text.encode()))}")
    for side in found.sides:
        if side.trouble:
            terminal.show(f"not run: {side.trouble}")
