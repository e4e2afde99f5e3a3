"""``warpfold check``: the laws of a monoid, and values that break them."""

from __future__ import annotations

from typing import Any

from ..compiler.errors import error
from ..compiler.laws.check import Law, check_monoid
from ..compiler.program.monoid import Monoid
from ..compiler.program.signatures import defined
from . import terminal
from .requests import inputs
from .requests.operation import input_count, label, operation, users_code


def check(op: str, dtype: str, *, json: bool) -> bool:
    """Shows which laws the monoid ``op`` keeps on arrays of these types.

    Returns:
        Whether there is evidence for every law that it claims, and none is refuted.

    Raises:
        TraceError: WF222 when ``op`` is no monoid.
    """
    m = operation(op)
    if not isinstance(m, Monoid):
        raise error("WF222", name=label(m), where=defined(m))
    types = inputs.dtypes_of(dtype, input_count(m, dtype.count(",") + 1))
    with users_code(op.rpartition(":")[0] or op), terminal.progress("looking for counterexamples"):
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
