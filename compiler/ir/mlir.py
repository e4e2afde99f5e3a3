"""The one file that imports the MLIR Python bindings; everything else imports MLIR names from here.

Two distributions carry the same modules: the official ``mlir`` package, used when it is installed and was built with
the NVPTX backend, and ``numba-cuda-mlir``, which ships them as ``numba_cuda_mlir._mlir``. Importing this module costs
about 0.2 s, so nothing that serves a cached artifact may import it.

The most frequent ops of ``arith`` and ``vector`` have builders here, in a third of the time of the bindings' own. The
generated ones make a view of each op, look for defaults and check segments: 4 us an op, of which a large kernel has ten
thousand. ``Operation.create`` alone takes 1.2 us.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module, metadata
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

from ..errors import error

_OFFICIAL = "mlir"
_BUNDLE = "numba_cuda_mlir"
_BUNDLED_LIBRARIES = ("libMLIRPythonCAPI.so", "libMLIRPythonSupport-numba_cuda_mlir.so")

# The smallest module that only serialises when LLVM was built with NVPTX.
_NVPTX_PROBE = 'gpu.module @probe [#nvvm.target<chip = "sm_75">] { llvm.func @f() { llvm.return } }'


class _DeferredPackage(ModuleType):
    """A package that imports its submodules without running its ``__init__``, which runs at the first use of a name.

    ``numba_cuda_mlir/__init__.py`` imports a whole CUDA compiler and cuda-python (0.3 s); we need one subpackage. Code
    elsewhere in the process that uses ``numba_cuda_mlir`` itself still finds it whole, at its first attribute. Names
    that only tools look for (``__wrapped__``, ``__warningregistry__``) do not count as use.
    """

    def __getattr__(self, name: str) -> object:
        hidden = name.startswith("__") and name not in ("__all__", "__version__")
        if hidden or self.__spec__ is None or self.__spec__.loader is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        # First, so that __init__ finds an ordinary package and this runs once.
        self.__class__ = ModuleType  # type: ignore[assignment]
        self.__spec__.loader.exec_module(self)
        return getattr(self, name)


def _defer_bundle() -> bool:
    """Puts the deferred package in place; False when the distribution is not installed."""
    if _BUNDLE in sys.modules:
        return True
    spec = importlib.util.find_spec(_BUNDLE)
    if spec is None or spec.origin is None:
        return False
    package = _DeferredPackage(_BUNDLE)
    package.__spec__, package.__loader__, package.__file__ = spec, spec.loader, spec.origin
    package.__package__, package.__path__ = _BUNDLE, list(spec.submodule_search_locations or ())
    sys.modules[_BUNDLE] = package
    _bind_own_symbols(Path(spec.origin).parent / "_mlir" / "_mlir_libs")
    return True


def _bind_own_symbols(libraries: Path) -> None:
    """Loads the bundled LLVM so that no other LLVM in the process (PyTorch, Triton) can replace its symbols.

    The package's own ``__init__`` does the same; loading a library twice is harmless.
    """
    if not sys.platform.startswith("linux"):
        return
    mode = os.RTLD_NOW | os.RTLD_LOCAL | getattr(os, "RTLD_DEEPBIND", 0)
    for name in _BUNDLED_LIBRARIES:
        if (libraries / name).exists():
            ctypes.CDLL(str(libraries / name), mode=mode)


def _has_nvptx(root: str) -> bool:
    """Whether the bindings under ``root`` import and can write PTX (about 10 ms)."""
    try:
        bindings = import_module(f"{root}.ir")
        manager = import_module(f"{root}.passmanager").PassManager
        with bindings.Context():
            module = bindings.Module.parse(_NVPTX_PROBE)
            manager.parse("builtin.module(gpu-module-to-binary{format=isa})").run(module.operation)
    except Exception:  # a placeholder package, an old build or one without the backend: all mean "not this one"
        return False
    return True


def _choose() -> tuple[str, str]:
    """The root of the bindings to use, and the name of the distribution that they came from."""
    if importlib.util.find_spec(_OFFICIAL) is not None and _has_nvptx(_OFFICIAL):
        return _OFFICIAL, "mlir-python-bindings"
    if _defer_bundle():
        return f"{_BUNDLE}._mlir", "numba-cuda-mlir"
    raise error("WF301")


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:  # a build tree on PYTHONPATH
        return "unknown"


# --- builders of the most frequent ops ---
BINARY = (
    "addf", "addi", "andi", "divf", "divsi", "divui", "maximumf", "maxsi", "maxui", "minimumf", "minsi", "minui",
    "mulf", "muli", "ori", "remf", "remsi", "remui", "shli", "shrsi", "shrui", "subf", "subi", "xori",
)  # fmt: skip
"""Ops of two operands whose result has the type of the first one."""
CASTS = ("bitcast", "extf", "extsi", "extui", "index_cast", "sitofp", "trunci", "truncf", "uitofp")
"""Ops of one operand whose result's type is given."""


def arith_builders(generated: ModuleType, ir: Any) -> SimpleNamespace:
    """The names of the module ``generated`` of the bindings, with quick builders for the ops above and a few others.

    A call with keywords, such as ``fastmath``, goes to the generated builder.
    """
    create = ir.Operation.create

    def binary(name: str, otherwise: Callable[..., Any]) -> Callable[..., Any]:
        def build(a: Any, b: Any, **how: Any) -> Any:
            return otherwise(a, b, **how) if how else create(name, [a.type], [a, b]).result

        return build

    def cast(name: str) -> Callable[..., Any]:
        return lambda t, x: create(name, [t], [x]).result

    def comparison(name: str, otherwise: Callable[..., Any]) -> Callable[..., Any]:
        def build(predicate: int, a: Any, b: Any) -> Any:
            t = a.type
            if isinstance(t, ir.RankedTensorType):
                return otherwise(predicate, a, b)
            i1, i64 = ir.IntegerType.get_signless(1), ir.IntegerType.get_signless(64)
            truth = ir.VectorType.get(t.shape, i1) if isinstance(t, ir.VectorType) else i1
            return create(name, [truth], [a, b], {"predicate": ir.IntegerAttr.get(i64, int(predicate))}).result

        return build

    def constant(t: Any, value: Any) -> Any:
        if not isinstance(value, ir.Attribute):
            return generated.constant(t, value)
        return create("arith.constant", [t], [], {"value": value}).result

    def select(condition: Any, a: Any, b: Any) -> Any:
        return create("arith.select", [a.type], [condition, a, b]).result

    def negf(x: Any, **how: Any) -> Any:
        return generated.negf(x, **how) if how else create("arith.negf", [x.type], [x]).result

    quick: dict[str, Any] = {name: binary(f"arith.{name}", getattr(generated, name)) for name in BINARY}
    quick |= {name: cast(f"arith.{name}") for name in CASTS}
    quick |= {name: comparison(f"arith.{name}", getattr(generated, name)) for name in ("cmpf", "cmpi")}
    return SimpleNamespace(**vars(generated) | quick | {"constant": constant, "select": select, "negf": negf})


def vector_builders(generated: ModuleType, ir: Any) -> SimpleNamespace:
    """The names of the module ``generated`` of the bindings, with a quick builder for one element of a fragment."""
    create, at = ir.Operation.create, ir.DenseI64ArrayAttr.get

    def extract(source: Any, dynamic: Sequence[Any], position: Sequence[int]) -> Any:
        if dynamic:
            return generated.extract(source, dynamic, position)
        how = {"static_position": at(position)}
        return create("vector.extract", [source.type.element_type], [source], how).result

    return SimpleNamespace(**vars(generated) | {"extract": extract})


_ROOT, BINDINGS_NAME = _choose()
BINDINGS_VERSION = _version(BINDINGS_NAME)
# Of each dialect the bindings import a module, and for one that has none they search the disk at every op again.
sys.modules.setdefault(f"{_ROOT}.dialects.fold", ModuleType(f"{_ROOT}.dialects.fold"))

if TYPE_CHECKING:  # the bindings carry no types: to the checker these names are Any, whichever package they come from
    from numba_cuda_mlir._mlir import ir, passmanager, rewrite
    from numba_cuda_mlir._mlir.dialects import (
        arith,
        builtin,
        cf,
        ext,
        func,
        gpu,
        llvm,
        math,
        memref,
        nvvm,
        scf,
        tensor,
        vector,
    )
    from numba_cuda_mlir._mlir.dialects.transform import interpreter as transform_interpreter
else:
    ir = import_module(f"{_ROOT}.ir")
    passmanager = import_module(f"{_ROOT}.passmanager")
    rewrite = import_module(f"{_ROOT}.rewrite")
    arith = arith_builders(import_module(f"{_ROOT}.dialects.arith"), ir)
    builtin = import_module(f"{_ROOT}.dialects.builtin")
    cf = import_module(f"{_ROOT}.dialects.cf")
    ext = import_module(f"{_ROOT}.dialects.ext")
    func = import_module(f"{_ROOT}.dialects.func")
    gpu = import_module(f"{_ROOT}.dialects.gpu")
    llvm = import_module(f"{_ROOT}.dialects.llvm")
    math = import_module(f"{_ROOT}.dialects.math")
    memref = import_module(f"{_ROOT}.dialects.memref")
    nvvm = import_module(f"{_ROOT}.dialects.nvvm")
    scf = import_module(f"{_ROOT}.dialects.scf")
    tensor = import_module(f"{_ROOT}.dialects.tensor")
    vector = vector_builders(import_module(f"{_ROOT}.dialects.vector"), ir)
    transform_interpreter = import_module(f"{_ROOT}.dialects.transform.interpreter")

__all__ = [
    "BINDINGS_NAME",
    "BINDINGS_VERSION",
    "arith",
    "builtin",
    "cf",
    "ext",
    "func",
    "gpu",
    "ir",
    "llvm",
    "math",
    "memref",
    "nvvm",
    "passmanager",
    "rewrite",
    "scf",
    "tensor",
    "transform_interpreter",
    "vector",
]
