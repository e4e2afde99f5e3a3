"""The state of a run in chunks: in a file while the run lasts, which names what it was read from."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from ...compiler.errors import error
from ...runtime.options import DEFAULTS
from ...runtime.states.files import loaded, save
from ...runtime.states.parts import how_of
from ...runtime.states.state import State
from ..requests.inputs import Array
from ..requests.request import Request
from .pieces import Pieces

BETWEEN = 10.0
"""Seconds between two times that a state is written, for runs that end without a word."""
BLOCKS = 64
"""How many blocks of the elements of a file are looked at, of those that a state has seen."""
BLOCK = 4096
"""Bytes of each."""


@dataclass
class Keeper:
    """Keeps the state of a run in a file, when the run is stopped, and from time to time where a file is named.

    Attributes:
        named: the file of ``--resume``, None for none.
        request: the reduction and its files.
        pieces: the arrays, cut along an axis that is reduced.
        axes: the reduced axes.
        files: name, size and time of change of each file, as they were before it was read.
        written: when the state was written last.
    """

    named: str | None
    request: Request
    pieces: Pieces
    axes: tuple[int, ...]
    files: list[dict[str, Any]] = field(init=False)
    written: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        found = [(Path(path).name, Path(path).stat()) for path in self.request.files]
        self.files = [{"name": name, "size": s.st_size, "changed": s.st_mtime_ns} for name, s in found]

    @property
    def path(self) -> str:
        """The file: the one that was named, or one beside the first input's name, here."""
        return self.named or f"{Path(self.request.files[0]).name}.state.npz"

    @property
    def each(self) -> int:
        """How many elements of a result one index of the axis that is cut has."""
        shape = self.pieces.arrays[0].shape
        return int(np.prod([shape[a] for a in self.axes if a != self.pieces.axis], dtype=object))

    def rows(self, state: State | None) -> int:
        """How many indices of the axis a state has seen."""
        return 0 if state is None else state.count // max(self.each, 1)

    def share(self, state: State | None) -> str:
        """The share of the elements that a state has seen, in words."""
        return f"{self.rows(state) / max(self.pieces.extent, 1):.0%}"

    def seen(self, state: State) -> None:
        """A chunk was reduced."""
        if self.named and time.monotonic() - self.written > BETWEEN:
            self._save(state)
            self.written = time.monotonic()

    def stopped(self, state: State | None) -> None:
        """The run was stopped: keeps what there is, and says how to go on."""
        if state is not None:
            self._save(state)
            print(f"stopped at {self.share(state)}; --resume {self.path} goes on from there", file=sys.stderr)

    def ended(self) -> None:
        """The run is over, and another one begins anew."""
        if self.named:
            Path(self.named).resolve().unlink(missing_ok=True)

    def begun(self, device: str) -> State | None:
        """The state of the file, if there is one, and says so.

        Raises:
            ArgumentError: WF854 for a state of other files or elements than those of this run.
        """
        if self.named is None or not Path(self.named).exists():
            return None
        request, params = self.request, self.request.params
        own = {name: value for name, value in params.items() if name not in DEFAULTS}
        state, source = loaded(self.named, request.what, own)
        if problem := self._problem(state, source, str(params.get("nan", DEFAULTS["nan"]))):
            raise error("WF854", path=self.named, problem=problem)
        print(f"resumed from {self.share(state)}", file=sys.stderr)
        return replace(state, how=how_of(request.determinism, device, request.plan))

    def _problem(self, state: State, source: Any, nan: str) -> str:
        """Why a state is none of this run; nothing where it is."""
        first, rows = self.pieces.arrays[0], self.rows(state)
        kept = tuple(n for a, n in enumerate(first.shape) if a not in self.axes)
        inner = tuple(first.shape[a] for a in self.axes[1:])
        if (state.axes, state.shape, state.inner) != (self.axes, kept, inner):
            own, here = f"{state.shape} over axes {state.axes}", f"{kept} over {self.axes}"
            return f"it is of results of shape {own}, and those here have {here}"
        if state.start or rows * self.each != state.count or rows > self.pieces.extent:
            return f"it has elements {state.start} to {state.stop} of a result, where arrays of {first.shape} are cut"
        if state.cut.nan != ("ignore" if nan == "ignore" else "propagate"):
            return f"it was made with another nan= than {nan}"
        if not isinstance(source, list) or not all(isinstance(own, Mapping) for own in source):
            return "it does not name the files that it was read from"
        for theirs, ours in zip(source, self._source(rows), strict=False):
            for name, said in (
                ("name", "read from a file of the name"),
                ("size", "read from a file of so many bytes:"),
            ):
                if theirs.get(name) != ours[name]:
                    return f"it was {said} {theirs.get(name)}, and the file here has {ours[name]}"
            if theirs != ours:
                return f"{ours['name']} has changed since it was read"
        return "" if len(source) == len(self.files) else f"it was read from {len(source)} files"

    def _save(self, state: State) -> None:
        save(state, self.path, self._source(self.rows(state)))

    def _source(self, rows: int) -> list[dict[str, Any]]:
        """What a state of so many indices was read from."""
        pairs = zip(self.files, self.pieces.arrays, strict=True)
        return [own | {"digest": _digest(x, self.pieces.axis, rows)} for own, x in pairs]


def _digest(x: Array, axis: int, rows: int) -> str:
    """A digest of blocks among the elements of the first indices of an axis, evenly spread, the ends among them."""
    found, own = blake2b(digest_size=16), np.moveaxis(x, axis, 0)[:rows]
    if not own.flags.c_contiguous:
        own = np.ascontiguousarray(own[np.linspace(0, max(rows - 1, 0), min(rows, BLOCKS)).astype(int)])
    data = own.reshape(-1).view(np.uint8)
    for begin in np.linspace(0, max(data.size - BLOCK, 0), BLOCKS).astype(int):
        found.update(data[begin : begin + BLOCK].tobytes())
    return found.hexdigest()
