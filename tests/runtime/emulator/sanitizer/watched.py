"""Short kernels under the sanitizer."""

from __future__ import annotations

from typing import Any

import numpy as np

from warpfold.runtime.emulator import Memory, sanitize
from warpfold.runtime.emulator.sanitizer import Finding

HEADER = ".version 8.6\n.target sm_100a\n.address_size 64\n"


def text(body: str, before: str = "") -> str:
    """A kernel ``k`` of two pointers, in d0 and d1; r0 is the thread's number, r1 the CTA's; r2 and d2 are 4 * r0."""
    return f"""{HEADER}{before}
.visible .entry k(.param .b64 k_x, .param .b64 k_y)
{{
.reg .pred p<10>; .reg .b16 h<10>; .reg .b32 r<30>; .reg .b64 d<20>;
.shared .align 16 .b8 s[1024];
ld.param.b64 d0, [k_x]; ld.param.b64 d1, [k_y];
mov.u32 r0, %tid.x; mov.u32 r1, %ctaid.x; mul.wide.u32 d2, r0, 4; shl.b32 r2, r0, 2;
{body}
ret;
}}
"""


def watched(body: str, *, threads: int = 64, ctas: int = 1, written: bool = True, **options: Any) -> list[Finding]:
    """The findings in ``body``. x and y have 1 KiB each; x is initialised, and y is if ``written``."""
    memory = options.pop("memory", None) or Memory()
    x = memory.bind(np.zeros(1024 + 256, np.uint8)[:1024], name="x")
    y = memory.allocate(1024, name="y", initialised=written)
    memory.view(y, 1024)[:] = 0
    before = options.pop("before", "")
    return sanitize(text(body, before), "k", (ctas, 1, 1), (threads, 1, 1), [x, y], memory, **options)


def kinds(found: list[Finding]) -> list[str]:
    """The kinds of the findings, each once, in alphabetical order."""
    return sorted({f.kind for f in found})
