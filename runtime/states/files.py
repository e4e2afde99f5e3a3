"""Files of states: ``.npz`` archives of NumPy, with the values of the state, and what they are values of.

The entry ``state`` is JSON: a format, the digest of the reduction, and the fields of ``State`` that are not arrays.
Element types that NumPy lacks are stored as unsigned integers of as many bits.
"""

from __future__ import annotations

import io
import json
import os
import sys
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...compiler import files
from ...compiler.dtypes import BY_NAME
from ...compiler.errors import error
from ...compiler.program.frames import caller, outermost
from ..arrays.conversion import to_numpy
from ..arrays.dask_arrays import in_dask
from ..arrays.torch_compile import opaque
from .parts import TOO_MANY, cut_of, how_of
from .state import State

FORMAT = "warpfold state 3"
MOST = 1 << 40
"""The most bytes of a file: states are as large as results, which no bound of ours holds."""
_HOW = how_of("", "", "")
"""The names of the options that a state has."""


def save(state: State, path: str | os.PathLike[str], source: Any = None) -> None:
    """Writes a state, beside which ``source``, as JSON, may say what its elements were read from.

    Raises:
        FileError: WF505 for a path that cannot be written.
    """
    cut = state.cut
    about = {
        "format": FORMAT, "digest": cut.digest, "name": cut.name, "arrays": [t.name for t in cut.arrays],
        "masked": cut.masked, "nan": cut.nan, "count": state.count, "start": state.start, "rank": state.rank,
        "axes": state.axes, "inner": state.inner, "how": dict(state.how), "source": source,
    }  # fmt: skip
    read = sys.modules["dask"].compute(*state.values) if in_dask(state.values) else state.values
    values = {f"value{i}": _stored(to_numpy(v)) for i, v in enumerate(read)}
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
    return loaded(path, what, params)[0]


def loaded(path: str | os.PathLike[str], what: Any, params: Mapping[str, Any]) -> tuple[State, Any]:
    """A state, and what ``save`` was given to say of its source; raises as ``load_state``."""
    about, values = _read(path)
    types = tuple(BY_NAME[name] for name in about["arrays"])
    cut = cut_of(what, types[: len(types) - about["masked"]], params, masked=about["masked"], nan=about["nan"])
    if cut.digest != about["digest"]:
        alike = about["name"] == cut.name
        expected = f"{cut.name} with the parameters, types and functions given here" if alike else cut.name
        raise error("WF163", path=path, found=about["name"], expected=expected, where=caller())
    own, kept = cut.monoid.state, about["rank"] - len(about["axes"])
    shapes = {v.shape for v in values}
    if len(own) != len(values) or len(shapes) != 1 or len(values[0].shape) != kept:
        reason = f"it has {len(values)} values of shapes {shapes}: expected {len(own)} of one shape with {kept} axes"
        raise error("WF512", path=path, reason=reason)
    for v, t in zip(values, own, strict=True):
        if v.dtype != _stored(np.empty(0, t.numpy)).dtype:
            raise error("WF512", path=path, reason=f"it has a value of {v.dtype}: expected {t.numpy_name}")
    typed = tuple(v.view(t.numpy) for v, t in zip(values, own, strict=True))
    state = State(
        typed, about["count"], about["start"], about["rank"], tuple(about["axes"]), cut, how_of(**about["how"]),
        tuple(about["inner"]),
    )  # fmt: skip
    return state, about["source"]


def _read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], list[np.ndarray[Any, Any]]]:
    """The JSON of a file, whose fields have the types that ``save`` gives them, and the arrays beside it."""
    data = files.read(path, "WF501", MOST)
    if not (data.startswith(b"PK") and zipfile.is_zipfile(io.BytesIO(data))):
        raise error("WF512", path=path, reason="it is no archive of arrays, as .npz files are, or is cut short")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            found = {entry.filename.removesuffix(".npy"): _array(archive, entry) for entry in archive.infolist()}
        about = json.loads(str(found.pop("state")))
        _check(about)
        return about, [found[f"value{i}"] for i in range(len(found))]
    except Exception as e:  # whatever NumPy, zipfile and json raise of bytes that they do not expect
        reason = f"it has no {e}" if isinstance(e, KeyError) else str(e) or type(e).__name__
        raise error("WF512", path=path, reason=reason) from e


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> np.ndarray[Any, Any]:
    """An array of the archive, whose bytes have the checksum that is beside them."""
    if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size:
        raise ValueError(f"{entry.filename} is compressed: expected arrays as they are")
    data = io.BytesIO(archive.read(entry))
    found: np.ndarray[Any, Any] = np.lib.format.read_array(data, allow_pickle=False)
    if data.read(1):
        raise ValueError(f"{entry.filename} has bytes behind its array")
    return found


def _check(about: Any) -> None:
    """Checks the fields of a state; ValueError for what ``save`` does not write, KeyError for what is missing."""
    if about["format"] != FORMAT:
        raise ValueError(f"its format is {about['format']!r}, of another version: expected {FORMAT!r}")
    count, start, rank = (_number(about, name) for name in ("count", "start", "rank"))
    axes, inner, names, how = about["axes"], about["inner"], about["arrays"], about["how"]
    masked = about["masked"]
    sound = {
        "count": count + start < TOO_MANY,
        "axes": _numbers(axes) and axes == sorted({*axes}) and all(a < rank for a in axes),
        "inner": _numbers(inner) and len(inner) == max(len(axes) - 1, 0),
        "arrays": isinstance(names, list) and len(names) > masked and all(n in BY_NAME for n in names),
        "masked": isinstance(masked, bool),
        "nan": about["nan"] in ("propagate", "ignore"),
        "how": {*how} == {name for name, _ in _HOW} and all(isinstance(own, str) for own in how.values()),
        "name": isinstance(about["name"], str) and isinstance(about["digest"], str),
    }
    for name, well in sound.items():
        if not well:
            raise ValueError(f"its {name} is {about[name]!r}")
    if "source" not in about:
        raise KeyError("source")


def _number(about: dict[str, Any], name: str) -> int:
    if type(about[name]) is not int or about[name] < 0:
        raise ValueError(f"its {name} is {about[name]!r}: expected a number from 0 on")
    return int(about[name])


def _numbers(found: Any) -> bool:
    return isinstance(found, list) and all(type(n) is int and n >= 0 for n in found)
