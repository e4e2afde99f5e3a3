"""A plan in words: what every level of the machine owns, which stage that makes, and the Python lines behind it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from ..compiler.errors import Location
from ..compiler.plan import tiles
from ..compiler.plan.launch import Launch
from ..compiler.plan.layout import layout_of
from ..compiler.plan.plan import Plan
from ..compiler.program.graph import ELEMENT, KEPT, Expr, MonoidGraph, Program, walk
from ..compiler.program.states import chosen_positions
from ..compiler.target import WARP
from ..runtime.prepare import Prepared

COLUMNS = ("level", "reduced", "kept", "threads", "stage", "pass", "Python")
SPARE = ("pass",)
"""Columns that are left out where a terminal is too narrow."""
Stage = tuple[str, str]
"""A stage op, and the pass that lowers it."""
LANES: Stage = ("fold.warp_reduce", "lower-warp-shuffle")
STEPS: Stage = ("fold.thread_reduce", "lower-thread-reduce")
MATRICES: Stage = ("fold.matrix_reduce", "lower-matrix-reduce")
WARPS: tuple[Stage, ...] = (
    ("fold.shared_store", "lower-shared-store"), ("fold.interwarp_accumulate", "lower-interwarp-accumulate"),
)  # fmt: skip
CTA: Stage = ("fold.cta_reduce", "lower-cta-reduce")
PERIOD: Stage = ("fold.period_reduce", "lower-period-reduce")
CLUSTER: Stage = ("fold.cluster_reduce", "lower-cluster-reduce")
GRID: Stage = ("fold.grid_finish", "lower-grid-finish")
SCANS: dict[str, tuple[Stage, ...]] = {
    "register": (("fold.thread_scan", "lower-thread-scan"),),
    "lane": (("fold.warp_scan", "lower-warp-scan"),),
    "warp": (("fold.shared_store", "lower-shared-store"), ("fold.interwarp_scan", "lower-interwarp-scan")),
    "grid": (("fold.leave", "lower-tagged-states"), ("fold.seen", "lower-tagged-states")),
}
"""The stages of each level of a scan."""
ONE_THREAD = "a thread of each row combines the states of warps"
"""Where warps have roles."""
TICKETS: Stage = ("fold.await", "lower-tickets")
A_COLUMN = "one thread combines those of a column"
"""Why threads that share the columns of a strip need no stage: they leave their states in shared memory."""
NOTHING = "nothing to combine"
_SELDOM = ("tile_bytes", "cluster", "cta", "exchange", "coarsening", "tree")
_LIBRARY = Path(__file__).resolve().parent.parent / "compiler"


@dataclass(frozen=True)
class Level:
    """One level of the machine under a plan.

    Attributes:
        name: ``register``, ``lane``, ``warp`` or ``grid``; ``cta`` in place of lane and warp, where threads combine
            their states in memory; ``cluster`` before the grid, where CTAs form clusters; ``tile`` first, where a CTA
            copies what it reduces; ``rest`` last, where a second kernel reduces what is left of a result.
        reduced, kept: its extents along both axes.
        threads: the threads that take part.
        stages: the stages that combine the states of the level; none where it has one number along the reduced axis.
        idle: why there are none.
    """

    name: str
    reduced: int
    kept: int
    threads: int
    stages: tuple[Stage, ...]
    idle: str = NOTHING


def of(ready: Prepared) -> list[Level]:
    """The levels of a reduction, or of a step of a program. A step without a fold combines nothing.

    A CTA that copies its elements then reduces ``plan.slots`` results at a time. Where elements choose their results, a
    CTA has counters for all of them.
    """
    plan, run = ready.choice.plan, ready.choice.run
    each = min(ready.geometry.n_kept, run.units * (1 if plan.resident else tiles.results(ready.geometry)))
    if plan.in_periods:
        return _of_periods(ready)
    rows = run.chunk if plan.keeps_columns else ready.geometry.n_reduced
    copy = Level("tile", rows, each, plan.threads, (("fold.tile_copy", "lower-tile-copy"),))
    if plan.is_chain:
        return [copy] * (plan.tile_bytes > 0) + levels(plan, run)
    if ready.program.scatters:
        threads = plan.threads * run.split
        return [
            Level("cta", run.chunk, ready.geometry.n_kept, plan.threads, (("fold.tally", "lower-tally"),)),
            Level("grid", run.split, ready.geometry.n_kept, threads, (("fold.spill", "lower-tally"),)),
        ]
    found = levels(plan, run)
    if not ready.program.reduces:
        return [replace(level, stages=(), idle=NOTHING) for level in found]
    if ready.choice.facts.bounds:  # a warp has one list from the first element on
        found = [replace(level, stages=(STEPS,)) if level.name == "lane" else level for level in found]
    return [copy] * (plan.tile_bytes > 0) + found + _rest(ready)


def _of_periods(ready: Prepared) -> list[Level]:
    """The levels where the elements of an access may be of several columns: warps find those of a column in memory."""
    plan, g = ready.choice.plan, ready.geometry
    register, *_, grid = levels(plan, ready.choice.run)
    narrow = ready.choice.facts.narrow
    columns = plan.slots if narrow else min(g.period // g.run, -(-plan.slots // g.run) + 1)
    cta = Level("cta", -(-plan.slots // columns), columns, plan.threads, (LANES,))
    if narrow:
        cta = replace(cta, reduced=plan.positions, stages=(), idle=A_COLUMN)
        states = ready.choice.run.split * g.n_kept // g.period
        return [register, cta, replace(grid, reduced=states, kept=columns)]
    return [register, cta, replace(grid, reduced=grid.reduced * grid.kept, kept=columns)]


def _rest(ready: Prepared) -> list[Level]:
    """The level of the second kernel, where the first one leaves an inner dim of each result to it."""
    after, threads = ready.geometry.after, ready.choice.plan.threads
    stages = (("second kernel", ""),)
    return [Level("rest", after.n_reduced, after.n_kept, threads * after.n_kept, stages)] if after else []


def levels(plan: Plan, run: Launch) -> list[Level]:
    """The levels from the thread outwards. Each level of a scan has stages if it has several parts of a row."""
    found = _levels(plan, run)
    if not plan.is_chain:
        return found
    left = plan.warps > 1 or (run.split > 1 and plan.slots > 1)  # threads of their own look back for several rows
    several = {"register": plan.vector_reduced > 1, "lane": plan.lanes > 1, "warp": left}
    several["grid"] = run.split > 1
    found = [replace(own, stages=SCANS[own.name] * several[own.name], idle="nothing before it") for own in found]
    return [replace(own, stages=(), idle=ONE_THREAD) if plan.has_roles and own.name == "warp" else own for own in found]


def _levels(plan: Plan, run: Launch) -> list[Level]:
    """The levels of a plan that folds."""
    layout, parts = layout_of(plan), plan.parts(run.split)
    each = -(-run.chunk * run.length // plan.positions)
    if layout.chunked == "flat":
        each = -(-run.chunk // run.rows)
    own = "fold.thread_reduce" if layout.loops and plan.resident not in ("registers", "l2") else "fold.block_reduce"
    everyone = plan.threads * (run.ctas or run.split * (run.teams or run.tiles))
    found = [Level("register", each, layout.extent("vector", "kept", "flat"), 1, ((own, "lower-thread-reduce"),))]
    found += _within_cta(plan, run)
    if plan.cluster > 1:
        found.append(Level("cluster", plan.cluster, 1, plan.threads * plan.cluster, (CLUSTER,)))
    grid = (TICKETS,) if plan.is_far or run.ctas else (GRID,) * (plan.finish != "cta")
    return [*found, Level("grid", parts, run.tiles, everyone, grid)]


def _within_cta(plan: Plan, run: Launch) -> list[Level]:
    """The levels at which the threads of a CTA combine their states: one, where they do so in memory."""
    layout = layout_of(plan)
    if layout.chunked == "flat":
        return [Level("cta", run.rows, plan.slots, plan.threads, (PERIOD,))]
    if plan.cta != "shuffle":
        stages = (CTA,) * (plan.positions > 1)
        return [Level("cta", plan.positions, plan.threads // plan.positions, plan.threads, stages)]
    lanes, warps = layout.shared("lane"), layout.shared("warp")
    lanes_kept = plan.slots // (plan.warps_kept * plan.vector_kept)
    apart = plan.cluster == 1 or plan.finish == "last_block"  # or warps leave their states in the cluster's first CTA
    idle = NOTHING if warps == 1 else "warps meet in the cluster"
    joins = (MATRICES,) * (plan.meet == "mma") + (LANES,) * (lanes > plan.lanes_summed)
    joins += (STEPS,) * (plan.meets_in_steps and lanes > 1)
    return [
        Level("lane", lanes, lanes_kept, WARP, joins),
        Level("warp", warps, layout.extent("warp", "kept"), plan.threads, WARPS * (warps > 1 and apart), idle),
    ]


def lines(ready: Prepared) -> list[tuple[object, ...]]:
    """The table of levels, a line for each stage."""
    python = _combines(ready)
    found: list[tuple[object, ...]] = []
    for level in of(ready):
        own = (level.name, f"{level.reduced:,}", f"{level.kept:,}", f"{level.threads:,}")
        if not level.stages:
            found.append((*own, f"none: {level.idle}", "", ""))
        for i, (stage, step) in enumerate(level.stages):
            found.append((*(own if i == 0 else ("",) * 4), stage, step, python if level.name != "tile" else ""))
    return found


def _combines(ready: Prepared) -> str:
    """Where each combine begins, in the order of the folds."""
    combines = [[n for n in walk(m.combine) if n.op != "param"] for m in ready.program.monoids]
    firsts = [found[0] for own in combines if (found := sources(own))] or sources(combine_nodes(ready))[:1]
    lines: dict[str, list[str]] = {}
    for place in dict.fromkeys(firsts):
        lines.setdefault(Path(place.file).name, []).append(str(place.line))
    return " ".join(f"{file}:{','.join(own)}" for file, own in lines.items())


def stage_words(ready: Prepared) -> str:
    """The stages from the thread outwards, and the finish of a result that CTAs share."""
    stages = [stage.removeprefix("fold.") for level in of(ready) for stage, _ in level.stages]
    finish = ready.choice.plan.finish
    return (" -> ".join(stages) or "none") + (f" ({finish})" if finish != "cta" else "")


def combine_nodes(ready: Prepared) -> list[Expr]:
    """The nodes of all combines; where none has a line of its own, the folds, which carry the combine function's."""
    own = [n for m in ready.program.monoids for n in walk(m.combine) if n.op != "param"]
    folds = [*ready.program.reduces, *([ready.program.scan] if ready.program.scan else [])]
    return own if any(n.where for n in own) else folds


def hints(program: Program) -> list[str]:
    """What a user may declare so that a reduction is faster: a fold that chooses a number with no ``structure``."""
    found = []
    for fold in program.reduces:
        graph = fold.value
        assert isinstance(graph, MonoidGraph)
        declared = {place + 1 for place, _ in graph.structure}
        if set(chosen_positions(fold)) - {0} - declared:
            how = "structure=wf.First('least') or wf.First('greatest')"
            found.append(f"{graph.name} chooses an element's number: if it looks for the first extreme, declare {how}")
    return found


def sources(nodes: Iterable[Expr]) -> list[Location]:
    """The user's lines behind the nodes, in the order of the file."""
    places = {(n.where.file, n.where.line): n.where for n in nodes if n.where is not None}
    return [places[key] for key in sorted(places)]


def behind(ready: Prepared) -> list[tuple[str, str]]:
    """The Python lines behind the code before the fold, the combine of every stage, and the code after the fold."""
    program = ready.program
    element = [e for e in walk(program.outputs) if e.space == ELEMENT]
    after = [e for e in walk(program.outputs) if e.space == KEPT and e.op != "reduce"]
    parts = [("before the fold", element), ("combine, in every stage", combine_nodes(ready)), ("after the fold", after)]
    return [(name, "\n".join(lines)) for name, nodes in parts if (lines := source_lines(nodes))]


def source_lines(nodes: Iterable[Expr]) -> list[str]:
    """The user's lines behind the nodes, each with its file and number."""
    return [_line(place) for place in sources(nodes)]


def _line(place: Location) -> str:
    return f"{shown(place.file)}:{place.line}  {place.text.strip()}".rstrip()


def shown(path: str) -> Path:
    """A file as it is shown: one of the library from the package on, one of the user from the current folder on."""
    file = Path(path).resolve()
    if file.is_relative_to(_LIBRARY):
        return Path("warpfold", file.relative_to(_LIBRARY.parent))
    return file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file


def plan_words(plan: Plan) -> str:
    """The plan's fields as ``--plan`` takes them, without those that few plans use where this one does not."""
    same = {k for k, v in Plan().to_dict().items() if k in _SELDOM and plan.to_dict()[k] == v}
    return ",".join(f"{k}={v}" for k, v in plan.to_dict().items() if k not in same)
