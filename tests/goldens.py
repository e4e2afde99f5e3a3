"""Plans and PTX of some 400 reductions on three targets: every walk, every way to read, every finish.

``python tests/goldens.py`` compares with the table and says what differs; ``python tests/goldens.py --write`` writes it
anew. A row holds the reduction and its layout, and for each target the plan and a hash of the PTX: a restructuring
leaves the table as it is, and a change of plans or kernels shows in its diff. Comments, source lines and debug sections
of the PTX do not count.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any

import catalogue

from warpfold.commands.bench.grid.cells import Cell
from warpfold.commands.bench.grid.shapes import DTYPES, cells
from warpfold.commands.levels import plan_words
from warpfold.compiler.driver.compile import compile_program
from warpfold.compiler.dtypes import dtype as as_dtype
from warpfold.compiler.target import TARGETS
from warpfold.passes import steps
from warpfold.runtime.prepare import Prepared
from warpfold.runtime.programs.machine import Machine
from warpfold.runtime.programs.plans import prepare_program
from warpfold.runtime.programs.reductions import program_of
from warpfold.runtime.view import ArraySpec, contiguous, real_specs

PAGE = Path(__file__).parent / "data" / "goldens.json"
ARCHS = ("sm_80", "sm_90a", "sm_100a")
OTHERS = ("var", "argmax", "logsumexp", "mean", "describe", "norm", "any", "affine")
"""Reductions that stand in turn beside the one that a layout of the grid is timed with."""
EACH = 4
"""Rows for each way in which plans of an element type differ."""
_NOTHING = re.compile(r"^\s*(//.*|\.loc\s.*|\.file\s.*|)$")


@dataclass(frozen=True)
class Golden:
    """One reduction of one layout.

    Attributes:
        what: a built-in's name, or a program of ``catalogue.py``.
        dtype: type of the elements.
        shape, strides: of the array, strides in elements.
        offset: elements from a 16-byte boundary to the first.
        axes: the reduced axes.
    """

    what: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    axes: tuple[int, ...]

    @property
    def name(self) -> str:
        """A readable identifier."""
        sizes = "x".join(map(str, self.shape))
        return f"{self.what}-{self.dtype}-{sizes}-by-{'x'.join(map(str, self.strides))}+{self.offset}-over-{self.axes}"

    def planned(self, arch: str) -> Prepared:
        """The reduction as it is compiled for a target."""
        t, target = as_dtype(self.dtype), TARGETS[arch]
        array = ArraySpec(self.shape, self.strides, self.offset * t.itemsize % 16, t)
        program = program_of(getattr(catalogue, self.what, self.what), self.axes, {}, [array])
        kept = tuple(n for a, n in enumerate(self.shape) if a not in self.axes)
        results = [ArraySpec(kept, contiguous(kept), 0, r) for _, r in program.results]
        machine = Machine(target, target.sms)
        return prepare_program(program, real_specs([array]), real_specs(results), machine).steps[0].prepared


# --- what a row says -----------------------------------------------------------------------------------------------
def plan(ready: Prepared) -> str:
    """The plan and how inputs are read."""
    return f"{plan_words(ready.choice.plan)}; {' '.join(ready.choice.facts.access)}"


def code(ready: Prepared) -> str:
    """A hash of the PTX."""
    choice = ready.choice
    made = compile_program(ready.program, choice.facts, choice.plan, ready.target, steps(ready.target))
    text = made.ptx.partition("\t.section")[0]
    lines = [line.partition("//")[0].rstrip() for line in text.splitlines() if not _NOTHING.match(line)]
    return hashlib.blake2b("\n".join(lines).encode(), digest_size=8).hexdigest()


def row(golden: Golden) -> dict[str, list[str]]:
    """The plan and the code for each target."""
    return {arch: [plan(ready), code(ready)] for arch in ARCHS for ready in [golden.planned(arch)]}


# --- which rows there are ------------------------------------------------------------------------------------------
def chosen() -> Iterator[Golden]:
    """Layouts of the grid, ``EACH`` for every way in which plans differ, as they come."""
    seen: dict[Any, int] = {}
    for name in DTYPES:
        for k, cell in enumerate(cells(as_dtype(name))):
            golden = _of(cell, cell.op)
            ready = golden.planned("sm_90a")
            p = ready.choice.plan
            way = (name, p.walk, p.fast, p.finish, p.tile_bytes > 0, p.cluster > 1, ready.choice.facts.access)
            seen[way] = seen.get(way, 0) + 1
            if seen[way] <= EACH:
                # every other row is of another reduction than sums and the like
                what = cell.op if seen[way] % 2 else OTHERS[k % len(OTHERS)]
                yield _of(cell, "sum" if name == "bool" and what != cell.op else what)


def _of(cell: Cell, what: str) -> Golden:
    return Golden(what, cell.dtype.name, cell.shape, cell.strides, cell.offset % 16, cell.axes)


# --- the table -----------------------------------------------------------------------------------------------------
def recorded() -> list[tuple[Golden, dict[str, list[str]]]]:
    """The rows of the table."""
    return [(_read(entry["of"]), entry["is"]) for entry in json.loads(PAGE.read_text(encoding="utf-8"))]


def _read(fields: dict[str, Any]) -> Golden:
    return Golden(**{k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()})


def write() -> None:
    """Makes the table anew."""
    found = {astuple(g): g for g in chosen()}
    lines = [json.dumps({"of": asdict(g), "is": row(g)}) for g in found.values()]
    PAGE.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def differences() -> list[str]:
    """What is not as the table says."""
    found = []
    for golden, wanted in recorded():
        for arch, (own, made) in row(golden).items():
            if own != wanted[arch][0]:
                found.append(f"{golden.name} on {arch}: plan {own}, not {wanted[arch][0]}")
            elif made != wanted[arch][1]:
                found.append(f"{golden.name} on {arch}: other PTX under {own}")
    return found


if __name__ == "__main__":
    if "--write" in sys.argv:
        write()
    else:
        wrong = differences()
        print(*wrong, f"{len(wrong)} differences in {len(recorded())} rows", sep="\n")
        sys.exit(bool(wrong))
