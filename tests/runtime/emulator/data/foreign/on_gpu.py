"""Runs the foreign kernels and the single instructions on a GPU, and prints a checksum of the output bits of each.

    python on_gpu.py foreign.json instructions.json

It needs NumPy, CuPy and a GPU of compute capability 9.0, and no warpfold. The results are committed as
``foreign/h200.json`` and ``h200.json``; the emulator is compared with them where there is no GPU.
"""

from __future__ import annotations

import json
import sys
import tempfile
import traceback
import zlib
from pathlib import Path

import cupy
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from emulator_instructions import CASES as INSTRUCTIONS
from emulator_instructions import COUNT, HEADER, kernel, operands
from emulator_instructions import Case as Instruction
from foreign import CASES, FOREIGN, Case


def execute(case: Case, name: str) -> list[np.ndarray]:
    """The outputs of one case on the GPU."""
    entry = cupy.RawModule(path=str(FOREIGN / f"{name}.ptx")).get_function(case.kernel)
    held = [cupy.asarray(x) for x in (*case.inputs, *case.outputs)]
    entry(case.grid, case.block, (*held, *(np.int32(v) for v in case.numbers)), shared_mem=case.shared)
    return [cupy.asnumpy(x) for x in held[len(case.inputs) :]]


def foreign() -> dict[str, str]:
    """A checksum for each kernel whose bits the ISA defines; the others are compared with their model."""
    found = {}
    for case in CASES:
        expected = [np.asarray(v) for v in case.model(*case.inputs, *case.outputs)]
        for name in case.files:
            if name.endswith("_sm100"):
                continue
            try:
                got = execute(case, name)
            except Exception:
                print(name, case.kernel, traceback.format_exc(limit=1))
                continue
            if case.close is None and not case.timely:
                found[f"{name} {case.kernel} {case.number}"] = f"{zlib.crc32(b''.join(x.tobytes() for x in got)):08x}"
            for k, (x, want) in enumerate(zip(got, expected, strict=True)):
                if case.close is not None:
                    wrong = np.flatnonzero(abs(x - want) > case.close * abs(want))
                else:
                    wrong = np.flatnonzero(x.view(f"u{x.itemsize}") != want.astype(x.dtype).view(f"u{x.itemsize}"))
                if wrong.size:
                    print(name, case.kernel, k, "differs from the model at", wrong[:8], x[wrong[:8]], want[wrong[:8]])
    return found


def instructions() -> dict[str, str]:
    """A checksum for each single instruction."""
    found = {}
    for case in INSTRUCTIONS:
        try:
            entry = _load(case)
        except cupy.cuda.driver.CUDADriverError as problem:
            print(case.text, problem)
            continue
        held = [cupy.asarray(x) for x in operands(case)]
        out = cupy.zeros(COUNT, np.uint64)
        held += [out] * (3 - len(held))
        entry((1, 1, 1), (COUNT, 1, 1), (*held[:3], out))
        found[case.text] = f"{zlib.crc32(cupy.asnumpy(out).tobytes()):08x}"
    return found


def _load(case: Instruction) -> cupy.RawKernel:
    """One instruction's kernel, in a file of its own: CuPy keeps modules by their paths."""
    with tempfile.NamedTemporaryFile("w", suffix=f"_{zlib.crc32(case.text.encode()):08x}.ptx") as scratch:
        scratch.write(HEADER + kernel(case))
        scratch.flush()
        return cupy.RawModule(path=scratch.name).get_function("k")


if __name__ == "__main__":
    for path, results in zip(sys.argv[1:], (foreign(), instructions()), strict=True):
        Path(path).write_text(json.dumps(results, indent=0) + "\n")
        print(path, len(results))
