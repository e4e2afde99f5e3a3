"""The GPU architectures warpfold compiles for, and the facts about each that plans and passes use.

Source of the numbers: CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability", and PTX
ISA, section "Target ISA Notes" of each instruction.
"""

from __future__ import annotations

from typing import NamedTuple

from .errors import error, near

WARP = 32


class Target(NamedTuple):
    """One architecture.

    Attributes:
        arch: the name ``ptxas`` knows, ``sm_90a``.
        ptx: the PTX ISA version emitted, times ten (83 is 8.3): the oldest that has what the passes use, so that old
            drivers can load it.
        sms: multiprocessors of the largest common part, used when no device is there to ask.
        threads_per_sm: resident threads one multiprocessor holds.
        shared_per_cta: bytes of shared memory a CTA may ask for.
        has_redux: ``redux.sync`` on 32-bit integers (sm_80 and newer).
        has_clusters: thread block clusters (sm_90 and newer).
        has_async_copies: ``cp.async`` from global to shared memory (sm_80 and newer).
    """

    arch: str
    ptx: int
    sms: int
    threads_per_sm: int
    shared_per_cta: int
    has_redux: bool = True
    has_clusters: bool = False
    has_async_copies: bool = True

    @property
    def capability(self) -> tuple[int, int]:
        """Compute capability (major, minor)."""
        number = int(self.arch.removeprefix("sm_").rstrip("af"))
        return number // 10, number % 10

    @property
    def has_cache_policies(self) -> bool:
        """Whether accesses may say how long the L2 cache keeps their lines (``createpolicy``: sm_80 and PTX 7.4)."""
        return self.capability >= (8, 0) and self.ptx >= 74

    @property
    def max_threads(self) -> int:
        """Threads a CTA may have."""
        return 1024


TARGETS = {
    t.arch: t
    for t in (
        Target("sm_75", 63, 72, 1024, 64 * 1024, has_redux=False, has_async_copies=False),
        Target("sm_80", 70, 108, 2048, 163 * 1024),
        Target("sm_86", 71, 84, 1536, 99 * 1024),
        Target("sm_89", 78, 142, 1536, 99 * 1024),
        Target("sm_90a", 80, 132, 2048, 227 * 1024, has_clusters=True),
        Target("sm_100a", 86, 148, 2048, 227 * 1024, has_clusters=True),
        Target("sm_120", 87, 170, 1536, 99 * 1024, has_clusters=True),
    )
}
DEFAULT = TARGETS["sm_90a"]


def target(arch: str) -> Target:
    """The target called ``arch``.

    Raises:
        PlanError: WF401 with near matches when there is none of that name.
    """
    found = TARGETS.get(arch)
    if found is None:
        raise error("WF401", arch=arch, near=near(str(arch), TARGETS), known=" ".join(TARGETS))
    return found


def for_capability(major: int, minor: int) -> Target:
    """The best target whose PTX runs on a device of compute capability ``major.minor``.

    Architecture-specific targets (``sm_90a``) only run on exactly their own capability, so others fall back to the
    newest older target without the suffix.

    Raises:
        BackendError: WF602 for devices older than every target.
    """
    best = None
    for t in TARGETS.values():
        if t.capability == (major, minor):
            return t
        if t.capability < (major, minor) and not t.arch.endswith("a"):
            best = t
    if best is None:
        raise error("WF602", capability=f"{major}.{minor}", oldest="7.5")
    return best
