"""``warpfold explain`` of a program: arrays, dims and steps, why it was cut, and phases and plan of each step."""

from __future__ import annotations

from ...compiler.dtypes import BIT
from ...compiler.plan.fields import OF_BITS, Determinism
from ...compiler.plan.shared_memory import shared_bytes, waiting_bytes
from ...compiler.postorder import postorder
from ...compiler.program.graph import REDUCED, SECTION, SIDE, Expr
from ...runtime.programs.plans import PreparedStep
from .. import levels, terminal
from ..plan_cost import arrival_words, finish_words, launch_words, least_time
from ..requests.inputs import shape_text
from ..requests.program_request import ProgramRequest
from . import traffic
from .cut_rows import CutRows, cut_rows
from .plan_words import fragments, residency, words_of_bits
from .words import Words

BITS: dict[Determinism, str] = {
    "run": "its row and the plan, which follows from shapes, strides, alignment, types and the machine; they are the "
    "same on every run",
    "portable": "its row alone: the elements, their number and their type; not on other rows, strides or the machine",
    "none": "its row and the plan; where the plan says finish=atomic, also on the order in which CTAs end",
}
"""What the bits of a result depend on."""
CUT = "its elements, their number and their type, and on how many rows there are, since a reduction folds the row"
"""What they depend on where a portable program is cut."""


def explain(request: ProgramRequest, arch: str) -> None:
    """Prints the program, and the plan of each of its steps with reasons, bytes and lines of the user's code."""
    words = Words(request, request.planned(arch).prepared)
    terminal.show(f"{request.title()}, for {arch}")
    terminal.show(_count(words))
    terminal.section("arrays", _arrays(words))
    terminal.section("dims", _dims(words))
    terminal.section("buffers between steps", terminal.columns(words.buffers()))
    terminal.section("specialised to", _specialised(words))
    terminal.show()
    terminal.facts([*bytes_moved(words, arch), ("bits", f"those of a result depend on {bits(words)}")])
    cuts = cut_rows(request, words.prepared, arch)
    for number, own in enumerate(words.prepared.steps):
        folds = own.step.program.reduces
        _step(words, number, cuts.get((own.step.kept, own.step.reduced)) if folds else None)


def _count(words: Words) -> str:
    """How many kernels it takes, and what is cut."""
    steps = words.prepared.steps
    if len(steps) > 1:
        return f"cut into {len(steps)} steps, each with kernels of its own"
    if not steps[0].step.program.reads_again:
        return "one step"
    if steps[0].step.program.scan:
        return "one step"
    owner = "the grid" if steps[0].prepared.choice.run.ctas else "a CTA or a cluster"
    return f"one step: not cut, since {owner} owns each row"


def _arrays(words: Words) -> list[str]:
    """Each array and result: its type, its shape, and the dims along which it lies."""
    request, program = words.request, words.program
    lines = []
    for i, (name, a) in enumerate(zip(request.names, request.kinds, strict=True)):
        own = [(v, words.dims(program.read(n))) for n, v in enumerate(program.views) if program.argument(v.array) == i]
        views = dict.fromkeys(f"{'read' if v.gathered is None else 'gathered'} along {dims}" for v, dims in own)
        along = " and ".join(views) or "not read"
        lines.append((name, a.dtype.name, shape_text(a.shape), along))
    for i, (name, o) in enumerate(zip(words.results, program.outputs, strict=True)):
        along = f"written along {words.dims(d for d in o.axes if d is not None)}"
        lines.append((name, o.stored.name, shape_text(request.result_shape(i)), along))
    return terminal.columns(lines)


def _dims(words: Words) -> list[str]:
    """Each dim with its size and all axes that have it."""
    lines = []
    for name, n, pairs in zip(words.names, words.sizes, words.program.dims, strict=True):
        others = ", ".join(dict.fromkeys(label for pair in pairs if (label := words.axis(*pair)) != name))
        lines.append((name, f"{n:,}", f"also {others}" if others else ""))
    return terminal.columns(lines)


def _specialised(words: Words) -> list[str]:
    """What the traced program serves alone."""
    request, program = words.request, words.program
    found = [f"{words.axis(a, axis)} has size {n}: the function asks for it" for a, axis, n in program.sizes]
    for name, a in zip(request.names, request.kinds, strict=True):
        found += [f"{name}.{axis} has size 1: it broadcasts" for axis, n in enumerate(a.shape) if n == 1]
    found += [f"at most {most:,} elements along {words.dims(program.dims_of(s))}" for s, most in program.most]
    return found


def bytes_moved(words: Words, arch: str) -> list[tuple[str, object]]:
    """The bytes that must move, and those that the steps move."""
    read, written = traffic.least(words)
    steps = [sum(traffic.moved(words, own)) for own in words.prepared.steps]
    found: list[tuple[str, object]] = [
        ("must move", f"{terminal.size(read)} in, {terminal.size(written)} out"),
        ("at the least", least_time(read + written, arch)),
        ("moves", f"{terminal.size(sum(steps))}, {sum(steps) / max(1, read + written):.2f} times what must"),
    ]
    if len(steps) > 1:
        found.append(("", ", ".join(f"step {i} {terminal.size(own)}" for i, own in enumerate(steps, 1))))
    return found


def bits(words: Words) -> str:
    """What the bits of a result depend on."""
    owned = all(own.step.program.reads_again for own in words.prepared.steps)
    return CUT if words.request.determinism == "portable" and not owned else BITS[words.request.determinism]


def _step(words: Words, number: int, cut: CutRows | None) -> None:
    """One step: its phases, levels, accesses, cost, reasons, and lines of the user's code."""
    own = words.prepared.steps[number]
    choice = own.prepared.choice
    terminal.show(f"\n{words.title(number)}")
    terminal.section("phases", terminal.columns(phases(words, own)))
    terminal.show()
    terminal.table(levels.COLUMNS, levels.lines(own.prepared), levels.SPARE)
    terminal.show()
    terminal.table(("array", "along", "an access", "times"), accesses(words, own))
    terminal.section("fragments", fragments(choice.plan))
    terminal.show()
    terminal.facts(step_facts(own))
    hints = levels.hints(own.prepared.program)
    terminal.section("why", [f"- {r}" for r in (*why_a_step(words, own, cut), *choice.reasons, *hints)])
    rejected = (*(cut.rejected if cut else ()), *choice.rejected)
    terminal.section("rejected", [f"- {what}: {why}" for what, why in rejected])
    terminal.section("Python behind the step", terminal.columns(_python(own)))
    terminal.show()
    terminal.show("--plan " + levels.plan_words(choice.plan))


def step_facts(own: PreparedStep) -> list[tuple[str, object]]:
    """Where a row waits, and what a step launches."""
    choice = own.prepared.choice
    plan, state = choice.plan, sum(t.itemsize for t in own.step.program.states)
    waiting = waiting_bytes(plan, choice.facts, own.step.program.inputs, choice.run)
    return [
        ("residency", residency(own)),
        *([("finish", finish_words(plan, choice.facts))] if own.step.program.reduces else []),
        *arrival_words(plan, own.step.program.states),
        ("launch", launch_words(own.prepared)),
        ("shared memory", f"{terminal.size(shared_bytes(plan, state) + waiting)} a CTA"),
        *([("words of bits", words_of_bits(plan))] if BIT in (o.dtype for o in own.step.program.outputs) else []),
    ]


def accesses(words: Words, own: PreparedStep) -> list[tuple[str, ...]]:
    """Each array that a step reads or writes: along which dims, in which accesses, and how often."""
    step, task, facts = own.step, own.prepared.task, own.prepared.choice.facts
    vector, inputs = own.prepared.choice.plan.vector, len(step.inputs)
    stores = facts.stores or ("kept",) * len(step.outputs)
    times = [*map(str, traffic.reads(own)), *("" for _ in step.outputs)]
    lines: list[tuple[str, ...]] = []
    for i, (o, access) in enumerate(zip((*step.inputs, *step.outputs), (*facts.access, *stores), strict=True)):
        item = task.operand_type(i).itemsize
        along = words.dims(words.operand_dims(o))
        does = "reads" if i < inputs else "writes"
        lines.append((f"{does} {words.operand(o)}", along, _access(access, item, vector), times[i]))
    return lines


def _access(access: str, item: int, vector: int) -> str:
    """An access in words: its bytes, and where it begins."""
    if access in ("kept", "side", "section"):
        of = {"kept": "row", "side": "column", "section": "section"}[access]
        return f"{item} bytes, one element a {of}"
    if access in OF_BITS:
        at_once = {"bits": f"{vector} bit(s) of a word", "bits_transposed": "a byte of bits along each row of a block"}
        at_once["bits_exchanged"] = "bytes of bits along each row, which the CTA exchanges"
        return at_once.get(access, "single bits")
    if access == "gathered":
        return f"{item} bytes, at indices"
    if access == "exchanged":
        return "a part of its rows or columns for each CTA, whose threads exchange it"
    if access in ("strided", "tile_strided") or vector == 1:
        return f"{item} bytes, single elements"
    if access == "uniform":
        return f"{item} bytes, one element for {vector}"
    return f"{item * vector} bytes, {'turned in a tile' if access == 'matrix' else access}"


def phases(words: Words, own: PreparedStep) -> list[tuple[str, str]]:
    """What each walk along a row does: its fold, or the results that it writes."""
    step, program = own.step, own.step.program
    along = words.dims(step.reduced)
    lines = []
    for number, e in enumerate(program.reduces, 1):
        before = sum(x.op == "result" for x in postorder(e.args, traffic.below))
        uses = ", with the results of phases before" if before else ""
        lines.append((f"phase {number}", f"folds {program.monoids[number - 1].name} along {along}{uses}"))
    if program.scan:
        kept = "those before each" if getattr(program.scan.value, "exclusive", False) else "those up to each"
        back = ", from the last to the first" if step.reverse else ""
        lines.append(("scan", f"combines {program.monoids[-1].name} along {along}, of {kept}{back}"))
    for full, kind in ((True, "each element"), (False, "each row")):
        names = [
            words.operand(o)
            for o, e in zip(step.outputs, program.outputs, strict=True)
            if bool(e.space & REDUCED or not program.reduces) == full and e.space not in (SIDE, SECTION)
        ]
        if names:
            lines.append(("then", f"writes {', '.join(names)} for {kind}"))
    if program.section:
        names = [words.operand(o) for o, e in zip(step.outputs, program.outputs, strict=True) if e.space == SECTION]
        section = f"each section of {own.prepared.choice.facts.section} elements"
        lines.append(("beside", f"leaves the state of {section} in {', '.join(names)}, which a later step combines"))
    if program.side:
        names = [words.operand(o) for o, e in zip(step.outputs, program.outputs, strict=True) if e.space == SIDE]
        over = f"folds {program.monoids[len(program.reduces)].name} along {words.dims(step.kept)}"
        lines.append(("beside", f"{over} in persistent CTAs, writes {', '.join(names)}"))
    return lines


def why_a_step(words: Words, own: PreparedStep, cut: CutRows | None) -> list[str]:
    """Why the program is cut before or after a step."""
    if cut is not None:
        return [f"cut at the grid: {cut.why}"]
    if len(words.prepared.steps) == 1:
        return []
    if own.step.program.scan:
        return ["a step of its own: a scan reads its rows once, and folds of other rows need them whole"]
    if not own.step.program.reduces:
        return ["a step of its own: it folds nothing, and needs what earlier steps fold"]
    return [f"a step of its own: no other step has {words.rows(own.step)}"]


def _python(own: PreparedStep) -> list[tuple[str, str]]:
    """The user's lines behind what each phase folds, the combines, and the results."""
    program = own.step.program
    parts: list[tuple[str, list[Expr]]] = [
        (f"phase {i}", list(postorder(e.args, traffic.below))) for i, e in enumerate(program.reduces, 1)
    ]
    parts.append(("combines", levels.combine_nodes(own.prepared)))
    parts.append(("results", list(postorder(program.outputs, traffic.below))))
    return [(name, line) for name, nodes in parts for line in levels.source_lines(nodes)]
