"""Pictures of memory and of the accesses that the emulator's threads make to it.

``watched`` runs a reduction on the emulator and keeps every access; ``drawn`` makes an SVG of some of them. A picture
has panels and a panel has lines of memory. Under each line stand the accesses: one box is one access of one thread, in
the thread's colour and with its number, after that of its CTA where there are several.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from colorsys import hls_to_rgb
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from warpfold.runtime.backends.emulator_backend import emulator
from warpfold.runtime.emulator import Tool

BOUNDARY = 16
"""Bytes of the widest access; accesses of so many bytes begin at multiples of them."""


class Seen(NamedTuple):
    """One access of one thread.

    Attributes:
        kernel: number of the launch, from 1.
        where: the array's name as the emulator has it: ``input 0``, ``result 0``, ``partials``, ``shared``.
        verb: read or written.
        cta, thread: who; the thread's number is the one within its CTA.
        at, size: the bytes, counted from the begin of the array or of the CTA's shared memory.
        turn: number of the instruction, counted over the launch.
        again: how often the thread made this access before.
    """

    kernel: int
    where: str
    verb: str
    cta: int
    thread: int
    at: int
    size: int
    turn: int
    again: int = 0


class Watcher(Tool):
    """Keeps the accesses of all launches."""

    def __init__(self) -> None:
        self.kernels = self.turns = 0
        self.seen: list[Seen] = []
        self.made: Counter[tuple[object, ...]] = Counter()

    def launch(self, launch: Any) -> None:  # noqa: ARG002
        self.kernels += 1
        self.turns = 0

    def touch(self, touch: Any) -> None:
        home = touch.pieces[0].home
        where = home.name if home else touch.access.space
        if where in ("param", "counters"):
            return
        addresses = np.broadcast_to(touch.addresses + touch.access.offset, touch.threads.shape)
        addresses = addresses - home.address if home else addresses & ((1 << 16) - 1)
        self.turns += 1
        for number, at in zip(touch.threads.tolist(), addresses.tolist(), strict=True):
            cta, thread = touch.machine.first + number // touch.lanes.per_cta, number % touch.lanes.per_cta
            key = (self.kernels, where, touch.access.verb, cta, thread, at)
            self.seen.append(Seen(*key, touch.access.size, self.turns, self.made[key]))
            self.made[key] += 1


def run_under(tool: Tool, run: Callable[[], object]) -> None:
    """Makes a call on the emulator while a tool watches."""
    machine = emulator()
    machine.tool = tool
    try:
        run()
    finally:
        machine.tool = None


def watched(run: Callable[[], object]) -> list[Seen]:
    """The accesses of a call on the emulator."""
    watcher = Watcher()
    run_under(watcher, run)
    return watcher.seen


class Line(NamedTuple):
    """A line of memory: elements from ``first`` on, and what to write before it."""

    first: int
    count: int
    label: str = ""


@dataclass(frozen=True)
class Panel:
    """What is drawn of one array.

    Attributes:
        title: what stands above.
        item: bytes of an element.
        lines: the lines of memory.
        where, verb, kernel, again: which accesses; of those that a thread makes repeatedly, the first by default.
        text: what stands in the cell of an element.
        gap: whether an element is none of the array's.
        line: at which line, by number, an access stands; by default the one in which its first byte lies.
        chosen: which of these accesses; all of them by default.
    """

    title: str
    item: int
    lines: Sequence[Line]
    where: str = "input 0"
    verb: str = "read"
    kernel: int = 1
    again: int = 0
    text: Callable[[int], str] = str
    gap: Callable[[int], bool] = field(default=lambda _: False)
    line: Callable[[Seen], int] | None = None
    chosen: Callable[[Seen], bool] = field(default=lambda _: True)


WIDTH, LEFT, RIGHT, CELL, BOX, GAP = 944, 96, 12, 15, 15, 9
INK, PALE, GREY = "#343a40", "#868e96", "#dee2e6"


_DARK, _THIN = f'fill="none" stroke="{INK}" stroke-width="1.5"', 'fill="none" stroke="#ced4da"'


class _Box(NamedTuple):
    seen: Seen
    track: int


def drawn(title: str, seen: list[Seen], panels: Sequence[Panel]) -> str:
    """The picture of some accesses, as SVG."""
    body: list[str] = []
    top = 4.0
    who = sorted({(s.cta, s.thread) for panel in panels for s in _of(panel, seen)})
    colours = {w: _colour(i / len(who)) for i, w in enumerate(who)}
    for panel in panels:
        top += 16
        body.append(f'<text x="8" y="{top:.0f}" font-size="13">{panel.title}</text>')
        top += 8
        for part, height in _Panel(panel, seen, colours).lines():
            body.append(f'<g transform="translate(0 {top:.0f})">{part}</g>')
            top += height + GAP
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top + 2:.0f}"'
    style = f'font-family="Helvetica, Arial, sans-serif" font-size="9" fill="{INK}"'
    paper = '<rect width="100%" height="100%" fill="#ffffff"/>'
    return "\n".join([f"{head} {style}>", f"<title>{title}</title>", paper, *body, "</svg>\n"])


def _colour(at: float) -> str:
    return "#" + "".join(f"{round(255 * c):02x}" for c in hls_to_rgb(0.92 * at, 0.8, 0.75))


def _of(panel: Panel, seen: list[Seen]) -> list[Seen]:
    which = (panel.where, panel.verb, panel.kernel, panel.again)
    return [s for s in seen if (s.where, s.verb, s.kernel, s.again) == which and panel.chosen(s)]


class _Panel:
    """The lines of one panel, each a piece of SVG and its height."""

    def __init__(self, panel: Panel, seen: list[Seen], colours: dict[tuple[int, int], str]) -> None:
        self.panel, self.colours, self.seen = panel, colours, _of(panel, seen)
        self.several = len({s.cta for s in self.seen}) > 1
        self.here = [self._at(line) for line in panel.lines]
        edges = [
            (line.first - s.at // panel.item, s.at // panel.item + s.size // panel.item - line.first - line.count)
            for line, found in zip(panel.lines, self.here, strict=True)
            for s in found
        ]
        self.before, self.after = (max(0, *(e[i] for e in edges), 0) for i in (0, 1))
        longest = max(line.count for line in panel.lines)
        self.width = min(28.0, (WIDTH - LEFT - RIGHT) / (self.before + longest + self.after))

    def lines(self) -> Iterator[tuple[str, int]]:
        for line, found in zip(self.panel.lines, self.here, strict=True):
            boxes = _stacked(found)
            label = f'<text x="8" y="{CELL - 4}" fill="{PALE}">{line.label}</text>'
            yield (
                f'{label}{"".join(self._memory(line))}<g text-anchor="middle">'
                + "".join(self._box(line, box) for box in boxes)
                + "</g>",
                CELL + BOX * (1 + max((box.track for box in boxes), default=-1)),
            )

    def _x(self, line: Line, element: float) -> float:
        return LEFT + (element - line.first + self.before) * self.width

    def _at(self, line: Line) -> list[Seen]:
        """The accesses that stand at a line."""
        item = self.panel.item
        begin, end = line.first * item, (line.first + line.count) * item
        if self.panel.line is None:
            return [s for s in self.seen if begin <= s.at < end]
        return [s for s in self.seen if self.panel.lines[self.panel.line(s)] == line]

    def _memory(self, line: Line) -> Iterator[str]:
        """The elements; a dark tick stands at each boundary of the widest access."""
        first, last = max(0, line.first - self.before), line.first + line.count
        end = last + self.after
        grey = [e for e in range(first, end) if not line.first <= e < last or self.panel.gap(e)]
        edge, ticks = self._x(line, first), range(first, end + 1)
        yield f'<rect x="{edge:.1f}" width="{self._x(line, end) - edge:.1f}" height="{CELL}" fill="#ffffff"/>'
        if grey:
            yield self._path(line, grey, f"V{CELL}h{self.width:.1f}V0z", f'fill="{GREY}"')
        yield self._path(line, ticks, f"V{CELL}", _THIN)
        yield self._path(line, [e for e in ticks if e * self.panel.item % BOUNDARY == 0], f"v-3V{CELL}", _DARK)
        for y in (0, CELL):
            yield f'<path d="M{edge:.1f} {y}H{self._x(line, end):.1f}" {_THIN}/>'
        yield f'<g text-anchor="middle" font-size="8" fill="{PALE}">'
        for element in range(line.first, last):
            yield f'<text x="{self._x(line, element + 0.5):.1f}" y="{CELL - 4}">{self.panel.text(element)}</text>'
        yield "</g>"

    def _path(self, line: Line, elements: Iterable[int], each: str, style: str) -> str:
        """The same strokes at the left edge of some elements."""
        return f'<path d="{"".join(f"M{self._x(line, e):.1f} 0{each}" for e in elements)}" {style}/>'

    def _box(self, line: Line, box: _Box) -> str:
        s, item = box.seen, self.panel.item
        x, y = self._x(line, s.at / item), CELL + BOX * box.track + 1
        width = s.size / item * self.width
        text = f"{s.cta}:{s.thread}" if self.several else str(s.thread)
        fill = self.colours[s.cta, s.thread]
        return (
            f'<rect x="{x + 0.7:.1f}" y="{y}" width="{width - 1.4:.1f}" height="{BOX - 2}" rx="2" fill="{fill}"/>'
            f'<text x="{x + width / 2:.1f}" y="{y + BOX - 5}">{text}</text>'
        )


def _stacked(found: list[Seen]) -> list[_Box]:
    """Boxes that overlap stand below each other, in the order in which the accesses are made."""
    ends: list[int] = []
    boxes = []
    for s in sorted(found, key=lambda s: (s.at, s.turn, s.cta, s.thread)):
        track = next((i for i, end in enumerate(ends) if end <= s.at), len(ends))
        ends[track:] = [*[s.at + s.size], *ends[track + 1 :]]
        boxes.append(_Box(s, track))
    return boxes
