"""What a page shows, as plain values: nothing here knows of MLIR, of the emulator or of HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

Fact = tuple[str, str]
"""A label, empty where it continues the fact before, and what it says."""


@dataclass(frozen=True)
class Line:
    """One line of a column.

    Attributes:
        text: the line.
        number: its number in the Python file or in the PTX text; 0 in IR.
        place: the Python line that it comes from, a number within the page; -1 if unknown.
        node: the node of the traced program that it comes from, a number within the page; -1 if unknown.
        changed: whether the pass before the column made it.
        cost: what the profiler counted at a line of PTX, in words.
        marks: of what it costs too much: ``divergent``, ``conflict``, ``sectors``.
    """

    text: str
    number: int = 0
    place: int = -1
    node: int = -1
    changed: bool = False
    cost: str = ""
    marks: Sequence[str] = ()


@dataclass(frozen=True)
class Column:
    """One form of the program: ``kind`` is python, ir, ptx or sass."""

    name: str
    kind: str
    lines: Sequence[Line]
    removed: int = 0
    about: str = ""


@dataclass(frozen=True)
class Table:
    """A table; the cells of columns in ``numeric`` stand at the right."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric: Sequence[str] = ()
    mono: Sequence[str] = ()
    """The columns of names as a machine spells them."""
    poor: Sequence[int] = ()
    """The rows whose count is worse than its ideal, where that is a fault of the accesses or the branches."""


@dataclass(frozen=True)
class Part:
    """A reduction, or one step of a program: its plan, and its code from Python to PTX.

    Attributes:
        title: what it reads and writes; empty for a reduction.
        levels: who owns which elements, and the stage that combines them.
        facts: launch, finish, memory, tree.
        phases: what each walk along a row does.
        accesses: the arrays and how they are accessed.
        fragments: which lane holds what of an access that turns a matrix, line by line.
        why, rejected: the reasons of the planner, and the plans that it rejected with theirs.
        plan: the plan, as ``--plan`` takes it.
        columns: the forms.
        unchanged: the passes that change nothing.
    """

    title: str
    levels: Table
    facts: Sequence[Fact]
    phases: Sequence[Fact]
    accesses: Table | None
    fragments: Sequence[str]
    why: Sequence[str]
    rejected: Sequence[Fact]
    plan: str
    columns: Sequence[Column]
    unchanged: Sequence[str]


@dataclass(frozen=True)
class Owned:
    """Who touches which elements of an array.

    Attributes:
        name, dtype, verb: the array, and ``read`` or ``written``.
        shape: its sizes; ``elements`` the number of its elements that are drawn, from the first on.
        width: elements of a line of the drawing.
        owner: for each element the thread that touches it first, a number within the grid; -1 for none.
        step, line: for each element the instruction of the recording, and its line of PTX.
        touches: how many accesses of threads each element has.
    """

    name: str
    dtype: str
    verb: str
    shape: tuple[int, ...]
    elements: int
    width: int
    owner: Sequence[int]
    step: Sequence[int]
    line: Sequence[int]
    touches: Sequence[int]


@dataclass(frozen=True)
class Grid:
    """The threads of a launch: a thread's number divided by these gives its warp, its CTA and its cluster."""

    per_cta: int
    ctas: int
    cluster: int


@dataclass(frozen=True)
class Launched:
    """One launch of a kernel on the emulator.

    Attributes:
        title: the kernel and its grid.
        part: the number of the part that it belongs to.
        counts: the profiler's counters beside their ideals.
        traffic: the sectors of each array.
        grid, owned: what the drawing shows.
        play: what the player shows, as plain values; empty where nothing was recorded.
        sampled: what is not recorded, in words.
    """

    title: str
    part: int
    counts: Table
    traffic: Table
    grid: Grid
    owned: Sequence[Owned]
    play: dict[str, object]
    sampled: Sequence[str] = ()


@dataclass(frozen=True)
class Side:
    """One plan of the operation: all that a page shows of it.

    Attributes:
        name: the plan, as it was asked for.
        facts: bytes, time, bits, tree, error bound.
        trouble: why the emulator could not run it, in words; empty if it ran.
    """

    name: str
    facts: Sequence[Fact]
    parts: Sequence[Part]
    launches: Sequence[Launched] = ()
    trouble: str = ""


@dataclass(frozen=True)
class Page:
    """A whole page: one side, or two to be compared."""

    title: str
    command: str
    sides: Sequence[Side] = field(default_factory=tuple)
