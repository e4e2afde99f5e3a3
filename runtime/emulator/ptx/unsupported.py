"""What the PTX ISA has and the emulator does not support, in words.

It is refused when a thread comes to it, so that the rest of the text runs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_OPCODES = {
    "textures": "tex tld4 txq istypep",
    "surfaces": "suld sust sured suq",
    "products of warpgroups": "wgmma",
    "tensor memory": "tcgen05",
    "multimem addresses": "multimem",
    "video instructions": "vadd vsub vabsdiff vmin vmax vshl vshr vmad vset vadd2 vsub2 vavrg2 vmin2 vmax2 vset2 vadd4 "
    "vsub4 vavrg4 vmin4 vmax4 vset4",
    "a stack that grows": "alloca stacksave stackrestore",
    "tensor maps": "tensormap",
    "cluster launch control": "clusterlaunchcontrol",
}
_BY_OPCODE = {opcode: what for what, opcodes in _OPCODES.items() for opcode in opcodes.split()}
_BY_FORM = {
    "cp": {"tensor maps": "tensor", "multicast copies": "multicast::cluster", "copies that reduce": "reduce",
           "bulk prefetches": "prefetch"},
    "st": {"asynchronous stores to global memory": "async.mmio async.global async.release", "bulk stores": "bulk"},
    "red": {"asynchronous reductions": "async"},
    "mma": {"sparse products": "sp", "ordered sparse products": "sp::ordered_metadata",
            "block-scaled products": "block_scale", "products of 4-bit and 1-bit numbers": "s4 u4 b1",
            "products of 4-bit and 6-bit floats": "e3m2 e2m3 e2m1", "products of quads": "m8n8k4.f16"},
    "wmma": {"products of 4-bit and 1-bit numbers": "s4 u4 b1"},
    "ldmatrix": {"matrices of bytes": "m16n16 m8n16 b8 b8x16.b6x16_p32 b8x16.b4x16_p64"},
    "stmatrix": {"matrices of bytes": "m16n8 b8"},
    "cvt": {"scale factors": "ue8m0x2", "stochastic rounding": "rs"},
}  # fmt: skip
_SPECIAL = re.compile(r"%(pm\d(_64)?|envreg\d+|current_graph_exec|aggr_smem_size)")

OPAQUE = {".texref": "textures", ".samplerref": "textures", ".surfref": "surfaces"}
"""Types of variables that are not numbers."""
ADDRESSES = "variables whose initialisers are addresses"
ELSEWHERE = "variables of another module"
POINTERS = "calls through pointers"


def what(opcode: str, mods: Sequence[str]) -> str:
    """What of an instruction of the ISA is not supported, in words; empty if it may run."""
    if opcode in _BY_OPCODE:
        return _BY_OPCODE[opcode]
    for words, forms in _BY_FORM.get(opcode, {}).items():
        if any(all(part in mods for part in form.split(".")) for form in forms.split()):
            return words
    return ""


def special(name: str) -> str:
    """The words for the special register ``name`` if it is not supported; else empty."""
    return f"the special register {name}" if _SPECIAL.fullmatch(name) else ""
