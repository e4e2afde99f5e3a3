"""The numbers and pictures of docs/ladder.md.

``python tests/ladder_page.py measure COMMIT`` times every rung of a sum on a GPU and prints what belongs under
``times`` in ``tests/data/ladder.json``; ``measure-masks COMMIT`` does so for ``mask_times`` and the rungs of a mask.
``python tests/ladder_page.py`` profiles every rung on the emulator, writes that beside the times, and then the blocks
of the page between ``<!-- name -->`` and ``<!-- end -->`` and its pictures, which ``tests/commands/test_ladder.py``
compares.
"""

from __future__ import annotations

import importlib.util
import json
import re
import statistics
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

from click.testing import CliRunner

import warpfold as wf
from warpfold.cli import cli
from warpfold.commands.ladder import COUNTS, changes, counted
from warpfold.commands.ladder_plot import Picture
from warpfold.commands.ladder_runs import Ground
from warpfold.commands.plan_cost import BANDWIDTH
from warpfold.commands.programs import ladder as programs
from warpfold.commands.requests.choose import request_of
from warpfold.commands.requests.request import Request
from warpfold.commands.terminal import duration
from warpfold.compiler.plan.ladder import ARTICLE, LECTURE, MASK_RUNGS, PROGRAM_RUNGS, RELU, RUNGS, SOFTMAX, Rung

ROOT = Path(__file__).parent.parent
DATA = ROOT / "tests" / "data" / "ladder.json"
PAGE = ROOT / "docs" / "ladder.md"
PICTURES = ROOT / "docs" / "ladder"
SIZE, LARGE, TAUGHT = 1 << 22, 1 << 28, 2048
"""Elements: of the page's numbers, of a second time, and of the lecture's."""
BLOCK = re.compile(r"(<!-- ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
SOURCES = {LECTURE: "lecture", ARTICLE: "article", SOFTMAX: "article", RELU: "article"}
SOFTMAX_SHAPE = "1024x1024"
"""That of ``warpfold ladder softmax``."""
MASKED, MASKED_LARGE = 1 << 16, 1 << 27
"""Elements of ``warpfold ladder relu``: those that are counted, and those that are timed."""
LAUNCHES = 15
"""Timed launches of a rung of a mask."""


# --- numbers -----------------------------------------------------------------------------------------------------
def measure(commit: str) -> dict[str, Any]:
    """Microseconds of every rung for two sizes, and on what."""
    found = {str(n): {rung.name: _time(Ground(_sum(n), "cuda"), rung) for rung in RUNGS} for n in (SIZE, LARGE)}
    return {**_machine(), "commit": commit, "microseconds": found}


def _machine() -> dict[str, str]:
    """The GPU and its driver."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader", "--id=0"]
    name, driver = subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip().split(", ")
    return {"gpu": name, "driver": driver}


def measure_masks(commit: str) -> dict[str, Any]:
    """Microseconds of every rung of a ReLU with its mask, of the ReLU alone and of a copy, with a flushed L2 cache."""
    import torch

    x = torch.randn(MASKED_LARGE, device="cuda")
    y, flush = torch.empty_like(x), torch.empty(1 << 26, device="cuda")
    mask = torch.empty(MASKED_LARGE // 32, dtype=torch.int32, device="cuda")
    wanted = wf.relu(x, keep="bits")
    calls: dict[str, Any] = {"copy": lambda: y.copy_(x), "no mask": lambda: wf.relu(x, out=y)}
    for rung in MASK_RUNGS:
        calls[rung.name] = partial(wf.relu, x, keep="bits", out=(y, mask), plan=rung.name)
        calls[rung.name]()
        assert bool((y == torch.relu(x)).all())
        assert bool((mask == wanted.bits.view(torch.int32)).all())
    spent: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(LAUNCHES):
        for name, call in calls.items():
            flush.zero_()
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            call()
            end.record()
            end.synchronize()
            spent[name].append(begin.elapsed_time(end) * 1e3)
    found = {name: round(statistics.median(own), 1) for name, own in spent.items()}
    return {**_machine(), "commit": commit, "microseconds": found}


def _sum(n: int) -> Request:
    return Request("sum", shape=str(n), dtype="f32")


def _time(ground: Ground, rung: Rung) -> float:
    step = ground.climb(rung)
    assert step.passed
    assert step.microseconds is not None
    return round(step.microseconds, 2)


def profiled(n: int, names: tuple[str, ...]) -> dict[str, dict[str, float]]:
    """What the profiler counts under the named plans for a sum of ``n`` f32."""
    ground = Ground(_sum(n), "emulator")
    steps = [ground.climb(rung) for rung in RUNGS if rung.name in names]
    assert all(step.passed for step in steps)
    return {step.rung.name: {key: round(getattr(step.counts, key), 9) for key in COUNTS} for step in steps}


def softmax() -> list[dict[str, Any]]:
    """The rungs of a softmax as ``warpfold ladder softmax`` counts them."""
    request = request_of("softmax", shapes=(SOFTMAX_SHAPE,))
    found = programs.climbed(request, "emulator", PROGRAM_RUNGS)["rungs"]
    assert all(row["passed"] and not row["refused"] for row in found)
    return [{"rung": row["rung"], **{key: round(row[key], 9) for key in programs.COLUMNS}} for row in found]


def masks() -> list[dict[str, Any]]:
    """The rungs of a mask as ``warpfold ladder relu`` counts them."""
    request = programs.with_mask(request_of("relu", shapes=(str(MASKED),)))
    found = programs.climbed(request, "emulator", MASK_RUNGS, programs.MASK_COLUMNS)["rungs"]
    assert all(row["passed"] and not row["refused"] for row in found)
    return [{"rung": row["rung"], **{key: round(row[key], 9) for key in programs.MASK_COLUMNS}} for row in found]


def rows(data: dict[str, Any]) -> list[dict[str, Any]]:
    """The rungs as ``warpfold ladder`` has them, from what was measured and counted."""
    times, counts = data["times"]["microseconds"][str(SIZE)], data["counts"][str(SIZE)]
    found: list[dict[str, Any]] = []
    for rung in RUNGS:
        spent = times[rung.name]
        faster = found[-1]["microseconds"] / spent if found else None
        found.append(
            {"rung": rung.name, "source": rung.source, "refused": None, "microseconds": spent,
             "gbs": 4 * SIZE / spent / 1e3, "speedup": faster, **counts[rung.name]}
        )  # fmt: skip
    return found


# --- the page ----------------------------------------------------------------------------------------------------
def page(text: str, data: dict[str, Any]) -> str:
    """``text`` with its blocks written anew."""
    blocks = {"table": _table(data), "measured": _measured(data)}
    blocks |= {rung.name: _rung(i, rung, data) for i, rung in enumerate(RUNGS)}
    blocks["softmax"] = _softmax(data)
    blocks |= {"masks": _masks(data), "mask-times": _mask_times(data)}
    return BLOCK.sub(lambda m: m[1] + blocks[m[2]] + m[3], text)


def _measured(data: dict[str, Any]) -> str:
    times = data["times"]
    return f"One {times['gpu']}, driver {times['driver']}, commit `{times['commit']}`.\n"


def _line(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |\n"


def _table(data: dict[str, Any]) -> str:
    """Times and speeds of all rungs for both sizes."""
    large = data["times"]["microseconds"][str(LARGE)]
    head = _line("rung", "from", "2^22", "GB/s", "speed-up", "2^28", "GB/s") + "|---|---|---|---|---|---|---|\n"
    lines = []
    for row in rows(data):
        spent, name = large[row["rung"]], row["rung"]
        faster = f"{row['speedup']:.2f}" if row["speedup"] else ""
        lines.append(
            _line(f"[{name}](#{name})", SOURCES.get(row["source"], "warpfold"), duration(row["microseconds"] / 1e6),
                  f"{row['gbs']:.4g}", faster, duration(spent / 1e6), f"{4 * LARGE / spent / 1e3:.4g}")
        )  # fmt: skip
    return head + "".join(lines)


def command(rung: Rung) -> str:
    """What shows a rung's plan; f32 sums by atomics have no fixed order, so those are shown for integers."""
    words = "" if rung.name == "default" else f" --plan {rung.name}"
    return f"explain sum --shape {SIZE}{' --dtype i32' if 'finish=atomic' in rung.options else ''}{words}"


def _rung(i: int, rung: Rung, data: dict[str, Any]) -> str:
    """Picture, plan, stages and counts of one rung."""
    printed = CliRunner().invoke(cli, command(rung).split(), catch_exceptions=False).stdout
    stages = printed.partition("\nlevel ")[2].partition("\n\n")[0]
    row = rows(data)[i]
    plan = changes(_plan(RUNGS[i - 1]) if i else None, _plan(rung))
    titles = ("time", "GB/s", *(title for title, _ in COUNTS.values()))
    return (
        f"![{rung.idea}](ladder/{rung.name}.svg)\n\n"
        f"    $ warpfold {command(rung)}\n"
        + "".join(f"    {line}".rstrip() + "\n" for line in f"level {stages}".splitlines())
        + f"\n{'Plan' if i == 0 else 'Changed'}: `{plan}`\n\n"
        + _line(*titles)
        + "|" + "---|" * len(titles) + "\n"
        + _line(duration(row["microseconds"] / 1e6), f"{row['gbs']:.4g}", *counted(row))
    )  # fmt: skip


def _softmax(data: dict[str, Any]) -> str:
    """The rungs of a softmax: what each does, and its counts."""
    titles = ("rung", "from", "what it does", *(title for title, _ in programs.COLUMNS.values()))
    lines = [_line(*titles), "|" + "---|" * len(titles) + "\n"]
    for rung, row in zip(PROGRAM_RUNGS, data["counts"]["softmax"], strict=True):
        counts = counted(row, programs.COLUMNS)
        lines.append(_line(f"`{rung.name}`", SOURCES.get(rung.source, "warpfold"), rung.idea, *counts))
    return "".join(lines)


def _masks(data: dict[str, Any]) -> str:
    """The rungs of a mask: what each does, its time and its counts."""
    titles = ("rung", "from", "what it does", "time", *(title for title, _ in programs.MASK_COLUMNS.values()))
    lines = [_line(*titles), "|" + "---|" * len(titles) + "\n"]
    times = data["mask_times"]["microseconds"]
    for rung, row in zip(MASK_RUNGS, data["counts"]["masks"], strict=True):
        counts, spent = counted(row, programs.MASK_COLUMNS), duration(times[rung.name] / 1e6)
        lines.append(_line(f"`{rung.name}`", SOURCES.get(rung.source, "warpfold"), rung.idea, spent, *counts))
    return "".join(lines)


def _mask_times(data: dict[str, Any]) -> str:
    """On what the rungs of a mask were timed, and what the ReLU alone takes."""
    own = data["mask_times"]
    copy, alone = (duration(own["microseconds"][name] / 1e6) for name in ("copy", "no mask"))
    return (
        f"Times of 2^{MASKED_LARGE.bit_length() - 1} f32: one {own['gpu']}, driver {own['driver']}, commit "
        f"`{own['commit']}`.\nA copy took {copy}, and the ReLU without a mask {alone}.\n"
    )


def softmax_report(data: dict[str, Any]) -> dict[str, Any]:
    """What ``warpfold ladder softmax --plot`` would draw."""
    own = {"source": None, "refused": None, "microseconds": None, "gbs": None}
    rows = [
        {**own, **row, "source": rung.source}
        for rung, row in zip(PROGRAM_RUNGS, data["counts"]["softmax"], strict=True)
    ]
    title = f"softmax of x f32 {SOFTMAX_SHAPE}"
    return {"title": title, "device": "emulator of sm_90a", "memory_gbs": None, "profiled": title, "rungs": rows}


def _plan(rung: Rung) -> Any:
    return Request("sum", shape=str(SIZE), dtype="i32" if "finish=atomic" in rung.options else "f32",
                   plan="" if rung.name == "default" else rung.name).planned("sm_90a").choice.plan  # fmt: skip


# --- the pictures ------------------------------------------------------------------------------------------------
def drawings() -> Any:
    """``examples/ladder_pictures.py``."""
    path = ROOT / "examples" / "ladder_pictures.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses look it up
    spec.loader.exec_module(module)
    return module


def report(data: dict[str, Any]) -> dict[str, Any]:
    """What ``warpfold ladder --plot`` would draw: times of the large array, and counts of the small one."""
    device, memory = data["times"]["gpu"], BANDWIDTH["sm_90a"][0]
    times = data["times"]["microseconds"][str(LARGE)]
    large = [
        {**row, "microseconds": times[row["rung"]], "gbs": 4 * LARGE / times[row["rung"]] / 1e3} for row in rows(data)
    ]
    profiled = _sum(SIZE).title()
    return {"title": _sum(LARGE).title(), "device": device, "memory_gbs": memory, "profiled": profiled, "rungs": large}


def main() -> None:
    """Writes the data's counts, the page and its pictures."""
    data = json.loads(DATA.read_text(encoding="utf-8"))
    data["counts"] = {
        str(TAUGHT): profiled(TAUGHT, ("simple", "fix-divergence")),
        str(SIZE): profiled(SIZE, tuple(rung.name for rung in RUNGS)),
        "softmax": softmax(),
        "masks": masks(),
    }
    DATA.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), data), encoding="utf-8")
    drawings().main(str(PICTURES))
    Picture(str(PICTURES / "times.svg")).write(report(data))
    Picture(str(PICTURES / "softmax.svg")).write(softmax_report(data))


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        print(json.dumps(measure(sys.argv[2]), indent=1))
    elif sys.argv[1:2] == ["measure-masks"]:
        print(json.dumps(measure_masks(sys.argv[2]), indent=1))
    else:
        main()
