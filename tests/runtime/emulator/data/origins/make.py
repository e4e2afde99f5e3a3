"""Makes the PTX beside this file, with lines, from the sources beside it: by nvcc, and by Triton. Needs no GPU.

python make.py --nvcc PATH    # an environment with triton 3.6, and nvcc as data/foreign/compile.py says
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent


def plain(text: str) -> str:
    """``text`` without folders, which differ elsewhere, and without DWARF, which nobody reads here."""
    text = re.sub(r'"[^"\n]*/([^"/\n]+)"', r'"\1"', text)
    text = re.sub(r"^\t\.section\t\.debug_(?!str)\w+\n\t\{.*?\n\t\}\n", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"// Compiler Build ID.*\n", "", text)


def by_nvcc(nvcc: str, *flags: str) -> str:
    """The PTX of ``lines.cu``."""
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch, "made.ptx")
        command = [nvcc, "-ptx", "-std=c++17", "-arch=compute_90a", "-lineinfo", *flags, "-o", str(made), "lines.cu"]
        subprocess.run(command, cwd=HERE, check=True, timeout=120)
        return plain(made.read_text())


def by_triton() -> str:
    """The PTX of ``rows.py``, for rows of up to 1024."""
    os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp()
    sys.path.insert(0, str(HERE))
    from rows import row_share
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource, compile

    types = {"x": "*fp32", "sums": "*fp32", "shares": "*fp32", "columns": "i32", "BLOCK": "constexpr"}
    source = ASTSource(fn=row_share, signature=types, constexprs={"BLOCK": 1024})
    return plain(compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4}).asm["ptx"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvcc", default="nvcc")
    found = parser.parse_args()
    (HERE / "lines.ptx").write_text(by_nvcc(found.nvcc))
    (HERE / "lines_race.ptx").write_text(by_nvcc(found.nvcc, "-DRACE"))
    (HERE / "rows.ptx").write_text(by_triton())
