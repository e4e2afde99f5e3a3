"""The ranks of a process group, and what each says of its shard before any state travels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from weakref import ReferenceType, WeakKeyDictionary, ref

import torch
import torch.distributed as dist

from ...compiler.errors import WarpfoldError, error
from ...compiler.program.frames import caller
from .silent import waited_for

MOST_DIMS = 8
"""The greatest rank of a shard."""
WORDS = 256
"""Integers that a rank says of a call, whatever it calls: so ranks that call different functions learn of it."""
CALLS = ("a reduction", "a program")
"""What a rank may call: the last of the integers is a number of these."""
REDUCTION, PROGRAM = range(len(CALLS))
NOT_SCATTERED = -1
"""In place of the axis of the result where every rank gets the whole result."""


@dataclass(frozen=True)
class Shard:
    """What all ranks must agree on, and the extent along the sharded axis, which may differ.

    Attributes:
        digest: the digest of the reduction, with the types of its arrays; empty for a call that the rank refuses.
        shape: the shape of the shard.
        axes: the reduced axes.
        axis: the sharded axis.
        scatter: the axis of the result of which each rank gets a part; None where each gets the whole result.
    """

    digest: str = ""
    shape: tuple[int, ...] = ()
    axes: tuple[int, ...] = ()
    axis: int = 0
    scatter: int | None = None

    def words(self) -> list[int]:
        """As integers of 64 bits, always as many."""
        digest = [int(self.digest[i : i + 15] or "0", 16) for i in (0, 15)]
        shape = [*self.shape, *[-1] * (MOST_DIMS - len(self.shape))]
        scatter = NOT_SCATTERED if self.scatter is None else self.scatter
        return said(REDUCTION, [*digest, *shape, sum(1 << a for a in self.axes), self.axis, scatter])


def said(call: int, words: Sequence[int]) -> list[int]:
    """What a rank says of a call, by its number in ``CALLS``."""
    return [*words, *[0] * (WORDS - 1 - len(words)), call]


@dataclass(frozen=True, eq=False)
class Ranks:
    """A process group, always as the same object, which does not keep the group alive.

    Attributes:
        reference: the group, weakly; None for the default one.
        count: how many ranks there are.
        own: the rank of this process.
        bring: the name of PyTorch's function that gathers tensors, in which versions differ.
    """

    reference: ReferenceType[Any] | None
    count: int
    own: int
    bring: str

    @property
    def group(self) -> Any:
        """The group; None for the default one.

        Raises:
            ArgumentError: WF170 for a group that has gone since.
        """
        found = self.reference and self.reference()
        if self.reference and not found:
            raise error("WF170", where=caller())
        return found

    @classmethod
    def of(cls, group: Any) -> Ranks:
        """The ranks of ``group``.

        Raises:
            ArgumentError: WF170 where no process group is there, WF138 for what is none, WF168 for one of others.
        """
        if not dist.is_available() or not dist.is_initialized():
            raise error("WF170", where=caller())
        default = dist.group.WORLD
        own = default if group is None else group
        if isinstance(own, dist.ProcessGroup):
            found = _known.get(own)
            if found is None:
                bring = "all_gather_single" if hasattr(dist, "all_gather_single") else "all_gather_into_tensor"
                found = _known[own] = cls(None if own is default else ref(own), own.size(), own.rank(), bring)
            return found
        if group is dist.GroupMember.NON_GROUP_MEMBER:
            raise error("WF168", where=caller())
        expected, usual = "a process group of torch.distributed, or None", "the default one, of all processes"
        raise error("WF138", option="group", value=group, expected=expected, default=usual, where=caller())

    def gathered(self, x: torch.Tensor) -> torch.Tensor:
        """The tensors ``x`` of all ranks, in their order along a new first axis."""
        found = x.new_empty(self.count * x.numel())
        self.gather(found, x.reshape(-1))
        return found.reshape(self.count, *x.shape)

    def gather(self, found: torch.Tensor, own: torch.Tensor) -> None:
        """Writes the tensors ``own`` of all ranks, of rank 1, one after another to ``found``."""
        try:
            getattr(dist, self.bring)(found, own, group=self.group)
        except RuntimeError as e:  # also that of a time limit
            raise self._lost(e) from e

    def exchanged(self, x: torch.Tensor) -> torch.Tensor:
        """Row r of every rank's ``x`` for rank r, in the order of the ranks."""
        found = torch.empty_like(x)
        try:
            dist.all_to_all_single(found, x.contiguous(), group=self.group)
        except RuntimeError as e:
            raise self._lost(e) from e
        return found

    def _lost(self, e: RuntimeError) -> WarpfoldError:
        """What to raise where a rank did not come, or has gone."""
        reason = str(e).partition("\n")[0]
        return error("WF611", own=self.own, count=self.count, others=waited_for(self.group), reason=reason)

    def device(self, xs: Iterable[object]) -> torch.device:
        """Where a rank says something of its call: on the device of the first tensor there is."""
        own = next((x.device for x in xs if isinstance(x, torch.Tensor)), None)
        return own or torch.device("cuda" if dist.get_backend(self.group) == "nccl" else "cpu")

    def extents(self, shard: Shard, device: torch.device) -> tuple[int, ...]:
        """The extent of every rank's shard along the sharded axis; waits for the device.

        Raises:
            ArgumentError: on every rank, WF169 where a rank refuses its call, which its own error says, and WF171 where
                a shard is not like that of rank 0 but for that extent.
        """
        rows = self.gathered(_words(shard, device)).tolist()
        check_taken(rows)
        for rank, row in enumerate(rows[1:], 1):
            problem = _difference(rows[0], row)
            if problem:
                raise error("WF171", rank=rank, problem=problem, where=caller())
        return tuple(row[2 + shard.axis] for row in rows)


_known: WeakKeyDictionary[Any, Ranks] = WeakKeyDictionary()


@lru_cache(maxsize=256)
def _words(shard: Shard, device: torch.device) -> torch.Tensor:
    """What a rank says of its shard, which nobody writes, on a device."""
    return torch.tensor(shard.words(), dtype=torch.int64, device=device)


def check_tensors(name: str, xs: Sequence[Any]) -> None:
    """Checks that arrays are tensors of PyTorch; numbers behind the first need not be. WF164."""
    for i, x in enumerate(xs):
        if not isinstance(x, torch.Tensor) and (not i or getattr(x, "shape", None) != ()):
            raise error("WF164", name=name, kind=_kind(x), number=i, where=caller())


def _kind(x: object) -> str:
    own = type(x)
    return own.__name__ if own.__module__ == "builtins" else f"{own.__module__.partition('.')[0]}.{own.__name__}"


def check_taken(rows: Sequence[Sequence[int]]) -> None:
    """Checks that no rank refuses its call, as one does whose words begin with no digest, and that all call alike.

    Raises:
        ArgumentError: WF169 for a rank that refuses its call, WF171 for one that calls another function.
    """
    for rank, row in enumerate(rows):
        if not any(row[:2]):
            raise error("WF169", rank=rank, where=caller())
    for rank, row in enumerate(rows):
        if row[-1] != rows[0][-1]:
            problem = f"is of {CALLS[row[-1]]}: expected {CALLS[rows[0][-1]]}"
            raise error("WF171", rank=rank, problem=problem, where=caller())


def _difference(first: Sequence[int], other: Sequence[int]) -> str:
    """How the words of two shards differ; nothing where only the extent along the sharded axis does."""
    shapes = [tuple(n for n in row[2 : 2 + MOST_DIMS] if n >= 0) for row in (other, first)]
    cuts = [row[2 + MOST_DIMS : 5 + MOST_DIMS] for row in (other, first)]
    axis = cuts[1][1]
    if cuts[0][:2] != cuts[1][:2]:
        found, expected = (f"axis {cut} and reduced over {_axes(axes)}" for axes, cut, _ in cuts)
        return f"is cut along {found}: expected {expected}"
    kept = [[n for a, n in enumerate(shape) if a != axis] for shape in shapes]
    if kept[0] != kept[1]:
        return f"has shape {shapes[0]}: expected {shapes[1]} but for axis {axis}"
    if cuts[0] != cuts[1]:
        found, expected = (f"scatter={None if own == NOT_SCATTERED else own}" for _, _, own in cuts)
        return f"is reduced with {found}: expected {expected}"
    if first[:2] != other[:2]:
        return "is of another reduction, of other parameters or of other element types: expected the same"
    return ""


def _axes(bits: int) -> tuple[int, ...]:
    return tuple(a for a in range(MOST_DIMS) if bits >> a & 1)
