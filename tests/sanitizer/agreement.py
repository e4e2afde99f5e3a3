"""What compute-sanitizer says of the planted faults: exports the scenes for a GPU, and makes the page of the answers.

``python agreement.py export SCENES.json`` writes all scenes; ``device.py`` runs them on a GPU;
``python agreement.py take OUT.json`` puts its answers into ``data/agreement.json``, ``python agreement.py page`` these
into the page.
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
from faults import FAULTS
from scene import At, Launch, Scene

TABLE = Path(__file__).parent / "data" / "agreement.json"
PAGE = Path(__file__).parents[2] / "docs" / "sanitizer.md"
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
    scenes = {f.name: exported(f.scene(), any(k in STUCK for k in f.kinds)) for f in FAULTS}
    scenes |= {f"clean: {s.name}": exported(s, False) for s in faults.clean()}
    Path(path).write_text(json.dumps(scenes))
    print(len(scenes), "scenes")


def take(path: str) -> None:
    """Keeps what a run on a GPU said, and writes the page's section."""
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


def section() -> str:
    """The page's section, of the table and of ``data/agreement.json``."""
    kept = json.loads(TABLE.read_text())
    rows = kept["faults"]
    kinds = list(dict.fromkeys(f.kinds[0] for f in FAULTS))
    groups: dict[str, list[Fault]] = {k: [f for f in FAULTS if f.kinds[0] == k] for k in kinds}
    lines = [
        BEGIN,
        "",
        f"Run once on an {kept['gpu']} (driver {kept['driver']}, compute-sanitizer {kept['version']}), each fault in a",
        "process of its own under each of its four tools. The number of faults that a tool reports, by kind:",
        "",
        "| kind | planted | " + " | ".join(TOOLS) + " | any of them |",
        "|---|---|" + "---|" * 5,
    ]
    for kind, members in (*groups.items(), ("all", list(FAULTS))):
        answers = [rows.get(f.name, {}) for f in members]
        counts = [sum(a.get(t) == "reports" for a in answers) for t in TOOLS]
        either = sum(any(a.get(t) == "reports" for t in TOOLS) for a in answers)
        lines.append(f"| {kind} | {len(members)} | {' | '.join(map(str, counts))} | {either} |")
    silent = {k: [f.name for f in m if not _reported(rows.get(f.name, {}))] for k, m in groups.items()}
    lines += ["", "What none of its tools reports:", ""]
    lines += [f"- {kind}: {', '.join(f'`{n}`' for n in names)}" for kind, names in silent.items() if names]
    lines += [
        "",
        "Each fault, and the first thing said of it:",
        "",
        "| fault | kind | reported by | message |",
        "|---|---|---|---|",
    ]
    for f in FAULTS:
        row = rows.get(f.name, {})
        by = ", ".join(t if row.get(t) == "reports" else f"({t} {row[t]})" for t in TOOLS if row.get(t))
        lines.append(f"| `{f.name}` | {f.kinds[0]} | {by} | {row.get('message', '').replace('|', '/')} |")
    return "\n".join([*lines, "", END])


def _reported(row: dict[str, str]) -> bool:
    return any(row.get(t) == "reports" for t in TOOLS)


def write_page() -> None:
    """Puts the section in its place on the page."""
    page = PAGE.read_text()
    PAGE.write_text(page[: page.index(BEGIN)] + section() + page[page.index(END) + len(END) :])


if __name__ == "__main__":
    {"export": export, "take": take, "page": write_page}[sys.argv[1]](*sys.argv[2:])
