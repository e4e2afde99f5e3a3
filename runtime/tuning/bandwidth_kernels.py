"""Handwritten PTX kernels that measure a machine: plain reads of memory, and an empty kernel.

They do not depend on the planner or the passes, so measured ceilings stay when those change.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ...compiler.driver.artifact import Artifact, CompiledKernel
from ...compiler.plan.abi import Param
from ...compiler.plan.facts import Facts
from ...compiler.plan.plan import Plan
from ..backends.kernel_calls import Call

ACCESS = 16
"""Bytes per access."""
UNROLLS = (1, 2, 4, 8)
_HEAD = ".version 6.3\n.target sm_75\n.address_size 64\n"
_EMPTY = ".visible .entry empty()\n{\n  ret;\n}\n"
_READ = """
.visible .entry read{unroll}(.param .u64 source, .param .u64 sink, .param .u32 steps)
{{
  .reg .pred %p;
  .reg .b32 %acc, %left, %first, %threads, %block, %thread, %x<{words}>;
  .reg .b64 %at, %stride, %sink, %wide;
  ld.param.u64 %at, [source];
  ld.param.u64 %sink, [sink];
  ld.param.u32 %left, [steps];
  mov.u32 %threads, %ntid.x;
  mov.u32 %block, %ctaid.x;
  mov.u32 %thread, %tid.x;
  mul.lo.u32 %first, %block, %threads;
  mul.lo.u32 %first, %first, %left;
  mad.lo.u32 %first, %first, {unroll}, %thread;
  mul.wide.u32 %wide, %first, 16;
  add.u64 %at, %at, %wide;
  mul.wide.u32 %stride, %threads, 16;
  mov.u32 %acc, 0;
again:
{body}  sub.u32 %left, %left, 1;
  setp.ne.u32 %p, %left, 0;
  @%p bra again;
  setp.eq.u32 %p, %acc, 0x9e3779b9;
  @%p st.global.u32 [%sink], %acc;
  ret;
}}
"""


@dataclass(frozen=True)
class Reading:
    """One way to read memory: every thread of all CTAs makes ``unroll * steps`` interleaved accesses of 16 bytes."""

    unroll: int
    steps: int
    warps: int

    @property
    def tile(self) -> int:
        """Bytes that a CTA reads."""
        return ACCESS * self.unroll * self.steps * 32 * self.warps

    def call(self, source: int, nbytes: int, sink: int) -> Call:
        """The launch that reads ``nbytes``, a multiple of ``tile``, from ``source``.

        A thread writes the exclusive or of its elements to ``sink`` if it equals one particular 32-bit number: no load
        can be optimised away, and almost nothing is written.
        """
        grid, block = (nbytes // self.tile, 1, 1), (32 * self.warps, 1, 1)
        return Call(f"read{self.unroll}", grid, block, (source, sink, self.steps))


READINGS = tuple(
    Reading(unroll, loads // unroll, warps)
    for unroll in UNROLLS
    for loads in (unroll, 4 * unroll, 16 * unroll)
    if loads <= 64
    for warps in (4, 8, 16)
)
"""The reading kernels; a ceiling is the fastest of them."""
STEADY = Reading(4, 4, 8)
"""A kernel that reads large memory fast on any machine."""
EMPTY = Call("empty", (1, 1, 1), (32, 1, 1), ())


@lru_cache(maxsize=1)
def artifact() -> Artifact:
    """All kernels as one artifact."""
    facts = Facts(1, 1, 32, (), store_vector=False)
    params = (Param("input"), Param("output"), Param("chunk"))
    kernels = [CompiledKernel(f"read{u}", "main", Plan(), facts, params) for u in UNROLLS]
    kernels.append(CompiledKernel("empty", "main", Plan(), facts, ()))
    ptx = _HEAD + _EMPTY + "".join(_read(u) for u in UNROLLS)
    return Artifact("plain_kernels", (), (), (), tuple(kernels), "sm_75", ptx, "", "plain_kernels", {})


def _read(unroll: int) -> str:
    """A kernel that makes ``unroll`` accesses in each step, all in flight before the first value is used."""
    loads, uses = [], []
    for k in range(unroll):
        words = [f"%x{4 * k + i}" for i in range(4)]
        loads.append(f"ld.global.nc.v4.u32 {{{', '.join(words)}}}, [%at];\n  add.u64 %at, %at, %stride;")
        uses += [f"xor.b32 %acc, %acc, {word};" for word in words]
    body = "".join(f"  {line}\n" for line in loads + uses)
    return _READ.format(unroll=unroll, words=4 * unroll, body=body)
