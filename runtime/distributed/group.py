"""The ranks of a process group, and the exchange that each of their calls begins with.

Which ranks do not answer, where a call of all ranks has failed on those that do.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from weakref import ReferenceType, WeakKeyDictionary, ref

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d

from ...compiler.errors import WarpfoldError, error
from ...compiler.program.frames import caller
from ..arrays.conversion import view
from ..backends.select import backend_for

WAIT = 2.0
"""Seconds in which the other ranks may say that the call failed for them, too."""
_STEP = 0.02
_KEY = "warpfold/waited"


def waited_for(group: Any) -> str:
    """For whom this rank waited in vain, in words: of the ranks of ``group`` those that do not say that they did, too.

    They say so in the store by which the processes met, which lives as long as the process that began it.
    """
    try:
        store = distributed_c10d._get_default_store()
        ranks = [dist.get_global_rank(group or dist.group.WORLD, r) for r in range(dist.get_world_size(group))]
        store.set(f"{_KEY}/{dist.get_rank()}", "1")
        end = time.monotonic() + WAIT
        while (silent := [r for r in ranks if not store.check([f"{_KEY}/{r}"])]) and time.monotonic() < end:
            time.sleep(_STEP)
    except (AttributeError, RuntimeError, ValueError):  # another PyTorch, or the store has gone
        return "the others, of which one does not answer"
    if not silent:
        return "the others, for whom the call failed, too"
    *names, last = (str(ranks.index(r)) for r in silent)
    if not names:
        return f"rank {last}, which does not answer"
    return f"ranks {', '.join(names)} and {last}, which do not answer"


MOST_DIMS = 8
"""The greatest rank of a shard."""
WORDS = 256
"""Integers that a rank says of a call, whatever it calls: so ranks that call different functions learn of it."""
CALLS = ("nothing", "a reduction", "a program", "a gradient")
"""What a rank may call: the second of the integers is a number of these."""
REFUSED, REDUCTION, PROGRAM, GRADIENT = range(len(CALLS))
HEAD = 2
"""Integers before those of a call: its number among the calls of the group, and what is called."""
Words = Sequence[int]


@dataclass(eq=False)
class Ranks:
    """A process group, always as the same object, which does not keep the group alive.

    Attributes:
        reference: the group, weakly; None for the default one.
        count: how many ranks there are.
        own: the rank of this process.
        bring: the name of PyTorch's function that gathers tensors, in which versions differ.
        place: the type of device on which ranks say what they call.
        number: how many checked calls this rank has begun.
        met: whether the ranks have met in the last of them.
    """

    reference: ReferenceType[Any] | None
    count: int
    own: int
    bring: str
    place: str
    number: int = 0
    met: bool = False

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
                place = "cpu" if "cpu:" in str(distributed_c10d.get_backend_config(group)) else "cuda"
                found = cls(None if own is default else ref(own), own.size(), own.rank(), bring, place)
                _known[own] = found
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
        """Where a rank says what it calls: where NCCL alone serves the group on the GPU of the first tensor on one."""
        own = next((x.device for x in xs if isinstance(x, torch.Tensor) and x.device.type == self.place), None)
        return own or torch.device(self.place)

    def meet(self, call: int, words: Words, differ: Callable[[Words, Words], str], device: torch.device) -> list[Words]:
        """What each rank says of the call that it makes now; waits for the device.

        A rank that is at a later call than others has failed where it could not tell them: they learn it here, and it
        waits for them to come to its call.

        Args:
            call: what is called, as a number in ``CALLS``.
            words: the integers that describe it.
            differ: says how the words of a rank do not fit those of rank 0; nothing where they do.
            device: see ``device``.

        Raises:
            ArgumentError: WF169 where a rank cannot make its call, which its own error says, and WF171 where its call
                is not that of rank 0.
        """
        self.met = True
        row = _row(call, tuple(words), device)
        row[0] = self.number
        while True:
            rows = self.gathered(row).tolist()
            numbers = [r[0] for r in rows]
            if self.number < max(numbers):
                raise error("WF169", rank=numbers.index(max(numbers)), where=caller())
            if min(numbers) == self.number:
                break
        called = [r[1] for r in rows]
        if REFUSED in called:
            raise error("WF169", rank=called.index(REFUSED), where=caller())
        found = [r[HEAD:] for r in rows]
        unlike = [f"is of {CALLS[c]}: expected {CALLS[called[0]]}" if c != called[0] else "" for c in called]
        for rank, problem in enumerate(unlike if any(unlike) else (differ(found[0], own) for own in found)):
            if problem:
                raise error("WF171", rank=rank, problem=problem, where=caller())
        return found

    def refuse(self, xs: Iterable[object]) -> None:
        """Tells the other ranks, where these wait for it, that this one cannot make the call."""
        if not self.met:
            with suppress(WarpfoldError):  # what it would say is what the others say of this rank
                self.meet(REFUSED, (), lambda *_: "", self.device(xs))


_known: WeakKeyDictionary[Any, Ranks] = WeakKeyDictionary()


def missed() -> None:
    """A call of a group that this rank could not name was not made: the ranks of any of its groups may wait for it."""
    Ranks.of(None)
    for ranks in _known.values():
        ranks.number += 1


@lru_cache(maxsize=256)
def _row(call: int, words: tuple[int, ...], device: torch.device) -> torch.Tensor:
    """What a rank says of a call, but for its number, on a device."""
    return torch.tensor([0, call, *words, *[0] * (WORDS - HEAD - len(words))], dtype=torch.int64, device=device)


def two_words(digest: str) -> tuple[int, int]:
    """A digest as integers of 64 bits."""
    return int(digest[:15], 16), int(digest[15:30], 16)


def check_tensors(name: str, xs: Sequence[Any], device: str) -> None:
    """Checks that arrays are tensors of PyTorch in memory that ``device`` serves; numbers behind the first need not be.

    Raises:
        ArgumentError: WF164 for what is no tensor, and whatever ``backend_for`` and ``view`` raise.
    """
    for i, x in enumerate(xs):
        if not isinstance(x, torch.Tensor) and (not i or getattr(x, "shape", None) != ()):
            raise error("WF164", name=name, kind=_kind(x), number=i, where=caller())
    backend_for([view(x.detach()) for x in xs if isinstance(x, torch.Tensor)], device)


def _kind(x: object) -> str:
    own = type(x)
    return own.__name__ if own.__module__ == "builtins" else f"{own.__module__.partition('.')[0]}.{own.__name__}"
