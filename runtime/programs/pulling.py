"""The backward of a recorded call: from the gradients of its results, and what was saved, to those of its arguments.

It is generated, as recipes are: to pick the arguments of a program from tuples would cost as much as a guard.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from typing import Any

from ..calls.recipe import MISS, compiled
from .function import ArrayFunction
from .saved import Place, Saved

Pull = Callable[..., tuple[Any, ...]]
"""From PyTorch's record of a call, and the gradients of its recorded results, to what its tensors gain."""


def pull_of(
    saved: Saved,
    xs: Sequence[Any],
    how: Mapping[str, Any],
    places: Sequence[Place],
    hosted: Sequence[int],
    results: Sequence[int],
    tensors: Sequence[Any],
    needed: Sequence[bool],
) -> Pull:
    """The backward of all calls of a kind.

    Args:
        saved: what PyTorch saves.
        xs: the arguments of the program by position without the arrays.
        how: those by keyword.
        places: where the arrays are.
        hosted: which of them are NumPy's: PyTorch's record has them in ``hosted``.
        results: for each result its number among the recorded ones, or a negative number for one without a gradient.
        tensors: the arrays of one of the calls.
        needed: which arrays need a gradient.
    """
    values: dict[str, Any] = {"how": how}
    names = {number: f"s{i}" for i, number in enumerate(saved.arrays)} | {number: f"h{number}" for number in hosted}
    for number in set(range(len(tensors))) - names.keys():
        names[number], values[f"c{number}"] = f"c{number}", _alike(tensors[number])
    own = dict(zip(places, (names[i] for i in range(len(tensors))), strict=True))
    given = ["None" if i < 0 else f"g{i}" for i in results]
    for p, x in enumerate(xs):
        given.append(own.get(p, f"x{p}"))
        if p not in own:
            values[f"x{p}"] = x
    kept = [f"k{i}" for i in range(len(saved.kept))]
    named = [f"{p}={x}" for p, x in own.items() if isinstance(p, str)] + ["**how"] * bool(how)
    found = [f"f{number}" for number in compress(range(len(tensors)), needed)]
    returned = ", ".join(f"f{number}" if n else "None" for number, n in enumerate(needed))
    gradients = [f"g{i}" for i in range(1 + max(results))]
    vanish = " and ".join(f"{g} is None" for g in gradients)
    lines = [f"if {vanish}: return {', '.join(['None'] * len(needed))},"]
    lines.append(_unpacked([names[i] for i in saved.arrays] + kept, "ctx.saved_tensors"))
    lines.append(_unpacked([names[i] for i in hosted], "ctx.hosted"))
    target = ", ".join(found)

    def of(program: ArrayFunction[..., Any], arguments: Sequence[str]) -> Pull:
        made = ", ".join(arguments)
        body = [*lines, f"{target} = program({made})", f"return {returned},"]
        own: dict[str, Any] = {"program": program, **values}
        if not named:  # what a call of the program looks at first
            own |= {"memo": program._calls.memo, "MISS": MISS}
            body[-2:] = [
                "latest = memo.latest",
                f"met = latest is not None and latest[0] == {len(arguments)} and not latest[1]",
                f"found = latest[2]({made}) if met else MISS",
                f"if found is MISS: found = program({made})",
                f"{target} = found", f"return {returned},",
            ]  # fmt: skip
        text = f"def recipe(ctx, {', '.join(gradients)}):\n" + "".join(f"    {line}\n" for line in body if line)
        return compiled(text, tuple(own))(**own)

    once = of(saved.backward, [*given, *kept, *named])
    if saved.again is None:
        return once
    again, is_recorded = of(saved.again, [*given, *named]), sys.modules["torch"].is_grad_enabled
    return lambda ctx, *gradients: (again if is_recorded() else once)(ctx, *gradients)


def _unpacked(names: Sequence[str], source: str) -> str:
    """The line that names the members of a tuple."""
    return f"{', '.join(names)}, = {source}" if names else ""


def _alike(x: Any) -> Any:
    """A tensor of the shape and type of one whose elements are not read: it has memory for one element."""
    return x.new_empty(()).expand(x.shape)
