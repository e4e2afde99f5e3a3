"""Short kernels of ``data/short.txt``, each as a planted fault and, mostly, as its twin without the fault.

A kernel begins with ``== name; kinds; options``. Lines with ``-`` are in the fault alone, lines with ``+`` in the twin
alone. Kernels without a kind have no fault, and those with ``alone`` no twin. ``!`` at the end of a line says that a
correct report names it.

A kernel finds x in d0 and y in d1, both with values, and z in d9, without; each has 2 KiB. r0 is the thread's number,
r1 the CTA's; r2 and d2 are 4 * r0. ``s`` has 1 KiB of shared memory; ``m`` and ``n`` are words for mbarriers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import handmade
import numpy as np
from fault import Fault
from scene import At, Launch, Scene, nothing, values

_SIZE = 2048
_KERNEL = """.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .b64 k_x, .param .b64 k_y, .param .b64 k_z)
{{
.reg .pred p<10>; .reg .b16 h<10>; .reg .b32 r<30>; .reg .b64 d<20>;
.shared .align 16 .b8 s[1024]; .shared .align 8 .b64 m; .shared .align 8 .b64 n;
ld.param.b64 d0, [k_x]; ld.param.b64 d1, [k_y]; ld.param.b64 d9, [k_z];
mov.u32 r0, %tid.x; mov.u32 r1, %ctaid.x; mul.wide.u32 d2, r0, 4; shl.b32 r2, r0, 2;
{body}
ret;
}}
"""
_OPTION = re.compile(r"(threads|ctas|cluster)=(\d+)|alone")


@dataclass(frozen=True)
class Short:
    """One kernel, as written."""

    name: str
    kinds: tuple[str, ...]
    options: str
    lines: tuple[str, ...]

    @property
    def has_twin(self) -> bool:
        """Whether there is a kernel without the fault."""
        return "alone" not in self.options

    def fault(self) -> Fault:
        """The planted fault."""
        return Fault(self.name, self.kinds, lambda: self._scene("-"), "// !")

    def twin(self) -> Scene:
        """The kernel without the fault."""
        return self._scene("+")

    def _scene(self, which: str) -> Scene:
        body = (x[1:] if x[:1] in "+-" else x for x in self.lines if x[:1] != {"-": "+", "+": "-"}[which])
        text = "\n".join(re.sub(r"\s!$", " // !", x) for x in body)
        given = {m[1]: int(m[2]) for m in _OPTION.finditer(self.options)}
        buffers = {name: values(np.zeros(_SIZE, np.uint8)) for name in "xy"} | {"z": nothing(_SIZE)}
        launch = Launch(
            _KERNEL.format(body=text), "k", (given.get("ctas", 1), 1, 1), (given.get("threads", 64), 1, 1),
            tuple(map(At, "xyz")), (given.get("cluster", 1), 1, 1),
        )  # fmt: skip
        return Scene(self.name + (": the twin" if which == "+" and self.kinds else ""), buffers, (launch,))


def _read() -> Iterator[Short]:
    for text in re.split(r"^== ", handmade.text("short.txt"), flags=re.MULTILINE)[1:]:
        head, *lines = text.rstrip().split("\n")
        name, kinds, options = (part.strip() for part in (head + ";;").split(";")[:3])
        yield Short(name, tuple(kinds.split()), options, tuple(x for x in lines if not x.startswith("#")))


SHORT = tuple(_read())
FAULTS = tuple(s.fault() for s in SHORT if s.kinds)
CLEAN = tuple(s.twin() for s in SHORT if s.has_twin)
