"""Compiles the CUDA C++ beside this file to the PTX beside it, for every target that each source makes sense for.

    python -m venv cuda && cuda/bin/pip install nvidia-cuda-nvcc nvidia-cuda-crt nvidia-cuda-runtime nvidia-nvvm
    python compile.py --nvcc cuda/lib/python3*/site-packages/nvidia/cu13/bin/nvcc [--check] [source ...]

No GPU is needed. ``--check`` compares instead of writing. The committed files come from nvcc 13.0.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
ALL = (75, 80, 90, 100)
TARGETS = {75: "75", 80: "80", 90: "90a", 100: "100a"}
SOURCES: dict[str, tuple[int, ...]] = {
    "async_copies": (80, 90),
    "atomics": (75, 90),
    "bits": (75, 100),
    "clusters": (90, 100),
    "constants": (75, 90),
    "divergence": ALL,
    "doubles": (75, 90),
    "fragments": (100,),
    "functions": (75, 90),
    "groups": (100,),
    "halves": (75, 90),
    "integers": (75, 100),
    "lacking": (90,),
    "last_block": ALL,
    "locals": (75, 90),
    "loops": (75, 90),
    "math": (80,),
    "matrices": (75, 90),
    "mbarriers": (80, 90, 100),
    "orders": (75, 90),
    "products": (75, 80, 90),
    "roundings": (75, 90),
    "shuffles": (75, 90),
    "switches": (75, 90),
    "tails": (75, 90),
    "trees": ALL,
    "vector_atomics": (90,),
    "vectors": (75, 100),
    "votes": (75, 80, 90),
}
"""Source name to the targets it is compiled for."""

DEBUG = ("async_copies", "constants", "divergence", "functions", "last_block", "locals", "loops", "shuffles", "trees")
"""Compiled once more with --device-debug: no optimisation, everything in local memory, debug sections."""

VARIANTS: dict[str, tuple[str, int, tuple[str, ...]]] = {
    "roundings_ftz": ("roundings", 90, ("--ftz=true",)),
}
"""Other outputs: their source, target and flags."""


def outputs() -> dict[str, tuple[str, int, tuple[str, ...]]]:
    """Every output name, with the source, target and flags that make it."""
    found: dict[str, tuple[str, int, tuple[str, ...]]] = {}
    for source, targets in SOURCES.items():
        found |= {f"{source}_sm{target}": (source, target, ()) for target in targets}
    for source in DEBUG:
        found[f"{source}_debug"] = (source, max(t for t in SOURCES[source] if t <= 90), ("--device-debug",))
    return found | VARIANTS


def compile_one(nvcc: str, source: str, target: int, flags: tuple[str, ...]) -> str:
    """The PTX of one source; paths and the build's number, which would differ elsewhere, are taken out."""
    arch = f"-arch=compute_{TARGETS[target]}"
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch) / "made.ptx"
        command = [nvcc, "-ptx", "-std=c++17", arch, *flags, "-o", str(made), f"{source}.cu"]
        subprocess.run(command, cwd=HERE, check=True, timeout=120)
        text = made.read_text()
    text = re.sub(r'"[^"\n]*/([^"/\n]+)"', r'"\1"', text)
    return re.sub(r"// Compiler Build ID.*\n", "", text)


def main() -> int:
    """Writes (or compares) the outputs of the sources named, or of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("source", nargs="*")
    options = parser.parse_args()
    different = []
    for name, (source, target, flags) in outputs().items():
        if options.source and source not in options.source:
            continue
        path, text = HERE / f"{name}.ptx", compile_one(options.nvcc, source, target, flags)
        if not options.check:
            path.write_text(text)
        elif path.read_text() != text:
            different.append(name)
    if different:
        print(f"compiled differently: {', '.join(different)}")
    return bool(different)


if __name__ == "__main__":
    sys.exit(main())
