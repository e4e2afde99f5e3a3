"""A plan in words: what every level of the machine owns, which stage that makes, and the Python lines behind it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..compiler.errors import Location
from ..compiler.plan import tiles
from ..compiler.plan.launch import Launch
from ..compiler.plan.plan import Plan
from ..compiler.program.graph import Expr, walk
from ..runtime.prepare import Prepared

COLUMNS = ("level", "reduced", "kept", "threads", "stage", "pass", "Python")
SPARE = ("pass",)
"""Left out where a terminal is too narrow."""
_SELDOM = ("tile_bytes", "cluster", "cta", "exchange", "coarsening", "tree")
_LIBRARY = Path(__file__).resolve().parent.parent / "compiler"


@dataclass(frozen=True)
class Level:
    """One level of the machine under a plan.

    Attributes:
        name: register, lane, warp or grid; cta in place of lane and warp, where threads meet in memory; cluster before
            the grid, where CTAs form clusters; tile before all, where a CTA copies what it reduces; rest after all,
            where a second kernel reduces what is left of a result.
        reduced, kept: its extents along both axes.
        threads: threads that take part.
        stages: (stage op, pass) of each op the level asks for; empty when it owns nothing of the reduced axis.
        idle: why there are none.
    """

    name: str
    reduced: int
    kept: int
    threads: int
    stages: tuple[tuple[str, str], ...]
    idle: str = "nothing to combine"


def of(ready: Prepared) -> list[Level]:
    """The levels of a reduction; results of a tile are reduced as many at a time as the levels below have places."""
    plan, run = ready.choice.plan, ready.choice.run
    each = min(ready.geometry.n_kept, run.units * tiles.results(ready.geometry))
    copy = Level("tile", ready.geometry.n_reduced, each, plan.threads, (("fold.tile_copy", "lower-tile-copy"),))
    return [copy] * (plan.tile_bytes > 0) + levels(plan, run) + _rest(ready)


def _rest(ready: Prepared) -> list[Level]:
    """The second kernel's level, where the first one's lanes lie along both axes."""
    after, stage = ready.geometry.after, ("second kernel", "")
    threads = ready.choice.plan.threads
    return [Level("rest", after.n_reduced, after.n_kept, threads * after.n_kept, (stage,))] if after else []


def levels(plan: Plan, run: Launch) -> list[Level]:
    """The levels from the thread outwards."""
    each = -(-run.chunk * run.length // plan.positions)
    warps = (("fold.shared_store", "lower-shared-store"), ("fold.interwarp_accumulate", "lower-interwarp-accumulate"))
    grid = (("fold.grid_finish", "lower-grid-finish"),)
    lanes = (("fold.warp_reduce", "lower-warp-shuffle"),)
    cluster = [
        Level(
            "cluster", plan.cluster, 1, plan.threads * plan.cluster, (("fold.cluster_reduce", "lower-cluster-reduce"),)
        )
    ]
    apart = plan.cluster == 1 or plan.finish == "last_block"  # in a cluster warps meet there, but for a second round
    idle = "nothing to combine" if plan.warps == 1 else "warps meet in the cluster"
    within = [
        Level("lane", plan.lanes, plan.slots // (plan.warps_kept * plan.vector_kept), 32, lanes * (plan.lanes > 1)),
        Level("warp", plan.warps, plan.warps_kept, plan.threads, warps * (plan.warps > 1 and apart), idle),
    ]
    if plan.walk == "period":
        each = -(-run.chunk // run.rows)
        within = [
            Level("cta", run.rows, plan.slots, plan.threads, (("fold.period_reduce", "lower-period-reduce"),)),
        ]
    if plan.cta != "shuffle":
        cta = (("fold.cta_reduce", "lower-cta-reduce"),) * (plan.positions > 1)
        within = [Level("cta", plan.positions, plan.threads // plan.positions, plan.threads, cta)]
    own = "fold.block_reduce" if plan.walk == "whole" else "fold.thread_reduce"
    return [
        Level("register", each, plan.vector // plan.vector_reduced, 1, ((own, "lower-thread-reduce"),)),
        *within,
        *cluster * (plan.cluster > 1),
        Level(
            "grid",
            plan.parts(run.split),
            run.tiles,
            plan.threads * run.split * run.tiles,
            grid * (plan.finish != "cta"),
        ),
    ]


def lines(ready: Prepared) -> list[tuple[object, ...]]:
    """The table of levels, a line for each stage."""
    place = next(iter(sources(combine_nodes(ready))), None)
    python = f"{Path(place.file).name}:{place.line}" if place else ""
    found: list[tuple[object, ...]] = []
    for level in of(ready):
        own = (level.name, f"{level.reduced:,}", f"{level.kept:,}", f"{level.threads:,}")
        if not level.stages:
            found.append((*own, f"none: {level.idle}", "", ""))
        for i, (stage, step) in enumerate(level.stages):
            found.append((*(own if i == 0 else ("",) * 4), stage, step, python if level.name != "tile" else ""))
    return found


def combine_nodes(ready: Prepared) -> list[Expr]:
    """The nodes of the combine; where none has a line of its own, the fold, which carries the combine function's."""
    own = [n for n in walk(ready.program.monoid.combine) if n.op != "param"]
    return own if any(n.where for n in own) else list(ready.program.reduces)


def sources(nodes: Iterable[Expr]) -> list[Location]:
    """The user's lines behind the nodes, in the order of the file."""
    places = {(n.where.file, n.where.line): n.where for n in nodes if n.where is not None}
    return [places[key] for key in sorted(places)]


def behind(ready: Prepared) -> list[tuple[str, str]]:
    """The Python lines behind the code before the fold, the combine of every stage, and the code after the fold."""
    program = ready.program
    element = [e for e in walk(program.outputs) if e.space == "element"]
    after = [e for e in walk(program.outputs) if e.space == "kept" and e.op != "reduce"]
    parts = [("before the fold", element), ("combine, in every stage", combine_nodes(ready)), ("after the fold", after)]
    return [(name, "\n".join(_line(p) for p in sources(nodes))) for name, nodes in parts if sources(nodes)]


def _line(place: Location) -> str:
    file = Path(place.file).resolve()
    shown = file
    if file.is_relative_to(_LIBRARY):
        shown = Path("warpfold", file.relative_to(_LIBRARY.parent))
    elif file.is_relative_to(Path.cwd()):
        shown = file.relative_to(Path.cwd())
    return f"{shown}:{place.line}  {place.text.strip()}".rstrip()


def plan_words(plan: Plan) -> str:
    """The plan's fields as ``--plan`` takes them, without those that few plans use where this one does not."""
    same = {k for k, v in Plan().to_dict().items() if k in _SELDOM and plan.to_dict()[k] == v}
    return ",".join(f"{k}={v}" for k, v in plan.to_dict().items() if k not in same)
