"""The public interface as type checkers and editors see it, ``__init__.pyi``, from what the package is at run time.

There names are imported when they are first used, and the reductions are made of one table, which no checker can see.
``python tests/interface.py`` writes the file; ``tests/test_interface.py`` compares it.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import warpfold as wf
from warpfold.compiler.dtypes import F32
from warpfold.compiler.program.library.reductions import FUNCTIONS
from warpfold.compiler.program.tracing import Structure, trace
from warpfold.runtime.programs.elementwise import OF_ARRAYS

STUB = Path(__file__).parent.parent / "__init__.pyi"
HEAD = '''\
"""The public interface of warpfold for type checkers and editors. Written by ``python tests/interface.py``."""

from collections.abc import Sequence
from typing import Any, NamedTuple

'''
UNNAMED = ("vecdot", "dot", "array_equal")
"""Reductions with a function of their own."""


def imports() -> Iterator[str]:
    """The names that are functions and classes of some module."""
    written = {*FUNCTIONS, *OF_ARRAYS} - {*UNNAMED}
    homes = {name: home for name, home in wf._HOME.items() if name not in written}
    for home, names in groupby(sorted(homes, key=lambda n: (homes[n], n)), lambda n: homes[n]):
        yield f"from {home} import (\n" + "".join(f"    {n} as {n},\n" for n in names) + ")\n"


def results(name: str) -> Structure:
    """How the results of a built-in reduction nest."""
    arrays = [p for p in inspect.signature(FUNCTIONS[name]).parameters.values() if p.kind is not p.KEYWORD_ONLY]
    return trace(FUNCTIONS[name], (F32,) * len(arrays), {}, name=name).structure


def reduction(name: str) -> Iterator[str]:
    """A built-in reduction, and the class of its results if it has several."""
    structure, result = results(name), "Any"
    if not isinstance(structure, int):
        result = "_" + name.title().replace("_", "")
        yield f"class {result}(NamedTuple):\n" + "".join(f"    {field}: Any\n" for field in structure[1])
    yield function(name, result, inspect.getdoc(FUNCTIONS[name]) or "")


def function(name: str, result: str, doc: str) -> str:
    """A function of the package, with the summary of its docstring."""
    text = []
    parameters = list(inspect.signature(getattr(wf, name)).parameters.values())
    for last, p in zip([None, *parameters], parameters, strict=False):
        if p.kind is p.KEYWORD_ONLY and (last is None or last.kind is not p.KEYWORD_ONLY):
            text.append("*")
        quoted = f'"{p.default}"' if isinstance(p.default, str) else repr(p.default)
        default = "" if p.default is p.empty else f" = {quoted}"
        kind = "int | Sequence[int] | None" if p.annotation == "Axis" else p.annotation
        text.append(f"{p.name}: {kind}{default}")
    lines = "".join(f"    {t},\n" for t in text)
    return f'def {name}(\n{lines}) -> {result}:\n    """{doc.splitlines()[0]}"""\n'


def text() -> str:
    """The whole file."""
    made = [t for name in FUNCTIONS if name in wf.__all__ and name not in UNNAMED for t in reduction(name)]
    made += [function(name, "Any", inspect.getdoc(f) or "") for name, f in sorted(OF_ARRAYS.items())]
    return HEAD + "".join(imports()) + "\n__version__: str\n\n" + "\n".join(made)


if __name__ == "__main__":
    STUB.write_text(text(), encoding="utf-8")
