"""``warpfold profile``: the counters of Nsight Compute for OP or FILE.ptx on the emulator, beside their ideals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..compiler.errors import Location
from ..runtime.emulator.counters import Line, Profile, total
from ..runtime.emulator.instruction_classes import CLASSES
from ..runtime.emulator.profiler import Profiler
from ..runtime.emulator.ptx.demangle import demangle
from ..runtime.emulator.traffic import SECTOR
from ..runtime.prepare import Prepared, artifact
from . import array_traffic, terminal
from .array_traffic import Label
from .emulated import Watched, Work, watch
from .ideals import Counts, ideals
from .ladder import show_counts
from .programs.ladder import counted
from .programs.run import launching

HOTTEST = 12
"""Number of PTX lines that ``--lines`` shows for each launch."""
_L1 = "l1tex__{}_mem_{}_op_{}.sum"
_OPS = {"load": "ld", "store": "st", "atomic": "atom"}


@dataclass(frozen=True)
class Metric:
    """One row: ``count``, its ideal value (None if unknown), and Nsight Compute's name.

    ``share`` marks fractions and ``mean`` averages, which are not divided by the number of elements.
    """

    name: str
    count: float
    ideal: float | None = None
    nsight: str = ""
    share: bool = False
    mean: bool = False


def profile(work: Work, *, names: bool, lines: bool, rungs: bool, json: bool) -> None:
    """Runs OP or FILE.ptx, and prints the counters of each launch and the totals of several.

    With ``rungs`` the totals of each rung of the program's ladder follow.

    Raises:
        WarpfoldError: whatever is wrong with the request, or what a kernel does.
    """
    climbed = counted(work.request) if rungs else None
    tool = Profiler()
    with terminal.progress("profiling on the emulator"):
        watched = watch(work, tool, json=json)
    found = launches(watched, tool.profiles)
    known = array_traffic.labels(work, watched)
    if json:
        more = {"rungs": climbed[0]["rungs"]} if climbed else {}
        terminal.show(terminal.as_json(_facts(watched, found, known) | more))
        return
    terminal.show(f"profile of {watched.title}")
    for one in found:
        terminal.show()
        terminal.show(one.title)
        _table(metrics(one.profile, one.ideal, one.nbytes), watched.elements, names)
        array_traffic.show(one.profile, known)
        if lines and one.profile.lines:
            terminal.show()
            _hottest(one.profile)
    if climbed:
        show_counts(*climbed)


@dataclass(frozen=True)
class Seen:
    """The counters of one launch or of all, with their ideals and the bytes that must move, where known."""

    title: str
    profile: Profile
    ideal: Counts | None
    nbytes: int | None = None


def launches(watched: Watched, profiles: list[Profile]) -> list[Seen]:
    """Each launch, and for several their total, whose bytes to move are those of the arrays."""
    least = _least(watched, len(profiles))
    found = [Seen(f"{demangle(p.kernel)} {_launch(p)}", p, one) for p, one in zip(profiles, least, strict=True)]
    if len(found) > 1:
        known = [one.ideal for one in found if one.ideal is not None]
        found.append(Seen("all launches", total(profiles), sum(known, Counter()) if known else None))
    return [*found[:-1], *(replace(one, nbytes=watched.nbytes) for one in found[-1:])]


def _least(watched: Watched, launches: int) -> Sequence[Counts | None]:
    """The ideals of each launch, where they are known: those of a reduction, and of steps that are one."""
    if watched.prepared is None:
        return [None] * launches
    if isinstance(watched.prepared, Prepared):
        return ideals(watched.prepared, artifact(watched.prepared))
    found: list[Counts | None] = []
    for ready in (step.prepared for step in launching(watched.prepared)):
        made = artifact(ready)
        found += [None] * len(made.kernels) if ready.program.reads_again else ideals(ready, made)
    return found


def metrics(one: Profile, ideal: Counts | None = None, nbytes: int | None = None) -> list[Metric]:
    """The rows for one launch, with the ideal counts and global bytes of its plan where they are known."""

    def least(what: str) -> int | None:
        return None if ideal is None else ideal[what]

    every = None if ideal is None else sum(ideal[kind] for kind in CLASSES)
    rows = [Metric("warp instructions", one.instructions, every, "smsp__inst_executed.sum")]
    rows += [
        Metric(f"  {kind}", one.warp_instructions[kind], least(kind)) for kind in CLASSES if one.warp_instructions[kind]
    ]
    if one.ballots:
        vote = next(i for i, row in enumerate(rows) if row.name == "  vote")
        rows.insert(vote + 1, Metric("    ballots", one.ballots))
    active = "smsp__thread_inst_executed_per_inst_executed.ratio"
    rows.append(Metric("threads active of 32", one.lanes_active, 32, active, mean=True))
    uniform = "smsp__sass_average_branch_targets_threads_uniform.pct"
    rows += [
        Metric("branches", one.branches, None if ideal is None else 0, "smsp__sass_branch_targets.sum"),
        Metric("  divergent", one.divergent, 0, "smsp__sass_branch_targets_threads_divergent.sum"),
        Metric("branch efficiency", one.branch_efficiency, 1, uniform, share=True),
    ]
    for what, found in sorted(one.memory.items()):
        space, op = what.split()[0], _OPS[what.split()[1]]
        used = f"smsp__sass_average_data_bytes_per_sector_mem_{space}_op_{op}.pct"
        best = found.ideal / found.requests
        rows += [
            Metric(f"{what} requests", found.requests, least(what), _L1.format("t_requests_pipe_lsu", space, op)),
            Metric("  sectors", found.sectors, found.ideal, _L1.format("t_sectors_pipe_lsu", space, op)),
            Metric("  sectors per request", found.sectors_per_request, best, mean=True),
            Metric("  bytes used", found.used, 1, used, share=True),
        ]
    if nbytes is not None:
        moved = sum(SECTOR * found.sectors for what, found in one.memory.items() if what.startswith("global"))
        rows.append(Metric("global bytes moved", moved, nbytes))
    for what, banks in sorted(one.shared.items()):
        op = _OPS[what]
        waves, conflicts = (
            _L1.format(n, "shared", op) for n in ("data_pipe_lsu_wavefronts", "data_bank_conflicts_pipe_lsu")
        )
        rows += [
            Metric(
                f"shared {what} requests",
                banks.requests,
                least(f"shared {what}"),
                f"smsp__inst_executed_op_shared_{op}.sum",
            ),
            Metric("  wavefronts", banks.wavefronts, banks.ideal, waves),
            Metric("  bank conflicts", banks.conflicts, 0, conflicts),
        ]
    return rows


def _launch(one: Profile) -> str:
    sizes = ("x".join(map(str, size)) for size in (one.grid, one.block))
    return "<<<{}, {}>>>".format(*sizes)


def _table(rows: list[Metric], elements: int, names: bool) -> None:
    columns = ["metric", "count", "per element", "ideal", *(["Nsight Compute"] if names else [])]
    shown = [
        [m.name, number(m, m.count), each(m, elements), number(m, m.ideal), m.nsight][: len(columns)] for m in rows
    ]
    terminal.table(columns, shown)


def number(m: Metric, value: float | None) -> str:
    if value is None:
        return "-"
    if m.share:
        return f"{100 * value:.2f} %"
    return f"{value:.4g}" if m.mean else f"{value:,.0f}"


def each(m: Metric, elements: int) -> str:
    return "-" if m.share or m.mean or not elements else f"{m.count / elements:.4g}"


def _hottest(one: Profile) -> None:
    """The most expensive lines: most excess sectors and conflicts, then divergent branches, then most executed.

    Ties go to the line that moves more bytes, then to memory accesses; reads of parameters come last.
    """

    def heat(pair: tuple[int, Line]) -> tuple[int, ...]:
        number, line = pair
        excess = line.sectors - line.ideal_sectors + line.conflicts + line.divergent
        return excess, line.warp_instructions, line.sectors, _touches(line.text), -number

    columns = ["PTX line", "warps", "threads", "divergent", "sectors", "ideal", "conflicts", "instruction"]
    hottest = sorted(one.lines.items(), key=heat, reverse=True)[:HOTTEST]
    rows: list[list[object]] = [
        [n, i.warp_instructions, i.thread_instructions, i.divergent, i.sectors, i.ideal_sectors, i.conflicts, i.text]
        for n, i in hottest
    ]
    if any(i.source for _, i in hottest):
        columns.append("source")
        rows = [[*row, _short(i.source)] for row, (_, i) in zip(rows, hottest, strict=True)]
    terminal.table(columns, rows)


def _touches(text: str) -> int:
    """2 for an instruction that accesses memory, 0 for one that reads a parameter, else 1."""
    opcode, *mods = text.split(" ")[1 if text.startswith("@") else 0].split(".")
    if opcode in ("ld", "st") and "param" in mods:
        return 0
    return 2 if opcode in ("ld", "ldu", "st", "atom", "red", "cp", "ldmatrix", "stmatrix") else 1


def _short(source: Location | None) -> str:
    """A source line without the folder of its file."""
    return str(replace(source, file=Path(source.file).name)) if source else ""


def _facts(watched: Watched, found: list[Seen], known: Mapping[str, Label]) -> dict[str, Any]:
    """All output and the lines as plain values."""

    def plain(one: Seen) -> dict[str, Any]:
        rows = [
            {"name": m.name.strip(), "count": m.count, "ideal": m.ideal, "nsight_compute": m.nsight or None}
            for m in metrics(one.profile, one.ideal, one.nbytes)
        ]
        return {**one.profile.to_dict(), "arrays": array_traffic.facts(one.profile, known), "metrics": rows}

    every = [plain(one) for one in found]
    launches = every[:-1] if len(every) > 1 else every
    return {
        "title": watched.title,
        "elements": watched.elements,
        "launches": launches,
        "total": every[-1] if every else None,
    }
