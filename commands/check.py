"""``warpfold check``: the laws of a monoid and values that break them, or the results of a program beside f64."""

from __future__ import annotations

from typing import Any

from ..compiler.errors import error
from ..compiler.laws.check import Law, check_monoid
from ..compiler.program.monoid import Monoid
from ..compiler.program.signatures import defined
from . import terminal
from .programs.check import check as check_program
from .programs.check_gradient import check_gradient
from .requests import inputs
from .requests.choose import AnyRequest
from .requests.operation import input_count
from .requests.program_request import ProgramRequest
from .requests.request import Request


def check(request: AnyRequest, *, device: str, json: bool, gradient: bool = False) -> bool:
    """Shows how far the results of a program are from f64; of a monoid which laws it keeps on arrays of these types.

    Returns:
        For a program whether its results are within their bounds, or its gradient is one; for a monoid whether there is
        evidence for every law that it claims, and none is refuted.

    Raises:
        TraceError: WF222 for a reduction that is no monoid.
        ArgumentError: WF846 for options that say nothing of a monoid, WF899 for the gradient of a
            reduction, and WF898 for that of a plan.
    """
    if gradient:
        if not isinstance(request, ProgramRequest):
            raise error("WF899", name=request.name)
        if request.plan:
            raise error("WF898")
        return check_gradient(request, json=json)
    if isinstance(request, ProgramRequest):
        return check_program(request, device=device, json=json)
    if not isinstance(request.what, Monoid):
        raise error("WF222", name=request.name, where=defined(request.what))
    return _check_monoid(request, request.what, json=json)


def _check_monoid(request: Request, m: Monoid, *, json: bool) -> bool:
    """Shows the laws of a monoid."""
    given = {"--input": request.files, "--shape": request.shape, "--axis": request.axis_text, "--plan": request.plan,
             "--param": request.param_texts}  # fmt: skip
    for option, value in given.items():
        if value:
            raise error("WF846", name=m.name, option=option)
    dtype = request.dtype or "f32"
    types = inputs.dtypes_of(dtype, input_count(m, dtype.count(",") + 1))
    with request.users_code(), terminal.progress("looking for counterexamples"):
        laws = check_monoid(m, *types)
    names, holds = [t.name for t in types], not (laws.refuted or laws.untested)
    if json:
        found = {"name": m.name, "dtypes": names, "holds": holds, "laws": [_plain(law) for law in laws.laws]}
        terminal.show(terminal.as_json({**found, "notes": laws.notes}))
        return holds
    terminal.show(f"{m.name} of {', '.join(names)}\n")
    terminal.table(
        ("law", "claimed", "verdict"), [(law.law, "yes" if law.claimed else "no", law.words) for law in laws.laws]
    )
    for law in laws.laws:
        if law.counterexample is not None:
            terminal.show(f"\n{law.law} {law.words}:")
            terminal.show("\n".join(f"  {line}" for line in str(law.counterexample).splitlines()))
    for note in laws.notes:
        terminal.show(f"\n{note}")
    return holds


def _plain(law: Law) -> dict[str, Any]:
    """A law as plain values, for JSON."""
    shown = law.counterexample
    return {
        "law": law.law,
        "claimed": law.claimed,
        "verdict": law.verdict,
        "up_to_rounding": law.rounding,
        "tries": law.tries,
        "counterexample": shown and {"values": shown.values, "left": shown.left, "right": shown.right},
    }
