"""``State``: what a reduction of some elements leaves for those that follow."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from ...compiler.program.frames import outermost
from ...compiler.program.states import Cut


@dataclass(frozen=True)
class State:
    """The state of a reduction over ``axes`` of arrays of rank ``rank``; ``wf.partial`` makes it.

    Attributes:
        values: one array for each value of the state, in the library and on the device of the first input; each has
            the shape of the results.
        count: how many elements each result has so far, those that a mask leaves out among them.
        start: how many elements come before the first of them.
        rank: the rank of the arrays.
        axes: the reduced axes.
        cut: the reduction, with the types of its arrays.
        how: the options of the calls: ``determinism``, ``device`` and ``plan``.
        inner: the extents of the reduced axes behind the first, along which parts are not cut.
    """

    values: tuple[Any, ...]
    count: int
    start: int
    rank: int
    axes: tuple[int, ...]
    cut: Cut = field(repr=False)
    how: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    inner: tuple[int, ...] = ()

    def __reduce__(self) -> Any:
        """A pickle has what the reduction was made of; WF183 where another process could not find that."""
        from .carried import reduced

        return reduced(self)

    @property
    def options(self) -> dict[str, Any]:
        """The options of the calls."""
        return dict(self.how)

    @property
    def stop(self) -> int:
        """How many elements come before those that follow."""
        return self.start + self.count

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the results."""
        return tuple(getattr(self.values[0], "shape", ()))

    @outermost
    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the state as an ``.npz`` file, which ``wf.load_state`` reads.

        It waits for the device; values of Dask are computed.

        Raises:
            FileError: WF505 for a path that cannot be written.
        """
        from .files import save  # not imported for states that stay in memory

        save(self, path)
