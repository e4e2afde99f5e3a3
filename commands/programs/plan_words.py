"""What the plan of a step means, in words: where rows wait, and which lanes hold or write what."""

from __future__ import annotations

from ...compiler.plan.arithmetic import INTEGERS
from ...compiler.plan.layout import layout_of
from ...compiler.plan.plan import Plan
from ...compiler.program.bit_arrays import WORD
from ...compiler.target import WARP
from ...runtime.programs.plans import PreparedStep
from .. import terminal
from . import traffic


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
