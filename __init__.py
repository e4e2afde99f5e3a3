"""warpfold: reductions written in Python, lowered stage by stage to PTX, run on a GPU or on the PTX emulator.

>>> import warpfold as wf
>>> @wf.monoid(identity=0)
... def total(a, b):
...     return a + b

Names are imported when first used, so that ``import warpfold`` costs little and loads neither MLIR nor CUDA.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .compiler.program.public_names import COMPOSITIONS, ELEMENTWISE, MONOIDS, PACKING, PROGRAMS, REDUCTIONS, STATES

__version__ = "0.1.0"
__path__.append(f"{__path__[0]}/runtime/torch_modules/alias")  # where ``warpfold.torch`` is

_HOME = {
    **dict.fromkeys(("Sym",), ".compiler.program.symbols"),
    **dict.fromkeys(("fold",), ".compiler.program.public_fold"),
    **dict.fromkeys(("cast", *ELEMENTWISE, *COMPOSITIONS), ".runtime.programs.elementwise"),
    **dict.fromkeys(MONOIDS, ".compiler.program.library.monoids"),
    **dict.fromkeys(REDUCTIONS, ".runtime.named_reductions"),
    **dict.fromkeys(("reduce", "compile"), ".runtime.api"),
    **dict.fromkeys(PACKING, ".runtime.programs.packing"),
    **dict.fromkeys(("program", "ArrayFunction"), ".runtime.programs.function"),
    **dict.fromkeys(PROGRAMS, ".runtime.programs.library"),
    **dict.fromkeys(("scan",), ".runtime.programs.scans"),
    **dict.fromkeys(("stop_gradient", "value_and_grad", "vjp"), ".runtime.programs.gradients"),
    **dict.fromkeys(("Compiled",), ".runtime.programs.compiled"),
    **dict.fromkeys(("load",), ".runtime.load"),
    **dict.fromkeys(("Tuned", "autotune"), ".runtime.tuning.autotune"),
    **dict.fromkeys(("unique",), ".runtime.unique"),
    **dict.fromkeys(STATES, ".runtime.states.calls"),
    "State": ".runtime.states.state",
    "load_state": ".runtime.states.files",
    **dict.fromkeys(("bincount", "histogram"), ".runtime.histograms"),
    **dict.fromkeys(("segment_reduce",), ".runtime.segments"),
    **dict.fromkeys(("Monoid", "monoid"), ".compiler.program.monoid"),
    "First": ".compiler.program.structure",
    **dict.fromkeys(("Laws", "check_monoid"), ".compiler.laws.check"),
    **dict.fromkeys(("count", "index"), ".compiler.program.fold"),
    "DType": ".compiler.dtypes",
    "dtype": ".compiler.program.dtype_names",
    **dict.fromkeys(("Plan",), ".compiler.plan.plan"),
    **dict.fromkeys(("WarpfoldError", "WarpfoldWarning"), ".compiler.errors"),
}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None and name.startswith("__"):  # what Python and its tools ask every module for
        raise AttributeError(f"module 'warpfold' has no attribute {name!r}")
    if home is None:
        from .compiler.program.spelling import missing

        raise missing(name, __all__)
    import_module(".compiler.exclusive", __name__)  # first: from then on a fork waits for what other threads import
    value = getattr(import_module(home, __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
