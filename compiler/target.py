"""The GPU architectures warpfold compiles for, and the facts about each that plans and passes use.

Source of the numbers: CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability", and PTX
ISA, section "Target ISA Notes" of each instruction.
"""

from __future__ import annotations

from typing import NamedTuple

from .errors import error, near

WARP = 32
KIB = 1024
ASYNC_STORES = 81
"""The PTX ISA version of ``st.async``, times ten."""
PORTABLE_CLUSTER = 8
"""CTAs of a cluster that every device with clusters can hold."""
LARGEST_CLUSTER = 16
"""CTAs of a cluster that some devices hold, if a launch asks for more than PORTABLE_CLUSTER."""
SHARED_UNIT = 128
"""Bytes of shared memory are given to CTAs in multiples of this."""
REGISTER_UNIT = 8
"""Registers are given to the threads of a warp in multiples of this."""
REGISTERS = 512
"""Registers of the 32-bit kind in each of the SLICES of an SM, for each lane of a warp."""
SLICES = 4
"""Parts of an SM that have a scheduler and registers of their own; each holds a quarter of the warps."""


class Occupancy(NamedTuple):
    """The CTAs of a kernel that an SM holds at a time.

    Attributes:
        ctas: their number; 0 where an SM cannot hold even one.
        limit: the resource that has no room for another one: ``threads``, ``registers``, ``shared memory`` or ``CTAs``.
    """

    ctas: int
    limit: str


class Target(NamedTuple):
    """One architecture.

    Attributes:
        arch: the name ``ptxas`` knows, ``sm_90a``.
        ptx: the PTX ISA version emitted, times ten (83 is 8.3): the oldest that has what the passes use, so that old
            drivers can load it. Kernels of clusters need ASYNC_STORES.
        sms: multiprocessors of the largest common part, used when no device is there to ask.
        threads_per_sm: resident threads one multiprocessor holds.
        ctas_per_sm: resident CTAs one multiprocessor holds.
        shared_per_cta: bytes of shared memory a CTA may ask for.
        shared_per_sm: bytes of shared memory of one multiprocessor.
        reserved_shared: bytes of shared memory that each CTA takes beside those that it asks for.
        has_redux: ``redux.sync`` on 32-bit integers (sm_80 and newer).
        largest_cluster: CTAs of a thread block cluster at most; 1 where there are none (before sm_90).
        has_async_copies: ``cp.async`` from global to shared memory (sm_80 and newer).
    """

    arch: str
    ptx: int
    sms: int
    threads_per_sm: int
    ctas_per_sm: int
    shared_per_cta: int
    shared_per_sm: int
    reserved_shared: int = 1024
    has_redux: bool = True
    largest_cluster: int = 1
    has_async_copies: bool = True

    @property
    def capability(self) -> tuple[int, int]:
        """Compute capability (major, minor)."""
        number = int(self.arch.removeprefix("sm_").rstrip("af"))
        return number // 10, number % 10

    @property
    def has_clusters(self) -> bool:
        """Whether there are thread block clusters."""
        return self.largest_cluster > 1

    @property
    def has_cache_policies(self) -> bool:
        """Whether accesses may say how long the L2 cache keeps their lines (``createpolicy``: sm_80 and PTX 7.4)."""
        return self.capability >= (8, 0) and self.ptx >= 74

    @property
    def has_bulk_copies(self) -> bool:
        """Whether one thread copies many bytes to shared memory (``cp.async.bulk``: sm_90 and PTX 8.0)."""
        return self.capability >= (9, 0) and self.ptx >= 80

    @property
    def has_early_launches(self) -> bool:
        """Whether a kernel may begin before the one before it has ended (``griddepcontrol``: sm_90 and PTX 7.8)."""
        return self.capability >= (9, 0) and self.ptx >= 78

    @property
    def has_matrix_loads(self) -> bool:
        """Whether a warp reads blocks of matrices from shared memory (``ldmatrix``: sm_75 and PTX 6.5)."""
        return self.ptx >= 65

    @property
    def has_matrix_stores(self) -> bool:
        """Whether a warp writes blocks of matrices to shared memory (``stmatrix``: sm_90 and PTX 7.8)."""
        return self.capability >= (9, 0) and self.ptx >= 78

    @property
    def has_matrix_sums(self) -> bool:
        """Whether the tensor cores multiply 16 rows of f16, bf16, s8 and u8 (``mma.m16n8``: sm_80 and PTX 7.0)."""
        return self.capability >= (8, 0) and self.ptx >= 70

    @property
    def has_byte_floats(self) -> bool:
        """Whether an instruction rounds two f32 to floats of 8 bits (``cvt.e4m3x2``: sm_90 and PTX 7.8)."""
        return self.capability >= (9, 0) and self.ptx >= 78

    @property
    def has_float_pairs(self) -> bool:
        """Whether an instruction adds or multiplies two f32 (``add.f32x2``: sm_100 and PTX 8.6)."""
        return self.capability >= (10, 0) and self.ptx >= 86

    @property
    def max_threads(self) -> int:
        """Threads a CTA may have."""
        return 1024

    def occupancy(self, threads: int, shared_bytes: int, registers: int = 0) -> Occupancy:
        """The CTAs that an SM holds, as CUDA's occupancy calculator counts them.

        Args:
            threads: threads of a CTA.
            shared_bytes: bytes of shared memory that a CTA asks for.
            registers: registers of a thread; 0 where they are not known, and do not limit it.
        """
        warps, shared = -(-threads // WARP), _round_up(shared_bytes, SHARED_UNIT) + self.reserved_shared
        each = REGISTERS // _round_up(registers or REGISTER_UNIT, REGISTER_UNIT)  # warps of a slice
        found = (
            Occupancy(self.shared_per_sm // max(1, shared), "shared memory"),
            Occupancy(self.threads_per_sm // (warps * WARP), "threads"),
            Occupancy(SLICES * each // warps, "registers"),
            Occupancy(self.ctas_per_sm, "CTAs"),
        )
        return min(found, key=lambda o: o.ctas)


TARGETS = {
    t.arch: t
    for t in (
        Target("sm_75", 63, 72, 1024, 16, 64 * KIB, 64 * KIB, 0, has_redux=False, has_async_copies=False),
        Target("sm_80", 70, 108, 2048, 32, 163 * KIB, 164 * KIB),
        Target("sm_86", 71, 84, 1536, 16, 99 * KIB, 100 * KIB),
        Target("sm_89", 78, 142, 1536, 24, 99 * KIB, 100 * KIB),
        Target("sm_90a", 80, 132, 2048, 32, 227 * KIB, 228 * KIB, largest_cluster=LARGEST_CLUSTER),
        Target("sm_100a", 86, 148, 2048, 32, 227 * KIB, 228 * KIB, largest_cluster=LARGEST_CLUSTER),
        Target("sm_120", 87, 170, 1536, 24, 99 * KIB, 100 * KIB, largest_cluster=PORTABLE_CLUSTER),
    )
}
DEFAULT = TARGETS["sm_90a"]


def _round_up(count: int, unit: int) -> int:
    """The least multiple of ``unit`` that is not less than ``count``."""
    return -(-count // unit) * unit


def target(arch: object) -> Target:
    """The target called ``arch``.

    Raises:
        PlanError: WF401 with near matches when there is none of that name.
    """
    found = TARGETS.get(arch) if isinstance(arch, str) else None
    if found is None:
        several = isinstance(arch, list | tuple | set)
        remedy = "compile for each of them: a file holds one architecture" if several else "name one of these"
        raise error("WF401", arch=arch, near=near(str(arch), TARGETS), known=" ".join(TARGETS), remedy=remedy)
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
