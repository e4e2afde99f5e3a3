"""``warpfold explain`` of a program: arrays, dims and steps, why it was cut, and phases and plan of each step."""

from __future__ import annotations

from ...compiler.dtypes import BIT
from ...compiler.plan.arithmetic import INTEGERS
from ...compiler.plan.fields import OF_BITS, Determinism
from ...compiler.plan.layout import layout_of
from ...compiler.plan.plan import Plan
from ...compiler.plan.shared_memory import shared_bytes, waiting_bytes
from ...compiler.postorder import postorder
from ...compiler.program.bit_arrays import WORD
from ...compiler.program.graph import REDUCED, SECTION, SIDE, Expr
from ...compiler.target import WARP
from ...runtime.programs.plans import PreparedStep
from .. import levels, terminal
from ..plan_cost import arrival_words, finish_words, launch_words, least_time
from ..requests.inputs import shape_text
from ..requests.program_request import ProgramRequest
from . import traffic
from .cut_rows import CutRows, cut_rows
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
    terminal.section("why", [f"- {r}" for r in (*why_a_step(words, own, cut), *choice.reasons)])
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
        *([("finish", finish_words(plan))] if own.step.program.reduces else []),
        *arrival_words(plan, own.step.program.states),
        ("launch", launch_words(own.prepared)),
        ("shared memory", f"{terminal.size(shared_bytes(plan, state) + waiting)} a CTA"),
        *([("words of bits", words_of_bits(plan))] if BIT in (o.dtype for o in own.step.program.outputs) else []),
    ]


def words_of_bits(plan: Plan) -> str:
    """How lanes put the words of a result of bits together, and which of them writes."""
    vector, lanes = plan.vector, WORD // plan.vector
    if plan.word == "byte":
        return f"each lane stores its own {vector} bits"
    writes = "the first lane of a word stores it"
    way = plan.word or ("ballot" if vector == 1 else "shuffle")
    if way == "ballot" and vector == 1:
        return f"one ballot gives a warp its word; {writes}"
    made = {
        "shuffle": f"joined by {lanes.bit_length() - 1} shuffles",
        "redux": "joined by one redux",
        "ballot": f"from {vector} ballots, whose bits are spread",
    }[way]
    return f"{vector} bit(s) of each of {lanes} lanes, {made}; {writes}"


def fragments(plan: Plan) -> list[str]:
    """Which lane of a warp holds which element of a turned access; nothing for other plans."""
    if plan.fragments != "matrix":
        return []
    layout, lanes = layout_of(plan), range(WARP)
    at = [layout.place({"lane": lane}, INTEGERS) for lane in lanes]
    rows, columns = (sorted({place[axis] for place in at}) for axis in ("reduced", "kept"))
    holder = {(place["reduced"], place["kept"]): f"lane {lane}" for lane, place in zip(lanes, at, strict=True)}
    lines = [("", *(f"column {c}" for c in columns))]
    lines += [(f"rows {r} to {r + plan.vector - 1}", *(holder[r, c] for c in columns)) for r in rows]
    return terminal.columns(lines)


def residency(own: PreparedStep) -> str:
    """Where the rows of a step wait for its next phase."""
    plan, program = own.prepared.choice.plan, own.step.program
    if not program.reads_again:
        return "none: each element is read once"
    if not program.reduces and plan.fragments == "matrix":
        return (
            f"a tile of shared memory: {plan.held} access(es) of {_width(own)} bytes of each thread wait to be turned"
        )
    if program.scan:
        place = "shared memory" if plan.has_roles else "registers"
        return f"a chunk of a row waits in {place}: {plan.held} access(es) of {_width(own)} bytes of each thread"
    if not program.reduces:
        return "none: the thread that reads an element writes what is computed from it"
    walks = len(traffic.walked(program))
    if walks == 1 and plan.resident == "memory":
        return "none: each element is read once"
    if plan.resident == "memory":
        return f"a row waits in memory: {walks} walks read it, each what it needs"
    if plan.resident == "l2":
        run = own.prepared.choice.run
        nbytes = plan.held * plan.threads * _width(own)
        return f"a row waits in the L2 cache: {run.split} chunk(s) of {nbytes} bytes, which each of {walks} walks reads"
    if plan.in_teams:
        threads = own.prepared.choice.run.split * plan.threads
        return (
            f"a tile waits in shared memory: {plan.held} access(es) of {_width(own)} bytes in each of {threads} threads"
        )
    if plan.resident == "grid":
        return _in_grid(own, walks)
    threads = plan.positions * plan.cluster
    if plan.waits_in_tile:
        return f"a row waits in a tile of shared memory, where {threads} thread(s) read it in each phase"
    place = {"registers": "registers", "shared": "shared memory"}[plan.resident]
    return f"a row waits in {place}: {plan.held} access(es) of {_width(own)} bytes in each of {threads} thread(s)"


def _in_grid(own: PreparedStep, walks: int) -> str:
    """Where a row waits that the grid shares: the bytes that all CTAs have room for, and the others."""
    choice, task = own.prepared.choice, own.prepared.task
    run, plan = choice.run, choice.plan
    each = run.tiles * run.split * plan.threads * plan.vector
    each *= sum(task.operand_type(i).itemsize for i in choice.facts.waiting)
    accesses = run.chunk // layout_of(plan).span("reduced")
    kept = plan.in_registers if plan.in_registers <= accesses else 0
    held = min(plan.held, accesses - kept)
    walked = accesses - kept - held
    cached = min(plan.in_cache or walked, walked)
    found = [(kept, "registers"), (held, "shared memory"), (cached, "the L2 cache"), (walked - cached, "memory")]
    places = ", ".join(f"{n * each:,} bytes in {place}" for n, place in found if n)
    again = f", which each of {walks} walks reads" if walked else ""
    return f"the rows wait in {run.tiles * run.split} CTA(s): up to {places}{again}"


def _width(own: PreparedStep) -> int:
    """The bytes of the widest access to an array of the rows."""
    task, inputs = own.prepared.task, range(len(own.step.inputs))
    whole = [i for i in inputs if own.prepared.choice.facts.access[i] not in ("kept", "gathered")]
    return own.prepared.choice.plan.vector * max((task.operand_type(i).itemsize for i in whole), default=0)


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
