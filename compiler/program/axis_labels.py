"""The names of the axes of a program's arrays in messages.

``x.1`` is axis 1 of the array x, ``x.1[0]`` the first of the axes into which the program splits it, and ``x.1[2:]``
axis 1 from element 2 on.
"""

from __future__ import annotations

from collections.abc import Sequence

from .array_layouts import Slice
from .array_program import ArrayProgram


def axis_labels(program: ArrayProgram, names: Sequence[str], ranks: Sequence[int]) -> list[list[str]]:
    """For each array and each slice the names of its axes, after the program's splits; bits follow in reverse.

    Args:
        program: the program.
        names: the names of its array arguments.
        ranks: for each of them how many axes it has.
    """
    whole = [[f"{name}.{i}" for i in range(rank)] for name, rank in zip(names, ranks, strict=True)]
    unpacked = [[f"{names[b.array]} unpacked.{i}" for i in range(len(b.axes))] for b in program.bits]
    for s in program.slices:
        own = _split(whole[s.array] if s.array >= 0 else unpacked[-1 - s.array], {s.axis: len(s.sizes)})
        own[s.axis + s.part] += f"[{spelled(s)}]"
        whole.append(own)
    splits: list[dict[int, int]] = [{} for _ in whole]
    for split in program.splits:
        splits[split.array][split.axis] = len(split.sizes)
    found = [_split(labels, own) for labels, own in zip(whole, splits, strict=True)]
    bits = [
        [label for label, own in zip(labels, b.axes, strict=True) for _ in own or (0,)]
        for labels, b in zip(unpacked, program.bits, strict=True)
    ]
    return [*found, *reversed(bits)]


def array_labels(program: ArrayProgram, names: Sequence[str], ranks: Sequence[int]) -> list[str]:
    """For each array its name; for each slice that of its array, and the axes along which it is one."""
    axes = axis_labels(program, names, ranks)[len(names) : len(names) + len(program.slices)]
    found = list(names)
    for number, own in enumerate(axes, len(names)):
        found.append(f"{names[program.argument(number)]} at {' and '.join(label for label in own if ':' in label)}")
    return found


def spelled(s: Slice) -> str:
    """A slice as Python's source writes it, and how many elements there are behind it."""
    start, stop, step = ("" if n is None else str(n) for n in (s.start, s.stop, s.step))
    return f"{start}:{stop}" + (f":{step}" if step else "") + (f" + {s.more}" if s.more else "")


def _split(labels: Sequence[str], counts: dict[int, int]) -> list[str]:
    """Labels of axes, some of which are split into as many as ``counts`` says."""
    found: list[str] = []
    for i, label in enumerate(labels):
        n = counts.get(i, 1)
        found += [label] if n == 1 else [f"{label}[{part}]" for part in range(n)]
    return found
