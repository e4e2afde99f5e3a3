"""Compares with compute-sanitizer: exports the planted faults for a GPU, and writes its answers to pages.

``python agreement.py export SCENES.json`` writes all scenes; ``device.py`` runs them on a GPU; ``python agreement.py
take OUT.json`` puts its answers into ``data/agreement.json``, and ``python agreement.py pages`` puts these into the
pages. ``tests`` must be on ``PYTHONPATH``.
"""

from __future__ import annotations

import base64
import json
import sys
import zlib
from pathlib import Path
from typing import Any

import faults
from fault import STUCK, Fault
from faults import COMPARED
from faults_by_hand import LEFT
from faults_of_ours import BESIDE, CHUNKED, CLUSTERED, COPIED, COUNTED, SCANNED, SHARED_BY_GRID
from scene import At, Launch, Scene
from short import FAULTS as SHORT

TABLE = Path(__file__).parent / "data" / "agreement.json"
DOCS = Path(__file__).parents[2] / "docs"
PAGE, FAULTS = DOCS / "sanitizer.md", DOCS / "sanitizer-agreement.md"
"""The sanitizer's page, with the counts, and the page of single faults."""
BEGIN, END = "<!-- agreement: made by tests/sanitizer/agreement.py -->", "<!-- end of agreement -->"
TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")


def exported(scene: Scene, may_hang: bool) -> dict[str, Any]:
    """A scene as JSON."""
    buffers = {
        name: {
            "nbytes": b.nbytes,
            "skew": b.skew,
            "data": None if b.data is None else base64.b64encode(zlib.compress(b.data.tobytes())).decode(),
        }
        for name, b in scene.buffers.items()
    }
    launches = [
        {
            "ptx": alone(x),
            "entry": x.entry,
            "grid": x.grid,
            "block": x.block,
            "args": [[a.buffer, a.offset] if isinstance(a, At) else int(a) for a in x.args],
        }
        for x in scene.launches
    ]
    return {"may hang": may_hang, "buffers": buffers, "launches": launches}


def alone(launch: Launch) -> str:
    """The PTX of a launch without the other kernels of its module."""
    head, *kernels = launch.ptx.split(".visible .entry ")
    own = next(k for k in kernels if k.startswith(f"{launch.entry}("))
    files = [line for line in launch.ptx.splitlines() if line.startswith("\t.file")]
    return head + ".visible .entry " + own + "".join(f"{line}\n" for line in files if line not in own)


def export(path: str) -> None:
    """Writes all scenes."""
    scenes = {f.name: exported(f.scene(), any(k in STUCK for k in f.kinds)) for f in COMPARED}
    scenes |= {f"clean: {s.name}": exported(s, False) for s in faults.clean()}
    Path(path).write_text(json.dumps(scenes))
    print(len(scenes), "scenes")


def take(path: str) -> None:
    """Stores the answers of a run on a GPU."""
    found = json.loads(Path(path).read_text())
    rows = {
        name: {t: _answer(r[t]) for t in TOOLS}
        | {"message": next((r[t]["message"] for t in TOOLS if r[t]["reports"]), "")}
        for name, r in found["scenes"].items()
    }
    kept = {k: found[k] for k in ("gpu", "driver", "version")} | {"faults": rows}
    TABLE.write_text(json.dumps(kept, indent=1) + "\n")


def _answer(result: dict[str, Any]) -> str:
    if result["reports"]:
        return "reports"
    return "hangs" if result["hangs"] else "fails" if result["error"] else ""


def sections() -> dict[Path, str]:
    """The text between the marks of each page, from the planted faults and ``data/agreement.json``."""
    kept = json.loads(TABLE.read_text())
    rows: dict[str, dict[str, str]] = kept["faults"]
    groups: dict[str, list[Fault]] = {}
    for fault in COMPARED:
        groups.setdefault(fault.kinds[0], []).append(fault)
    clean = sum(name.startswith("clean: ") for name in rows)
    machine = f"an {kept['gpu']} with driver {kept['driver']} and compute-sanitizer {kept['version'].split(' (')[0]}"
    introduction = _INTRODUCTION.format(
        machine=machine,
        clean=clean,
        later=len(COPIED),
        chunks=len(CHUNKED),
        beside=len(BESIDE),
        grid=len(SHARED_BY_GRID),
        clusters=len(CLUSTERED),
        scans=len(SCANNED),
        counts=len(COUNTED),
        left=len(LEFT),
        short=len(SHORT),
    )
    silent = {k: [f.name for f in m if not _reported(rows[f.name])] for k, m in groups.items()}
    lines = [f"- {kind}: {', '.join(f'`{n}`' for n in names)}." for kind, names in silent.items() if names]
    table = ["| fault | kind | reported by | message |", "|---|---|---|---|", *(_row(f, rows) for f in COMPARED)]
    return {
        PAGE: _marked(introduction, _counts(groups, rows), _READING),
        FAULTS: _marked(_SILENT, "\n".join(lines), _EACH, "\n".join(table)),
    }


def _marked(*parts: str) -> str:
    return "\n\n".join([BEGIN, *parts, END])


_INTRODUCTION = """\
All planted faults except {later} of copied rows, {chunks} of chunks, {beside} of side folds, sections and exchanged
blocks, {grid} of rows of the grid, {clusters} of states of clusters, {scans} of scans, {counts} of counts, {left} of
warps that lanes leave and {short} of short kernels, and {clean} kernels without a fault, were run once on {machine}:
a process each, under each of its four tools (racecheck with a limit for deadlocks). Neither compute-sanitizer nor the
sanitizer reports anything on the kernels without a fault. The sanitizer reports all of the faults
(`tests/sanitizer/test_planted.py`); compute-sanitizer reports these, by kind:"""

_READING = """\
The two tools judge different things. compute-sanitizer watches machine code on a machine. What `ptxas` removed or the
hardware forgives is no fault to it: the hardware does not wait for lanes that have exited, often accepts a mask that
lacks a lane, and counts warps at a CTA's barrier. racecheck sees only shared memory, initcheck only global memory, and
no tool checks the order of accesses to global memory: fences, scopes, tickets, flags and locks. The sanitizer holds a
kernel to what PTX promises, on any machine. A kernel that hangs or dies under a tool without a report does not count.
[Fault by fault](sanitizer-agreement.md) has the answers for each of them."""

_SILENT = "None of compute-sanitizer's tools reports these faults:"
_EACH = """\
Each fault, the tools that report it, and their first message. Brackets mark tools under which the kernel hangs or dies
without a report:"""


def _counts(groups: dict[str, list[Fault]], rows: dict[str, dict[str, str]]) -> str:
    lines = [f"| kind | planted | {' | '.join(TOOLS)} | any of them |", "|---|---|" + "---|" * (len(TOOLS) + 1)]
    for kind, members in (*groups.items(), ("all", list(COMPARED))):
        answers = [rows[f.name] for f in members]
        counts = [sum(a[t] == "reports" for a in answers) for t in TOOLS]
        lines.append(f"| {kind} | {len(members)} | {' | '.join(map(str, counts))} | {sum(map(_reported, answers))} |")
    return "\n".join(lines)


def _row(fault: Fault, rows: dict[str, dict[str, str]]) -> str:
    row = rows[fault.name]
    by = ", ".join(t if row[t] == "reports" else f"({t} {row[t]})" for t in TOOLS if row[t])
    return f"| `{fault.name}` | {fault.kinds[0]} | {by} | {row['message'].replace('|', '/')} |"


def _reported(row: dict[str, str]) -> bool:
    return any(row.get(t) == "reports" for t in TOOLS)


def write_pages() -> None:
    """Writes each section to its page."""
    for page, section in sections().items():
        text = page.read_text()
        page.write_text(text[: text.index(BEGIN)] + section + text[text.index(END) + len(END) :])


if __name__ == "__main__":
    {"export": export, "take": take, "pages": write_pages}[sys.argv[1]](*sys.argv[2:])
