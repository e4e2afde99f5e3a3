"""``warpfold explain --gradient``: what a forward keeps for its backward, and what both read and write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from ...compiler.plan.fields import Determinism
from ...compiler.program.arrays.trace import ArrayArg
from ...compiler.program.gradients.keeping import Keep
from ...runtime.programs.function import ArrayFunction
from ...runtime.programs.pairs import Gradient
from ...runtime.programs.planned import Planned
from .. import terminal
from ..requests.inputs import shape_text
from ..requests.program_request import ProgramRequest
from .traffic import moved
from .words import Words


@dataclass(frozen=True)
class Part:
    """The forward or the backward: a program, with what its arrays are called."""

    planned: Planned
    names: Sequence[str]
    determinism: Determinism
    params: Mapping[str, Any]

    @property
    def kinds(self) -> Sequence[ArrayArg]:
        """Type and shape of each array."""
        return [ArrayArg(a.dtype, a.shape) for a in self.planned.arrays]

    def result_shape(self, number: int) -> tuple[int, ...]:
        """The shape of a result."""
        program = self.planned.prepared.program
        return program.outputs[number].shape(program.sizes_of([a.shape for a in self.planned.arrays]))

    @property
    def words(self) -> Words:
        """Its steps in words."""
        return Words(self, self.planned.prepared)

    @property
    def moved(self) -> str:
        """The bytes that its steps read and write."""
        words = self.words
        read, written = map(sum, zip(*(moved(words, own) for own in words.prepared.steps), strict=True))
        return f"{terminal.size(read)} read, {terminal.size(written)} written"


def explain_gradient(request: ProgramRequest, arch: str) -> None:
    """Prints what is kept, and the steps of the forward and the backward."""
    with request.users_code():
        results = len(request.results)
        fastest, least = (Gradient(request.of_arrays, results, keep=keep) for keep in ("fastest", "least"))
        xs = [(a.shape, a.dtype.name) for a in request.kinds]
        keeps = fastest.pair.kept(xs, {})
        dys = [
            (request.result_shape(i), o.dtype.name) if o.dtype.is_float else None for i, o in enumerate(request.results)
        ]
        kept = [(k.shape, k.dtype.name) for k in keeps]
        names, labels = list(request.names), [*_labels(request, keeps)]

        def part(program: ArrayFunction[..., Any], arrays: Sequence[Any], own: Sequence[str]) -> Part:
            return Part(program._planned(arrays, {}, arch), own, request.determinism, request.params)

        forward, plain = (part(p, xs, names) for p in (fastest.pair.program, least.pair.program))
        of_results = [f"gradient {i}" if results > 1 else "gradient" for i, dy in enumerate(dys) if dy]
        backward = part(fastest.pair.reader(len(keeps)), [*dys, *xs, *kept], [*of_results, *names, *labels])
        again = part(least.pair.reader(0), [*dys, *xs], [*of_results, *names])
    terminal.show(f"the gradient of {request.title()}, for {arch}")
    terminal.section("kept for the backward", terminal.columns(_lines(request, keeps, labels, backward)))
    beside = [k for k in keeps if k.result is None]
    terminal.show()
    terminal.facts([
        ("kept beside", f"{terminal.size(sum(k.nbytes for k in beside))}, {len(beside)} array(s) that are no results"),
        ("forward", f"{forward.moved}; with keep=least {plain.moved}"),
        ("backward", f"{backward.moved}; with keep=least {again.moved}"),
        ("saved", f"{_folds(again) - _folds(backward)} value(s) that the backward does not fold again"),
    ])  # fmt: skip
    for title, own in (("forward", forward), ("backward", backward), ("backward with keep=least", again)):
        words = own.words
        terminal.section(title, [words.title(i) for i in range(len(words.prepared.steps))])


def _folds(part: Part) -> int:
    """How many values the steps of a program fold."""
    return sum(len(fold.args) for own in part.planned.prepared.steps for fold in own.step.program.reduces)


def _labels(request: ProgramRequest, keeps: Sequence[Keep]) -> Sequence[str]:
    """What the kept arrays are called."""
    results = len(request.results)
    return [
        f"value {i}" if k.result is None else f"result {k.result}" if results > 1 else "the result"
        for i, k in enumerate(keeps)
    ]


def _lines(
    request: ProgramRequest, keeps: Sequence[Keep], labels: Sequence[str], backward: Part
) -> list[tuple[str, ...]]:
    """Each argument and each kept value: type, shape, bytes, and what becomes of it."""
    program = backward.planned.prepared.program
    read = {program.argument(v.array) for v in program.views}
    first = len(backward.names) - len(request.names) - len(labels)
    found: list[tuple[str, ...]] = []
    for i, (name, a) in enumerate(zip(request.names, request.kinds, strict=True)):
        size = terminal.size(a.dtype.nbytes(prod(a.shape)))
        is_read = "read" if first + i in read else "not read"
        found.append((name, a.dtype.name, shape_text(a.shape), size, f"argument, {is_read}"))
    for k, label in zip(keeps, labels, strict=True):
        where = "read in place of what it is made of" if k.result is not None else _origin(k)
        found.append((label, k.dtype.name, shape_text(k.shape), terminal.size(k.nbytes), where))
    return found


def _origin(k: Keep) -> str:
    """Where a value comes from that the forward returns beside its results."""
    line = f", {Path(k.node.where.file).name}:{k.node.where.line}: {k.node.where.text.strip()}" if k.node.where else ""
    return f"written beside{' as bits' if k.as_bits else ''}{line}"
