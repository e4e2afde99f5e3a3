"""The drawing of an array: a cell for each element, in the colour of its owner at one level of the machine, as SVG."""

from __future__ import annotations

from collections.abc import Iterator

from .model import Grid, Owned

COLOURS = 8
"""The colours of owners, which repeat; ``page.css`` has them as ``--k0`` to ``--k7``."""
SHADES = 8
"""The shades of one colour, for the lanes of a warp."""
WARP = 32
CELL = 10
"""Units of the drawing a cell."""


def levels(grid: Grid, owned: Owned) -> list[str]:
    """The levels at which the drawing differs: the thread always, and each further one of which there are several."""
    owners = {t for t in owned.owner if t >= 0}
    found = ["thread"]
    if len({t // WARP for t in owners}) > 1 and grid.per_cta > WARP:
        found.append("warp")
    if len({t // grid.per_cta for t in owners}) > 1:
        found.append("CTA")
    if grid.cluster > 1 and len({t // (grid.per_cta * grid.cluster) for t in owners}) > 1:
        found.append("cluster")
    return found


def height(owned: Owned) -> int:
    """Lines of the drawing."""
    return -(-owned.elements // owned.width)


def svg(owned: Owned, grid: Grid, level: str) -> str:
    """The drawing at one level; elements that nobody touches are empty."""
    paths: dict[tuple[int, int], list[str]] = {}
    for first, count, key in _runs(owned, grid, level):
        x, y = first % owned.width * CELL, first // owned.width * CELL
        paths.setdefault(key, []).append(f"M{x} {y}h{count * CELL}v{CELL}h-{count * CELL}z")
    body = "".join(
        f'<path class="k{colour} s{shade}" d="{"".join(found)}"/>' for (colour, shade), found in sorted(paths.items())
    )
    width, tall = owned.width * CELL, height(owned) * CELL
    title = f"{owned.name}: which {level} {'reads' if owned.verb == 'read' else 'writes'} which element first"
    return (
        f'<svg viewBox="0 0 {width} {tall}" role="img" aria-label="{title}" preserveAspectRatio="none">'
        f'{body}<path class="lines" d="{_lines(owned)}"/></svg>'
    )


def _runs(owned: Owned, grid: Grid, level: str) -> Iterator[tuple[int, int, tuple[int, int]]]:
    """Runs of elements of one line with one colour: the first, how many, colour and shade."""
    start, before = 0, None
    for e in range(owned.elements + 1):
        thread = owned.owner[e] if e < owned.elements else -1
        key = _colour(thread, grid, level) if thread >= 0 else None
        if e and (key != before or e % owned.width == 0 or e == owned.elements):
            if before is not None:
                yield start, e - start, before
            start = e
        before = key


def _colour(thread: int, grid: Grid, level: str) -> tuple[int, int]:
    """The colour and the shade of a thread's elements."""
    if level == "thread":
        return thread // WARP % COLOURS, thread % WARP * SHADES // WARP
    each = {"warp": WARP, "CTA": grid.per_cta, "cluster": grid.per_cta * grid.cluster}[level]
    return thread // each % COLOURS, SHADES - 2


def _lines(owned: Owned) -> str:
    """Thin lines between the lines of the drawing, and between elements where these are few."""
    width, tall = owned.width * CELL, height(owned) * CELL
    rows = "".join(f"M0 {y}h{width}" for y in range(0, tall + 1, CELL))
    return rows + ("".join(f"M{x} 0v{tall}" for x in range(0, width + 1, CELL)) if owned.width <= 64 else "")
