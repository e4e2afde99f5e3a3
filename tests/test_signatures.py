"""Calls of other libraries by position: ours give their results, or an error that says what to write."""

from __future__ import annotations

import contextlib
import inspect
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from signatures_page import DATA, DIFFERENT, PAGE, SAME, Peer, by_position, found, ours, page, peers_of, read, refused

import warpfold as wf
from warpfold.compiler.program.public_names import COMPOSITIONS, ELEMENTWISE

X = np.array([[3.0, 1.0, 2.0, 0.5], [1.5, 2.5, 0.25, 4.0]], np.float32)
IMAGES = np.arange(48, dtype=np.float32).reshape(2, 4, 6) % 7
SMALL = np.array([3, 1, 3, 0], np.int8)
CLASSES, ROW, MASK = np.array([1, 3]), np.array([1.0, 2.0, 0.5, 3.0], np.float32), X > 1
FIRST: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("vecdot", "allclose", "array_equal", "maximum", "minimum", "divide", "atan2"), (X, X[::-1])),
    **dict.fromkeys(("group_norm", "instance_norm", "batch_norm"), (IMAGES,)),
    **dict.fromkeys(("cross_entropy", "nll_loss"), (X, CLASSES)),
    **dict.fromkeys(("bincount", "unique"), (SMALL,)), **dict.fromkeys(("asin", "acos", "atan"), (X / 5,)),
    **dict.fromkeys(("nanargmin", "nanargmax", "logsumexp"), (X,)), "dot": (ROW, ROW), "where": (MASK, X, -X),
    "bitcast": (X, np.int32), "cast": (X, np.float64),
}  # fmt: skip
"""The arguments that a call begins with; X for any other function."""
VALUES: dict[str, Any] = {
    "axis": 1, "keepdims": True, "low": 1.0, "high": 2.0, "dtype": np.float64, "out": X.copy(), "initial": 0.0,
    "ord": 1, "where": MASK, "p": 0.5, "rtol": 0.5, "atol": 0.5, "equal_nan": True, "correction": 1, "unbiased": True,
    "b": X, "decimals": 1, "bins": 3, "range": (0, 2), "density": False, "weights": None, "minlength": 8, "weight": ROW,
    "k": 2, "largest": True, "negative_slope": 0.2, "inplace": False, "normalized_shape": (4,), "bias": ROW,
    "eps": 1e-3, "epsilon": 1e-3, "training": True, "momentum": 0.1, "running_mean": ROW, "running_var": ROW,
    "num_groups": 2, "use_input_stats": True, "mean": ROW, "size_average": None, "return_index": True, "scale": 0.1,
    "bitorder": "big", "count": 3,
}  # fmt: skip
"""An argument for each parameter that other libraries take by position."""


def converted(x: Any, library: str) -> Any:
    """An argument as the library has it."""
    if library == "torch":
        torch = pytest.importorskip("torch")
        types = {np.float64: torch.float64, np.int32: torch.int32}
        return (
            torch.from_numpy(x.copy()) if isinstance(x, np.ndarray) else types.get(x, x) if isinstance(x, type) else x
        )
    return found("jax.numpy.asarray")(x) if library == "jax" and isinstance(x, np.ndarray) else x


def numbers(x: Any) -> list[np.ndarray]:
    """The arrays of a result."""
    if isinstance(x, tuple | list):
        return [a for part in x for a in numbers(part)]
    return [np.asarray(x.detach() if hasattr(x, "detach") else x).astype(np.float64)]


def outcome(function: Any, xs: list[Any]) -> Any:
    """The result of a call, or its error."""
    try:
        return function(*xs)
    except wf.WarpfoldError as e:
        return e


ROWS = [(name, peer) for name in ours() for peer in peers_of(name, json.loads(DATA.read_text(encoding="utf-8")))]
"""Each of our functions with each function of another library."""


def distinct() -> Iterator[Any]:
    """The rows with the names of the parameters of their calls that no row before has: libraries share most of them."""
    seen = set()
    for name, peer in ROWS:
        is_unary = name in (*ELEMENTWISE, *COMPOSITIONS) and by_position(name) == ["x"] and name != "round"
        names = [SAME.get(p, p) for p in peer.by_position[len(FIRST.get(name, (X,))) :]]
        known = next((i for i, p in enumerate(names) if p not in VALUES), len(names))
        prefixes = [names[:i] for i in range(min(1, known), known + 1)]
        new = [p for p in prefixes if (key := (is_unary or name, *p)) not in seen and not seen.add(key)]  # type: ignore[func-returns-value]
        if new:
            yield pytest.param(name, peer, new, id=f"{name}-{peer.path}")


@pytest.mark.parametrize(("name", "peer", "calls"), [*distinct()])
def test_a_call_by_position_means_what_it_means_there_or_says_what_to_write(
    name: str, peer: Peer, calls: list[list[str]]
) -> None:
    theirs, own = found(peer.path), getattr(wf, name)
    if theirs is None:
        pytest.skip(f"{peer.path} is not there")
    for names in calls:
        xs = [converted(x, peer.library) for x in (*FIRST.get(name, (X,)), *map(VALUES.__getitem__, names))]
        given = [p for p in refused(name, peer) if p in names]
        if (name, peer.path) in DIFFERENT and not given:
            continue
        got = outcome(own, xs)
        if isinstance(got, wf.WarpfoldError):
            assert got.remedy
            for parameter in given[:1]:
                known = parameter in inspect.signature(own).parameters or parameter == "out"
                assert not known or f"{parameter}=" in str(got)
            continue
        assert not given, f"{given} are taken for other parameters"
        with contextlib.suppress(TypeError):  # a call without what they need
            for a, b in zip(numbers(got), numbers(theirs(*xs)), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "python tests/signatures_page.py"
    known = {(name, peer.path) for name, peer in ROWS}
    assert set(DIFFERENT) <= known
    assert {n for n, _ in ROWS} <= set(ours())


def test_the_data_are_what_the_libraries_say() -> None:
    saved = json.loads(DATA.read_text(encoding="utf-8"))
    now = read(saved)
    for path, own in saved["functions"].items():
        library = path.partition(".")[0]
        if now["versions"][library] == saved["versions"][library]:
            assert now["functions"].get(path) == own, f"{path}: python tests/signatures_page.py"


def test_every_public_function_of_arrays_is_on_the_page() -> None:
    functions = {n for n in wf.__all__ if callable(getattr(wf, n)) and n[0].islower()}
    others = {"program", "compile", "autotune", "load", "load_state", "monoid", "fold", "dtype", "count", "index",
              "check_monoid", "stop_gradient", "partial", "merge", "finish", "update", "reduce_stream"}  # fmt: skip
    assert functions - set(ours()) == others
    assert all(by_position(name) for name in ours())
