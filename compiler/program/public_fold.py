"""``wf.fold``: of the elements of a reduction, or of symbolic arrays over axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import error
from .accumulation import fold_elements
from .arrays.folding import AxisArgument, reduced
from .fold import in_reduction
from .frames import caller
from .monoid import Monoid
from .symbols import is_array


def fold(m: Monoid, *values: Any, initial: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Reduces ``values`` (one per value of the monoid's state) over the reduced axes, inside a tensor program.

    A monoid that computes accumulates as the built-in sums do: integers and bools in 64 bits, halves in f32. Where
    ``wf.cast`` chose the type of a value, that type stays.

    Args:
        m: the monoid.
        values: what each element contributes; Python numbers take the type of the first symbolic value.
        initial: a state to begin with, on the left of all elements: a number, or a tuple with one per value.
        axis: for symbolic arrays the axes that are reduced: None for all, an int, or several.
        keepdims: for symbolic arrays, whether results keep the reduced axes, with size 1.

    Returns:
        The final state: a scalar of the ``kept`` space, or a tuple of them; of symbolic arrays, arrays.

    Raises:
        ArgumentError: WF130 when ``m`` is no monoid, WF133 when a mask needs an initial value, WF136 when ``initial``
            is none of the state.
        TraceError: WF210 for a wrong count of values, WF211 when they are reduced already, WF279 for axes of elements.
    """
    if any(map(is_array, values)) and (axis is not None or not in_reduction()):
        return _over(m, values, initial, axis, keepdims=keepdims)
    if axis is not None or keepdims:
        raise error("WF279", option="keepdims" if axis is None else f"axis={axis}", where=caller())
    return fold_elements(m, values, initial)


def _over(m: Monoid, values: Sequence[Any], initial: Any, axis: AxisArgument, *, keepdims: bool) -> Any:
    """What symbolic arrays, and numbers beside them, fold to along axes."""
    given = [i for i, v in enumerate(values) if is_array(v)]

    def program(*xs: Any) -> Any:
        own = dict(zip(given, xs, strict=True))
        return fold_elements(m, [own.get(i, v) for i, v in enumerate(values)], initial)

    return reduced(m.name, program, [values[i] for i in given], axis, keepdims=keepdims, params={})
