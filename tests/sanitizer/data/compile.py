"""Compiles the CUDA C++ beside this file to the PTX beside it; needs nvcc (package nvidia-cuda-nvcc) and no GPU."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent


def nvcc() -> Path:
    """The compiler of the installed package."""
    found = find_spec("nvidia")
    places = [Path(p) for p in found.submodule_search_locations or ()] if found else []
    for place in places:
        for path in sorted(place.glob("*/bin/nvcc")):
            return path
    raise SystemExit("expected nvcc; install nvidia-cuda-nvcc")


def compile_ptx(source: Path) -> str:
    """The PTX of ``source`` for sm_90, with the lines of the source, and without this machine's paths."""
    out = source.with_suffix(".tmp")
    words = ["-ptx", "-arch=sm_90", "-std=c++17", "-lineinfo", "-o", str(out), str(source)]
    subprocess.run([str(nvcc()), *words], check=True)
    text = out.read_text()
    out.unlink()
    text = text[: text.index("\t.file")] + f'\t.file\t1 "{source.name}"\n'
    text = re.sub(r"^//.*\n|^\t// .*\n|^\n", "", text, flags=re.MULTILINE)
    text = re.sub(
        r"^\.version .*", ".version 8.0", text, flags=re.MULTILINE
    )  # it asks for no more; older drivers read it
    return re.sub(r"^\t\.loc\t.*\n", _place, text, flags=re.MULTILINE)


def _place(directive: re.Match[str]) -> str:
    """A line directive without inlined functions: the first place in the source itself, which is its file 1."""
    found = re.search(r"(?:\.loc\t|inlined_at )1 (\d+) (\d+)", directive.group())
    return f"\t.loc\t1 {found[1]} {found[2]}\n" if found and found[1] != "0" else ""


if __name__ == "__main__":
    for name in sys.argv[1:] or [p.name for p in sorted(HERE.glob("*.cu"))]:
        path = HERE / name
        path.with_suffix(".ptx").write_text(compile_ptx(path))
