"""Pickling of users' objects, in this process and in another one: they come back equal, or an error says why not."""

from __future__ import annotations

import collections
import copy
import multiprocessing
import operator
import pickle
import sys
import textwrap
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

import warpfold as wf
from warpfold.compiler.driver.program_artifact import ProgramArtifact
from warpfold.compiler.errors import ArgumentError, FileError
from warpfold.compiler.program.library.reductions import FUNCTIONS
from warpfold.compiler.program.monoid import Monoid

X = np.arange(1.0, 13.0, dtype=np.float32).reshape(3, 4)
BUILT_IN = [name for name in dir(wf) if isinstance(getattr(wf, name), Monoid)]
COPIES: dict[str, Callable[[Any], Any]] = {
    **{
        f"pickle {n}": partial(lambda n, x: pickle.loads(pickle.dumps(x, n)), n)
        for n in range(pickle.HIGHEST_PROTOCOL + 1)
    },
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


def smaller(a: Any, b: Any) -> Any:
    return wf.minimum(a, b)


def square(x: Any) -> Any:
    return x * x


def zero(*_: Any) -> Any:
    return 0


@wf.monoid(identity=0.0, lift=square, finish=wf.sqrt)
def length(a: Any, b: Any) -> Any:
    return a + b


@wf.monoid(identity=0.0, lift=lambda x, *, power=2: x**power)
def energy(a: Any, b: Any) -> Any:
    return a + b


class Held:
    @wf.monoid(identity=0.0)
    @staticmethod
    def total(a: Any, b: Any) -> Any:
        return a + b


class Pair(NamedTuple):
    low: Any
    high: Any


MONOIDS: dict[str, Monoid] = {
    "by name": length, "with a lambda, by name": energy, "renamed": replace(length, name="other"),
    "of a function": wf.monoid(identity=float("inf"))(smaller), "identity of types": replace(length, identity=zero),
    "of a ufunc": replace(wf.SUM, lift=operator.neg), "with parameters": length.given({}),
    "in a class": Held.total,
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _importable() -> Any:
    """Pytest's import mode keeps this module out of ``sys.modules``, where pickle looks for it."""
    module = ModuleType(__name__)
    vars(module).update(globals())
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, __name__, module)
        yield


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("name", BUILT_IN)
def test_a_built_in_monoid_unpickles_to_itself(name: str, way: str) -> None:
    assert COPIES[way](getattr(wf, name)) is getattr(wf, name)


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("kind", MONOIDS)
def test_a_users_monoid_survives_pickling(kind: str, way: str) -> None:
    m = MONOIDS[kind]
    found = COPIES[way](m)
    assert found == m
    assert (found is m) == (kind in ("by name", "with a lambda, by name", "in a class") or "copy" in way)
    np.testing.assert_array_equal(wf.reduce(X, found, device="emulator"), wf.reduce(X, m, device="emulator"))


def test_a_monoid_with_bound_parameters() -> None:
    bound = replace(length, lift=None).given({})
    scaled = wf.monoid(identity=0.0, lift=scale)(smaller).given({"by": 3})
    for m in (bound, scaled):
        assert pickle.loads(pickle.dumps(m)) == m
    assert pickle.loads(pickle.dumps(scaled)).lift(2) == 6


def scale(x: Any, *, by: float = 1) -> Any:
    return x * by


def local() -> Monoid:
    def inner(a: Any, b: Any) -> Any:
        return a + b

    return wf.monoid(identity=0)(inner)


@pytest.mark.parametrize(
    ("make", "part", "what"),
    [
        (lambda: wf.monoid(identity=0)(lambda a, b: a + b), "function", "a lambda"),
        (lambda: replace(length, lift=lambda x: x), "lift", "a lambda"),
        (lambda: replace(length, finish=lambda x: x), "finish", "a lambda"),
        (lambda: replace(length, identity=lambda *_: 0), "identity", "a lambda"),
        (local, "function", "local.<locals>.inner"),
    ],
)
def test_objects_that_another_process_cannot_find_are_errors(make: Callable[[], Monoid], part: str, what: str) -> None:
    m = make()
    with pytest.raises(ArgumentError) as caught:
        pickle.dumps(m)
    text = f"WF183: {m.name} cannot be pickled: its {part} is {what}, which another process cannot find\n  at "
    assert str(caught.value).startswith(text)
    assert "help: define the function with def at the top level of a module" in str(caught.value)
    assert copy.deepcopy(m) is copy.copy(m) is m


def test_a_missing_name_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    data = pickle.dumps(length)
    monkeypatch.setitem(sys.modules, __name__, ModuleType(__name__))
    with pytest.raises(ArgumentError, match=r"^WF184: a pickle names .*test_pickling\.length, which is not there"):
        pickle.loads(data)


# --- results -------------------------------------------------------------------------------------------------------
def program(x: Any) -> Any:
    """Names that a tuple has as methods, nested, in a dict and in a named tuple."""
    total, most = wf.fold(wf.SUM, x), wf.fold(wf.MAX, x)
    return {"count": total, "index": Pair(most, total), "plain": (total, {"most": most})}


NAMED = ["minmax", "mean_var", "describe", ("sum", "minmax"), program]


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("what", NAMED, ids=lambda w: getattr(w, "__name__", str(w)))
def test_named_results_survive_pickling(what: Any, way: str) -> None:
    def same(a: Any, b: Any) -> None:
        assert type(a) is type(b)
        if isinstance(a, tuple):
            assert getattr(a, "_fields", None) == getattr(b, "_fields", None)
            for x, y in zip(a, b, strict=True):
                same(x, y)
        else:
            np.testing.assert_array_equal(a, b)

    got = wf.reduce(X, what, axis=1, device="emulator")
    same(COPIES[way](got), got)


def test_every_built_in_result_pickles() -> None:
    """For the functions that take one array."""
    done = 0
    for name in FUNCTIONS:
        try:
            got = wf.reduce(X, name, device="emulator")
        except wf.WarpfoldError:
            continue
        assert str(pickle.loads(pickle.dumps(got))) == str(got), name
        done += 1
    assert done > 20


def test_fields_that_a_tuple_renamed() -> None:
    """``namedtuple(..., rename=True)`` makes field names that users may not choose."""
    made = collections.namedtuple("made", ["class", "b"], rename=True)  # type: ignore[misc]
    got = wf.reduce(X, lambda x: made(wf.fold(wf.MIN, x), wf.fold(wf.MAX, x)), device="emulator")
    assert got._fields == ("_0", "b")
    assert pickle.loads(pickle.dumps(got)) == got == (1, 12)


# --- kernels -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("way", COPIES)
def test_a_compiled_reduction_survives_pickling(way: str) -> None:
    k = wf.compile("minmax", X.shape, axis=1)
    np.testing.assert_array_equal(k(X, device="emulator").min, X.min(1))  # and remembers the call
    found = COPIES[way](k)
    assert found.artifact == k.artifact
    np.testing.assert_array_equal(found(X, device="emulator").max, X.max(1))


def test_the_artifact_in_a_pickle_is_checked_like_a_file() -> None:
    data = pickle.dumps(wf.compile("sum", (1000,)))
    assert b'"unroll":' in data
    with pytest.raises(FileError, match=r"^WF503: a pickle is cut short or was altered"):
        pickle.loads(data.replace(b'"unroll":', b'"unrolx":'))
    assert isinstance(pickle.loads(pickle.dumps(wf.compile("sum", (9,)).artifact)), ProgramArtifact)


MODULE = """
    import numpy as np
    import warpfold as wf

    @wf.monoid(identity=0.0, lift=lambda x: x * x)
    def energy(a, b):
        return a + b

    X = np.arange(1.0, 13.0, dtype=np.float32).reshape(3, 4)

    def reduced(what):
        return wf.reduce(X, what, axis=1, device="emulator")

    def run(kernel):
        return kernel(X, device="emulator")
"""


def test_a_pool_of_processes_sends_and_returns_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fresh processes get monoids and kernels from pickles only, and return results."""
    (tmp_path / "users_module.py").write_text(textwrap.dedent(MODULE))
    monkeypatch.syspath_prepend(str(tmp_path))
    import users_module as users  # type: ignore[import-not-found]

    whats = [users.energy, wf.MAX, "minmax"]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        energy, most, ends = pool.map(users.reduced, whats)
        kernel = pool.apply(users.run, (wf.compile("mean_var", X.shape, axis=1),))
    np.testing.assert_array_equal(energy, (X * X).sum(1))
    np.testing.assert_array_equal(most, X.max(1))
    np.testing.assert_array_equal(ends.max, X.max(1))
    np.testing.assert_allclose(kernel.mean, X.mean(1))
