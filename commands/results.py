"""Results of a run: in words, as plain values for JSON, and as a ``.npy`` or ``.npz`` file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..compiler.dtypes import DType
from ..compiler.errors import error
from .checking import reference
from .checking.evaluate import parts
from .output_file import Output
from .requests.inputs import Array

SMALL = 8
"""Greatest number of elements of a result that is shown in full."""
IN_JSON = 64
"""Greatest number of elements of a result that JSON contains."""
NPZ = ".npz"


def result_lines(
    labels: Sequence[str], types: Sequence[DType], results: Sequence[Array], checks: Sequence[reference.Check] | None
) -> list[tuple[str, object]]:
    """Type, value and check of each result; ``checks`` are empty where they were left out, None where none is made."""
    lines: list[tuple[str, object]] = []
    for i, (label, t, result) in enumerate(zip(labels, types, results, strict=True)):
        lines.append((f"result {label}".rstrip(), f"{t.name}{list(result.shape)}"))
        lines.append((f"value {label}".rstrip(), _value(result)))
        if checks is not None:
            said = verdict(result, checks[i]) if checks else "left out (--no-check)"
            lines.append((f"check {label}".rstrip(), said))
    return lines


def result_facts(
    labels: Sequence[str], types: Sequence[DType], results: Sequence[Array], checks: Sequence[reference.Check]
) -> list[dict[str, object]]:
    """The results as plain values, with the elements of small ones."""
    return [
        {
            "name": label, "dtype": t.name, "shape": list(r.shape), **value_facts(r, "FILE.npy"),
            **(_check_facts(checks[i]) if checks else {}),
        }
        for i, (label, t, r) in enumerate(zip(labels, types, results, strict=True))
    ]  # fmt: skip


def value_facts(result: Array, output: str) -> dict[str, object]:
    """The elements of a small array; of another one None, and why, with the ``output`` that has them."""
    if result.size <= IN_JSON:
        return {"value": _plain(result)}
    return {"value": None, "left_out": f"{result.size} elements, more than {IN_JSON}: --output {output} has them"}


class ResultFile(Output):
    """A file of results: ``.npz`` for an array each, else one array as ``.npy``.

    Raises:
        FileError: WF505; WF865 for a name that ends as files of another kind do.
    """

    def __init__(self, path: str, inputs: Sequence[str] = ()) -> None:
        super().__init__(path, inputs)
        if self.path.suffix not in ("", ".npy", NPZ):
            raise error("WF865", path=path, found=self.path.suffix)

    def save(self, name: str, labels: Sequence[str], results: Sequence[Array]) -> None:
        """Writes results, of which a single one is called ``name``.

        In one array several are fields of a structured array, so that each keeps its type.
        """
        if self.path.suffix == NPZ:
            own = dict(zip([label or name for label in labels], results, strict=True))
            self.write(lambda f: np.savez(f, **own))  # type: ignore[arg-type]
            return
        whole = results[0] if len(results) == 1 else _fields(labels, results)
        self.write(lambda f: np.save(f, whole, allow_pickle=False))


def _fields(labels: Sequence[str], results: Sequence[Array]) -> Array:
    """Results of one shape as a structured array."""
    whole = np.empty(results[0].shape, [(label, r.dtype) for label, r in zip(labels, results, strict=True)])
    for label, result in zip(labels, results, strict=True):
        whole[label] = result
    return whole


def _value(result: Array) -> str:
    """A result as text, shortened if it is large: at three axes its first and last elements take nine lines."""
    return np.array2string(result, threshold=SMALL, edgeitems=3 if result.ndim < 3 else 1, max_line_width=100)


def verdict(result: Array, check: reference.Check) -> str:
    """The outcome of a check in words."""
    if check.unknown == result.size > 0:
        return "not checked: partial results overflow their type, so nothing can be said of the result"
    if check.exact or not np.isfinite(check.allowed):  # equal although it overflows
        said = "equal to NumPy's" if check.passed else "not equal to NumPy's"
    else:
        within = "within" if check.passed else "beyond"
        share = f" ({check.relative:.2g} of the greatest result)" if check.error else ""
        said = f"error {check.error:.3g}{share}, {within} the allowed {check.allowed:.3g}"
    if check.unknown:
        said += f"; nothing can be said of {check.unknown} element(s), which rounding or an overflow may change"
    if check.passed:
        return f"passed: {said}"
    place = check.worst or 0
    got, expected = result.reshape(-1)[place], check.reference.reshape(-1)[place]
    index = tuple(int(i) for i in np.unravel_index(place, result.shape))
    return f"FAILED: {said}\nat {index}: got {got}, expected {expected}"


def _plain(result: Array) -> Any:
    """A result as plain values, for JSON: a complex number is a list of its two parts."""
    return np.stack(parts(result), axis=-1).tolist() if result.dtype.kind == "c" else result.tolist()


def _check_facts(c: reference.Check) -> dict[str, object]:
    """A check as plain values."""
    return {
        "passed": c.passed, "exact": c.exact, "error": c.error, "relative_error": c.relative, "allowed": c.allowed,
        "unknown": c.unknown,
    }  # fmt: skip
