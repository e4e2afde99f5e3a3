"""Measures the digests of 2^x on a GPU: ``python tests/runtime/emulator/exp2_digests.py FILE``.

The tests read ``tests/runtime/emulator/data/exp2.json``.
For each instruction, sign and exponent the CRC-32 of the results of all 2^23 arguments, in order. Needs CuPy.
"""

from __future__ import annotations

import json
import sys
import zlib
from pathlib import Path

import numpy as np

INSTRUCTIONS = ("ex2.approx.ftz.f32", "ex2.approx.f32")
BLOCK = 1 << 23
SOURCE = """extern "C" __global__ void {name}(unsigned first, unsigned *y) {{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    asm("{instruction} %0, %1;" : "=r"(y[i]) : "r"(first + i));
}}"""


def arguments(block: int) -> np.ndarray:
    """The f32 numbers of a block: one sign and exponent."""
    return np.arange(block * BLOCK, (block + 1) * BLOCK, dtype=np.uint32).view(np.float32)


def digest(results: np.ndarray) -> str:
    """The CRC-32 of results."""
    return f"{zlib.crc32(np.ascontiguousarray(results).tobytes()):08x}"


def measured(instruction: str) -> list[str]:
    """The digest of each block on the GPU."""
    import cupy

    name = instruction.replace(".", "_")
    kernel = cupy.RawKernel(SOURCE.format(name=name, instruction=instruction), name)
    results = cupy.empty(BLOCK, cupy.uint32)
    found = []
    for block in range(512):
        kernel((BLOCK // 256,), (256,), (np.uint32(block * BLOCK), results))
        found.append(digest(results.get()))
    return found


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps({name: measured(name) for name in INSTRUCTIONS}, indent=0) + "\n")
