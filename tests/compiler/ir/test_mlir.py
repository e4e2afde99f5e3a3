"""The choice of the MLIR bindings: its cost, its side effects, and the error when there are none."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_HIDE = """
import sys
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name in {hidden!r}:
            raise ModuleNotFoundError(name)
import importlib.util as util
real = util.find_spec
util.find_spec = lambda name, package=None: None if name in {hidden!r} else real(name, package)
sys.meta_path.insert(0, Hide())
"""


def run(code: str, *, path: Path | None = None) -> str:
    """The output of ``code`` in a fresh interpreter that also imports from ``path``."""
    prelude = f"import sys; sys.path.insert(0, {str(path)!r})\n" if path else ""
    done = subprocess.run([sys.executable, "-c", prelude + code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_the_bindings_brings_no_cuda_and_no_kernel_compiler() -> None:
    out = run(
        "import sys\n"
        "from warpfold.compiler.ir import mlir\n"
        "print(sorted(m for m in sys.modules if m.split('.')[0] == 'cuda' or m == 'numba_cuda_mlir.compiler'))\n"
    )
    assert out == "[]\n"


def test_the_package_that_carries_the_bindings_stays_usable() -> None:
    out = run(
        "from warpfold.compiler.ir import mlir\n"
        "import numba_cuda_mlir\n"
        "print(numba_cuda_mlir.__version__ == mlir.BINDINGS_VERSION or mlir.BINDINGS_NAME)\n"
        "from numba_cuda_mlir import cuda\n"
        "from numba_cuda_mlir._mlir import ir\n"
        "print(callable(cuda.jit), ir is mlir.ir)\n"
    )
    assert out == "True\nTrue True\n"


def test_the_package_may_be_imported_first() -> None:
    assert run("import numba_cuda_mlir\nfrom warpfold.compiler.ir import mlir\nprint(mlir.BINDINGS_NAME)\n") != ""


def test_a_placeholder_package_named_mlir_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "mlir").mkdir()
    (tmp_path / "mlir" / "__init__.py").write_text("")
    assert (
        run("from warpfold.compiler.ir import mlir\nprint(mlir.BINDINGS_NAME)\n", path=tmp_path) == "numba-cuda-mlir\n"
    )


def test_an_official_package_with_nvptx_is_preferred(tmp_path: Path) -> None:
    """Stands in for the official wheel: a package ``mlir`` whose modules are the bundled ones."""
    (tmp_path / "mlir").mkdir()
    (tmp_path / "mlir" / "__init__.py").write_text(
        "import sys, importlib\n"
        "names = ['ir', 'passmanager', 'rewrite', 'dialects'] + ['dialects.' + d for d in"
        " 'arith builtin cf ext func gpu llvm math memref nvvm scf tensor transform vector'.split()]\n"
        "names += ['dialects.transform.interpreter']\n"
        "for name in names:\n"
        "    sys.modules['mlir.' + name] = importlib.import_module('numba_cuda_mlir._mlir.' + name)\n"
    )
    out = run("from warpfold.compiler.ir import mlir\nprint(mlir.BINDINGS_NAME)\n", path=tmp_path)
    assert out == "mlir-python-bindings\n"


def test_no_bindings_is_a_coded_error_with_the_command_to_run() -> None:
    hide = _HIDE.format(hidden=("mlir", "numba_cuda_mlir"))
    out = run(
        hide + "from warpfold.compiler.errors import CompileError\n"
        "try:\n"
        "    from warpfold.compiler.ir import mlir\n"
        "except CompileError as e:\n"
        "    print(e)\n"
    )
    assert out.startswith("WF301: no MLIR bindings")
    assert "python -m pip install 'numba-cuda-mlir" in out
