"""Files of states: ``.npz`` archives of NumPy, with the values of the state, and what they are values of.

The entry ``state`` is JSON: a format, the digest of the reduction, and the fields of ``State`` that are not arrays.
Element types that NumPy lacks are stored as unsigned integers of as many bits.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from typing import Any

import numpy as np

from ...compiler import files
from ...compiler.errors import error
from ...compiler.program.dtype_names import dtype
from ...compiler.program.frames import caller, outermost
from ..arrays.conversion import to_numpy
from ..arrays.torch_compile import opaque
from .parts import cut_of, how_of
from .state import State

FORMAT = "warpfold state 2"
MOST = 1 << 40
"""The most bytes of a file: states are as large as results, which no bound of ours holds."""


def save(state: State, path: str | os.PathLike[str]) -> None:
    """Writes a state.

    Raises:
        FileError: WF505 for a path that cannot be written.
    """
    cut = state.cut
    about = {
        "format": FORMAT, "digest": cut.digest, "name": cut.name, "arrays": [t.name for t in cut.arrays],
        "masked": cut.masked, "nan": cut.nan, "count": state.count, "start": state.start, "rank": state.rank,
        "axes": state.axes, "how": dict(state.how),
    }  # fmt: skip
    values = {f"value{i}": _stored(to_numpy(v)) for i, v in enumerate(state.values)}
    files.write(path, lambda f: np.savez(f, state=np.array(json.dumps(about)), **values))  # type: ignore[arg-type]


def _stored(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """An array in a type that NumPy's files name."""
    return a.view(f"u{a.dtype.itemsize}") if a.dtype.kind == "V" else a


@opaque
@outermost
def load_state(path: str | os.PathLike[str], what: Any, **params: Any) -> State:
    """Reads a state that ``State.save`` wrote; its values are arrays of NumPy.

    Args:
        path: the file.
        what: the reduction of the state: a file holds no functions.
        params: the keyword parameters that it had.

    Raises:
        FileError: WF501 for an unreadable file, WF512 for one that is no state, or whose parts do not fit together.
        ArgumentError: WF163 for a state of another reduction.
    """
    about, values = _read(path)
    types = tuple(map(dtype, about["arrays"]))
    cut = cut_of(what, types[: len(types) - about["masked"]], params, masked=about["masked"], nan=about["nan"])
    if cut.digest != about["digest"]:
        alike = about["name"] == cut.name
        expected = f"{cut.name} with the parameters, types and functions given here" if alike else cut.name
        raise error("WF163", path=path, found=about["name"], expected=expected, where=caller())
    own = cut.monoid.state
    if len(own) != len(values) or len({v.shape for v in values}) != 1:
        raise error("WF512", path=path, reason=f"it has {len(values)} values: expected {len(own)} of one shape")
    typed = tuple(v.view(t.numpy) if v.dtype != t.numpy else v for v, t in zip(values, own, strict=True))
    return State(
        typed, about["count"], about["start"], about["rank"], tuple(about["axes"]), cut, how_of(**about["how"])
    )


def _read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], list[np.ndarray[Any, Any]]]:
    """The JSON of a file, and the arrays beside it."""
    data = files.read(path, "WF501", MOST)
    if not (data.startswith(b"PK") and zipfile.is_zipfile(io.BytesIO(data))):  # NumPy takes others for a pickle
        raise error("WF512", path=path, reason="it is no archive of arrays, as .npz files are, or is cut short")
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as found:
            about = json.loads(str(found["state"]))
            if about["format"] != FORMAT:
                raise ValueError(f"its format is {about['format']!r}, of another version: expected {FORMAT!r}")
            names = [name for name in found.files if name != "state"]
            return about, [found[f"value{i}"] for i in range(len(names))]
    except (LookupError, TypeError, ValueError, EOFError, OSError, zipfile.BadZipFile) as e:
        reason = e.args[0] if isinstance(e, KeyError) else e  # the text of a KeyError is quoted
        raise error("WF512", path=path, reason=reason) from e
