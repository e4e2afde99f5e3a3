"""The pictures of docs/ladder.md, drawn from what the emulator's threads read and write.

``python examples/ladder_pictures.py docs/ladder`` writes one SVG a rung. Each shows a small sum under the rung's own
plan with 8 or 16 threads a CTA. A tool watches the run: which thread reads which element, and which state, is what the
tool saw, not what the plan says.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from colorsys import hls_to_rgb
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import warpfold as wf
from warpfold.compiler.plan.ladder import RUNGS
from warpfold.compiler.plan.plan import Plan
from warpfold.runtime.backends.emulator_backend import emulator
from warpfold.runtime.emulator import Tool

CTA = "lanes=8,warps=1"
TWO_WARPS = "lanes=8,warps=2"
SMALL = {
    "serial": ("serial", 16),
    "simple": (f"simple,{CTA}", 16),
    "fix-divergence": (f"fix-divergence,{CTA}", 16),
    "shared": (f"shared,{CTA}", 16),
    "segmented": (f"segmented,{CTA}", 64),
    "coarsened": (f"coarsened,{CTA},coarsening=4", 64),
    "two-pass-simple": (f"two-pass-simple,{CTA},coarsening=2", 64),
    "two-pass-interleaved": (f"two-pass-interleaved,{CTA},coarsening=2", 64),
    "two-pass-shared": (f"two-pass-shared,{CTA},coarsening=2", 64),
    "two-pass-warp-sync": (f"two-pass-warp-sync,{TWO_WARPS},coarsening=2", 64),
    "two-pass-unroll": (f"two-pass-unroll,{TWO_WARPS},coarsening=2", 64),
    "single-pass-merged": (f"single-pass-merged,{CTA},coarsening=2", 64),
    "single-pass-atomic": (f"single-pass-atomic,{CTA},coarsening=2", 64),
    "shuffle": (f"shuffle,{TWO_WARPS},coarsening=2", 64),
    "default": (f"{TWO_WARPS},vector=4,unroll=1", 64),
}
"""The plan and the number of elements of each picture: the rung's own plan, with fewer threads."""
ATOMIC = -1
"""The phase of a result that atomics sum, which no thread holds."""


# --- what the threads do -----------------------------------------------------------------------------------------
@dataclass(eq=False)
class State:
    """What one thread holds at some time.

    Attributes:
        thread: (CTA, thread).
        phase: the number of kernels, and of tickets drawn by its CTA, before it.
        row: the number of combines on the longest way from the elements.
        elements: the elements read since the thread's previous state.
        sources: the states it is made of, and the way of each: register, global, partials, shared, shuffle or atomic.
        sync: "warp" or "CTA" if the threads of one waited for each other before, otherwise empty.
    """

    thread: tuple[int, int]
    phase: int
    row: int = 0
    elements: list[int] = field(default_factory=list)
    sources: list[tuple[State, str]] = field(default_factory=list)
    sync: str = ""


class Dataflow(Tool):
    """Follows states from the elements to the result, through registers, memory, shuffles and atomics.

    Args:
        afresh: whether a thread forgets its own state when it reads one from shared memory, as it does where the lanes
            of a warp have combined before. A tool does not see which registers an addition reads.
    """

    def __init__(self, afresh: bool) -> None:
        self.afresh = afresh
        self.states: list[State] = []
        self.launches = 0
        self.cells: dict[tuple[object, ...], State] = {}
        self.held: dict[tuple[int, int], State] = {}
        self.taken: dict[tuple[int, int], list[tuple[State, str]]] = defaultdict(list)
        self.read: dict[tuple[int, int], list[int]] = defaultdict(list)
        self.phase: dict[int, int] = {}
        self.sync: dict[tuple[int, int], str] = {}
        self.result: State | None = None

    def launch(self, launch: Any) -> None:  # noqa: ARG002
        """Registers begin empty."""
        self.launches += 1
        self.held.clear()
        self.taken.clear()
        self.phase = defaultdict(lambda first=4 * self.launches: first)  # type: ignore[misc]
        self.sync.clear()

    def touch(self, touch: Any) -> None:
        """A thread reads elements or states, or writes or updates states."""
        size, home = touch.access.size, touch.pieces[0].home
        name = home.name if home else touch.access.space
        if name == "param":
            return
        addresses = np.broadcast_to(touch.addresses + touch.access.offset, touch.threads.shape)
        for number, address in zip(touch.threads.tolist(), addresses.tolist(), strict=True):
            who = _who(touch.machine, touch.lanes, number)
            if name == "counters":
                self._ticket(who[0])
                continue
            if name == "shared" and touch.access.verb == "read" and self.afresh:
                self.held.pop(who, None)
                self.taken[who] = [(s, how) for s, how in self.taken[who] if how == "shared"]
            space = (self.launches, who[0]) if name == "shared" else ("global",)
            for at in range(address, address + size, 4):
                if name.startswith("input"):
                    self.read[who].append((at - home.address) // 4)
                elif touch.access.verb == "read" and (*space, at) in self.cells:
                    source = self.cells[*space, at]
                    far = source.phase != self.phase[who[0]]
                    self.taken[who].append((source, "partials" if far else name.replace("partials", "global")))
                elif touch.access.verb != "read":
                    self._store(who, (*space, at), touch.access.verb)

    def shuffle(self, machine: Any, ins: Any, lanes: Any, source: Any, inside: Any) -> None:  # noqa: ARG002
        """Each lane reads the state of another lane."""
        source, inside = (np.broadcast_to(a, (lanes.warps.size, 32)) for a in (source, inside))
        before = {n: self._state(_who(machine, lanes, n)) for n in lanes.numbers.tolist()}
        for row, warp in enumerate(lanes.warps.tolist()):
            for lane in np.flatnonzero(inside[row]).tolist():
                other = before.get(32 * warp + int(source[row, lane]))
                if other is not None and 32 * warp + lane in before:
                    self.taken[_who(machine, lanes, 32 * warp + lane)].append((other, "shuffle"))

    def gathered(self, machine: Any, block: Any, lanes: Any) -> None:  # noqa: ARG002
        """The threads of a warp have waited for each other."""
        for number in lanes.numbers.tolist():
            self.sync.setdefault(_who(machine, lanes, number), "warp")

    def release(self, machine: Any, number: int, ctas: Any, sets: Any) -> None:  # noqa: ARG002
        """The threads of a CTA have waited for each other."""
        self.sync |= {_who(machine, lanes, n): "CTA" for lanes, _ in sets for n in lanes.numbers.tolist()}

    def _ticket(self, cta: int) -> None:
        """The CTA has written its partial state: what its threads hold from now on belongs to another round."""
        for who in [w for w in self.held if w[0] == cta]:
            del self.held[who]
        for who in [w for w in self.taken if w[0] == cta]:
            del self.taken[who]
        self.phase[cta] += 1

    def _store(self, who: tuple[int, int], cell: tuple[object, ...], verb: str) -> None:
        state = self._state(who)
        if state is None:
            return
        self.result = state
        if verb == "written":
            self.cells[cell] = state
            return
        total = self.cells.get(cell)
        if total is None or total.phase != ATOMIC:
            total = self.cells[cell] = State((0, 0), ATOMIC)
            self.states.append(total)
        total.sources.append((state, "atomic"))
        total.row = max(total.row, state.row + 1)

    def _state(self, who: tuple[int, int]) -> State | None:
        """What a thread holds now: a new state, if it has read anything since the last one."""
        held, elements = self.held.get(who), self.read.pop(who, [])
        taken = [(s, how) for s, how in self.taken.pop(who, []) if s is not held]
        if not elements and not taken:
            return held
        sources = ([(held, "register")] if held else []) + taken
        row = 1 + max((s.row for s, _ in sources), default=-1)
        self.held[who] = made = State(who, self.phase[who[0]], row, elements, sources, self.sync.pop(who, ""))
        self.states.append(made)
        return made


def _who(machine: Any, lanes: Any, number: int) -> tuple[int, int]:
    return machine.first + number // lanes.per_cta, number % lanes.per_cta


def watched(plan: str, n: int) -> Dataflow:
    """Runs a sum of ``n`` f32 under ``plan``, and returns what its threads did."""
    seen, machine = Dataflow(afresh=Plan().with_options(plan).cta == "shuffle"), emulator()
    machine.tool = seen
    try:
        got = wf.sum(np.arange(n, dtype=np.float32), plan=plan, determinism="none", device="emulator")
    finally:
        machine.tool = None
    assert got == n * (n - 1) / 2
    return seen


def needed(result: State) -> set[State]:
    """The states that the result is made of, itself included."""
    found, todo = {result}, [result]
    while todo:
        new = {source for source, _ in todo.pop().sources} - found
        found |= new
        todo += new
    return found


def butterfly(states: list[State]) -> list[State]:
    """The states that lanes make of elements and of each other's registers, needed or not."""
    found: set[State] = set()
    for s in states:
        if all(source in found and how in ("register", "shuffle") for source, how in s.sources):
            found.add(s)
    return [s for s in states if s in found]


# --- how it looks ------------------------------------------------------------------------------------------------
LEFT, WIDTH, RIGHT, ROW, RADIUS, CELL, GAP = 164, 768, 12, 46, 8.5, 20, 16
INK, PALE, LINE = "#343a40", "#868e96", "#ced4da"
COLOURS = {"register": "#adb5bd", "global": "#e8590c", "partials": "#e8590c", "shared": "#1c7ed6", "shuffle": "#2f9e44",
           "atomic": "#c2255c"}  # fmt: skip
WORDS = {"global": "global memory", "partials": "global memory", "shared": "shared memory", "shuffle": "shuffle",
         "atomic": "atomics on the result"}  # fmt: skip


class Drawing:
    """The states of one sum, from the elements at the top to the result at the bottom; unneeded states are pale."""

    def __init__(self, seen: Dataflow, n: int) -> None:
        assert seen.result is not None
        self.n = n
        self.needed = needed(seen.result)
        spare = set(butterfly(seen.states))
        self.states = [s for s in seen.states if s in self.needed or s in spare]
        self.first = [s for s in self.states if s.elements]
        self.phase = self.first[0].phase
        self.ctas = sorted({s.thread[0] for s in self.first})
        self.threads = {c: sorted({s.thread[1] for s in self.first if s.thread[0] == c}) for c in self.ctas}
        self.rows = 1 + max(s.row for s in self.states)

    def svg(self, title: str) -> str:
        """The whole picture."""
        size = f"{LEFT + WIDTH + RIGHT} {58 + ROW * self.rows}"
        dots = [part for s in self.states if s in self.needed for part in self._dot(s)]
        spare = [part for s in self.states if s not in self.needed for part in self._dot(s)]
        body = [
            *self._edges(),
            *self._idle(),
            '<g text-anchor="middle" font-size="10">', *self._elements(), *dots, "</g>",
            '<g text-anchor="middle" font-size="10" opacity="0.45">', *spare, "</g>",
            *self._labels(),
        ]  # fmt: skip
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" font-family="Helvetica, Arial, sans-serif"'
        )
        paper = '<rect width="100%" height="100%" fill="#ffffff"/>'
        return "\n".join([f'{head} font-size="13" fill="{INK}">', f"<title>{title}</title>", paper, *body, "</svg>\n"])

    # Each CTA has its share of the width, with its elements above its threads.
    def _span(self, cta: int) -> tuple[float, float]:
        """Left edge and width of a CTA's share."""
        share = (WIDTH + GAP) / len(self.ctas)
        return LEFT + self.ctas.index(cta) * share, share - GAP

    def _element(self, element: int) -> tuple[float, float]:
        """Left edge and width of an element's cell."""
        each = self.n // len(self.ctas)
        left, width = self._span(self.ctas[element // each])
        return left + element % each * width / each, width / each

    def _place(self, s: State) -> tuple[float, float]:
        """The centre of a state's dot: under its CTA's elements, or in the middle for a state of a later round."""
        y = 58 + ROW * s.row + RADIUS
        if s.phase == self.phase:
            left, width = self._span(s.thread[0])
            threads = self.threads[s.thread[0]]
            return left + (threads.index(s.thread[1]) + 0.5) * width / len(threads), y
        others = sorted({o.thread for o in self.states if o.phase == s.phase})
        return LEFT + WIDTH / 2 + (others.index(s.thread) - (len(others) - 1) / 2) * 48, y

    def _fill(self, thread: tuple[int, int]) -> str:
        """The light colour of a thread."""
        known = self.threads[self.ctas[0]]
        place = known.index(thread[1]) / len(known) if thread[1] in known else 0.0
        return "#" + "".join(f"{round(255 * c):02x}" for c in hls_to_rgb(place, 0.78, 0.7))

    def _elements(self) -> Iterator[str]:
        """The cells, with the colour of the thread that reads each and the number of its turn."""
        for s in self.first:
            for turn, element in enumerate(s.elements, start=1):
                left, width = self._element(element)
                box = f'x="{left:.1f}" y="8" width="{width:.1f}" height="{CELL}"'
                yield f'<rect {box} fill="{self._fill(s.thread)}" stroke="#ffffff"/>'
                yield f'<text x="{left + width / 2:.1f}" y="22">{turn}</text>'

    def _edges(self) -> Iterator[str]:
        """A thin line from each element to its reader, a line from each state to those made of it."""
        lines: dict[tuple[str, float, float], list[str]] = defaultdict(list)
        for s in self.states:
            x, y = self._place(s)
            for element in s.elements:
                left, width = self._element(element)
                lines[LINE, 1, 1].append(f"M{left + width / 2:.1f} {8 + CELL}L{x:.1f} {y:.1f}")
            for source, how in s.sources:
                style = COLOURS[how], 1.2 if how == "register" else 1.8, 1 if s in self.needed else 0.35
                lines[style].append("M{:.1f} {:.1f}L{:.1f} {:.1f}".format(*self._place(source), x, y))
        for (colour, width, opacity), parts in lines.items():
            style = f'stroke="{colour}" stroke-width="{width}" stroke-opacity="{opacity}"'
            yield f'<path {style} d="{"".join(parts)}"/>'

    def _dot(self, s: State) -> Iterator[str]:
        x, y = self._place(s)
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS}" fill="{self._fill(s.thread)}" stroke="{INK}"/>'
        if s.phase != ATOMIC:
            yield f'<text x="{x:.1f}" y="{y + 3.5:.1f}">{s.thread[1]}</text>'

    def _idle(self) -> Iterator[str]:
        """The threads of a CTA that do nothing while others combine."""
        own = [s for s in self.states if s.phase == self.phase]
        for row in sorted({s.row for s in own}):
            busy = {s.thread for s in own if s.row == row}
            for cta in sorted({c for c, _ in busy}):
                for t in (t for t in self.threads[cta] if (cta, t) not in busy):
                    x, y = self._place(State((cta, t), self.phase, row))
                    yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="#dee2e6"/>'

    def _labels(self) -> Iterator[str]:
        """What happens in each row, and the barrier before it."""
        yield from _label(22, "elements", "")
        for row in range(self.rows):
            here = [s for s in self.states if s.row == row and s in self.needed]
            y = self._place(here[0])[1] + 4
            most = max(len(s.elements) for s in here)
            if most:
                yield from _label(y, f"{most} elements a thread", "")
                continue
            how = next(how for s in here for _, how in s.sources if how != "register")
            barrier = next((f"after a barrier of the {s.sync}" for s in here if s.sync and how != "shuffle"), "")
            later = max(s.phase for s in here) - self.phase
            yield from _label(y, WORDS[how], (barrier, "the last CTA")[later] if 0 <= later <= 1 else
                              "the next kernel" if later > 1 else "")  # fmt: skip


def _label(y: float, text: str, below: str) -> Iterator[str]:
    yield f'<text x="8" y="{y - (6 if below else 0):.1f}">{text}</text>'
    if below:
        yield f'<text x="8" y="{y + 9:.1f}" font-size="11" fill="{PALE}">{below}</text>'


def picture(name: str) -> str:
    """The picture of one rung."""
    plan, n = SMALL[name]
    return Drawing(watched(plan, n), n).svg(f"sum of {n} elements, --plan {plan}")


def main(folder: str) -> None:
    """Writes one picture a rung."""
    for rung in RUNGS:
        Path(folder, f"{rung.name}.svg").write_text(picture(rung.name), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
