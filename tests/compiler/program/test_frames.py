"""Tracebacks of mistakes show the user's lines, and of ours only the function that was called."""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warpfold as wf

X = np.arange(6, dtype=np.float32).reshape(2, 3)
PACKAGE = Path(wf.__file__).parent
OURS = tuple(str(PACKAGE / part) for part in ("cli", "commands", "compiler", "passes", "runtime", "__init__.py"))


def unknown_name(x: Any) -> Any:
    return wf.fold(wf.SUM, x * scale)  # type: ignore[name-defined]  # noqa: F821 - the mistake


def bad_index(x: Any) -> Any:
    return wf.fold(wf.SUM, x * [1.0][2])


def bad_key(x: Any) -> Any:
    return wf.fold(wf.SUM, x * {"a": 1.0}["b"])


def by_zero(x: Any) -> Any:
    return wf.fold(wf.SUM, x * (1 / 0))


def formatted(x: Any) -> Any:
    return wf.fold(wf.SUM, float(f"{x:.3f}"))


def sliced(x: Any) -> Any:
    return wf.fold(wf.SUM, x[1:])


def matrix(x: Any) -> Any:
    return wf.fold(wf.SUM, x @ x)


def no_type(x: Any) -> Any:
    return wf.fold(wf.SUM, wf.cast(x, "float31"))


def no_attribute(x: Any) -> Any:
    return wf.fold(wf.SUMM, x)


def called(x: Any) -> Any:
    return wf.fold(wf.SUM, x(1))


def own_error(x: Any) -> Any:
    raise RuntimeError("not today", x)


def deeper(x: Any) -> Any:
    return bad_index(x)


@wf.monoid(identity=0.0)
def combined(a: Any, b: Any) -> Any:
    return a + b * scale  # type: ignore[name-defined]  # noqa: F821 - the mistake


@wf.monoid(identity=0.0, lift=lambda x: x * scale)  # type: ignore[name-defined]  # noqa: F821 - the mistake
def lifted(a: Any, b: Any) -> Any:
    return a + b


PROGRAMS = {
    unknown_name: (NameError, "scale"), bad_index: (IndexError, "[1.0][2]"), bad_key: (KeyError, '["b"]'),
    by_zero: (ZeroDivisionError, "1 / 0"), formatted: (TypeError, ":.3f"), sliced: (TypeError, "x[1:]"),
    matrix: (TypeError, "x @ x"), no_type: (TypeError, "float31"), no_attribute: (AttributeError, "SUMM"),
    called: (TypeError, "x(1)"), own_error: (RuntimeError, "raise"), deeper: (IndexError, "[1.0][2]"),
    combined: (NameError, "scale"), lifted: (NameError, "scale"),
}  # fmt: skip
WAYS: list[Callable[[Any], Any]] = [
    lambda what: wf.reduce(X, what), lambda what: wf.reduce(X, what=(what, "sum"), axis=0),
    lambda what: wf.compile(what, X.shape), lambda what: wf.segment_reduce(X, [0, 2], what),
]  # fmt: skip


def raised(call: Callable[[], Any]) -> Exception:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - what is raised is what the tests are about
        call()
    return caught.value


def ours(e: BaseException) -> list[str]:
    return [f"{f.filename}:{f.lineno}" for f in traceback.extract_tb(e.__traceback__) if f.filename.startswith(OURS)]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("what", PROGRAMS, ids=lambda w: getattr(w, "name", getattr(w, "__name__", "")))
def test_the_last_line_is_the_users_and_is_named(what: Any, way: Callable[[Any], Any]) -> None:
    kind, text = PROGRAMS[what]
    e = raised(lambda: way(what))
    assert isinstance(e, kind)
    last = traceback.extract_tb(e.__traceback__)[-1]
    assert last.filename == __file__ or what is no_attribute  # where Python asks the package for the name
    assert len(ours(e)) <= 1 + (what is no_attribute), ours(e)
    told = "".join(traceback.format_exception_only(e))
    assert f"\n  at {__file__}:" in told
    assert text in told.split("\n  at ")[1].splitlines()[0], told
    assert "\n  help: " in told


def test_an_exception_of_python_says_that_a_function_was_being_traced() -> None:
    e = raised(lambda: wf.reduce(X, unknown_name))
    line = unknown_name.__code__.co_firstlineno + 1
    (note,) = e.__notes__
    assert note == (
        f"WF241: unknown_name raised NameError while it was traced\n"
        f"  at {__file__}:{line}: {linecache.getline(__file__, line).strip()}\n"
        "  help: define the name before the call, or make it a parameter: def f(x, *, name=1.0)"
    )


MISTAKES: list[tuple[str, Callable[[], Any]]] = [
    ("WF101", lambda: wf.sum(X, 5)), ("WF101", lambda: wf.reduce(X, "sum", axis=5)),
    ("WF103", lambda: wf.allclose(X, X, axis="a")), ("WF150", lambda: wf.dot(X, X)),
    ("WF127", lambda: wf.array_equal(X, X, dim=0)), ("WF123", lambda: wf.compile("sum", (3,))(X[0].astype(int))),
    ("WF401", lambda: wf.compile("sum", (3,), arch="sm_1")), ("WF143", lambda: wf.segment_reduce(X, [0, 2, 1], "sum")),
    ("WF149", lambda: wf.unique(X)), ("WF219", lambda: wf.check_monoid(3)), ("WF501", lambda: wf.load("/no/file")),
    ("WF834", lambda: wf.autotune("sum", X)), ("WF101", lambda: wf.vecdot(X, X, axis=5)),
]  # fmt: skip


@pytest.mark.parametrize(("code", "call"), MISTAKES)
def test_a_mistake_of_a_call_shows_the_call(code: str, call: Callable[[], Any]) -> None:
    e = raised(call)
    assert isinstance(e, wf.WarpfoldError)
    assert e.code == code
    assert len(ours(e)) <= 2, ours(e)
    assert e.location is not None
    assert (e.location.file, e.location.line) == (__file__, call.__code__.co_firstlineno)


def test_all_frames_are_shown_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPFOLD_TRACEBACK", "full")
    assert len(ours(raised(lambda: wf.reduce(X, bad_index)))) > 5


def test_an_internal_error_keeps_its_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise KeyError("ours")

    broken.__code__ = broken.__code__.replace(co_filename=str(PACKAGE / "runtime" / "programs" / "run.py"))
    monkeypatch.setattr("warpfold.runtime.programs.run.run", broken)
    assert len(ours(raised(lambda: wf.reduce(X, "sum", axis=1)))) > 2


def test_a_chained_exception_is_shown_without_our_frames() -> None:
    class Odd:
        def __array__(self, *_: Any, **__: Any) -> Any:
            raise ValueError("no array")

    e = raised(lambda: wf.sum(Odd()))
    assert isinstance(e.__cause__, ValueError)
    assert ours(e.__cause__) == []


def test_the_gradient_of_a_built_in_reduction_names_the_users_line() -> None:
    e = raised(lambda: wf.vjp(wf.sum)(np.float32(1), np.ones(4, np.int32)))
    assert "WF904" in str(e)
    assert f"{__file__}:" in str(e)


@pytest.mark.parametrize("way", ["backward", "grad"])
def test_what_pytorch_calls_in_a_backward_names_the_users_line(way: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x = torch.ones(2, 4, requires_grad=True)

    def call() -> Any:
        y = wf.topk(x, 2)[0].sum()
        return y.backward() if way == "backward" else torch.autograd.grad(y, x)

    e = raised(call)
    assert (e.code, e.location.file, e.location.line) == ("WF901", __file__, call.__code__.co_firstlineno + 2)


W, TARGETS = np.ones(7, np.float32), np.zeros(2, np.int64)
OF_LIBRARY: list[tuple[str, Callable[..., Any]]] = [
    ("WF138", lambda x, *_: wf.rms_norm(x, eps="a")), ("WF138", lambda x, *_: wf.leaky_relu(x, negative_slope="a")),
    ("WF138", lambda x, *_: wf.batch_norm(x, training="no")), ("WF138", lambda x, *_: wf.layer_norm(x, eps=None)),
    ("WF138", lambda x, *_: wf.normalize(x, eps="a")),
    ("WF254", lambda x, w, _: wf.layer_norm(x, w)), ("WF254", lambda x, w, _: wf.rms_norm(x, w)),
    ("WF254", lambda x, w, _: wf.add_layer_norm(x, x, w)), ("WF270", lambda x, w, _: wf.batch_norm(x, w)),
    ("WF276", lambda x, *_: wf.group_norm(x, 2)), ("WF256", lambda x, *_: wf.softmax(x, axis=7)),
    ("WF256", lambda x, *_: wf.normalize(x, axis=(0, 0))), ("WF254", lambda x, w, t: wf.cross_entropy(x, t, w)),
    ("WF272", lambda x, *_: wf.quantize(x, dtype="f32")),
]  # fmt: skip


@pytest.mark.parametrize(("code", "function"), OF_LIBRARY)
def test_a_mistake_that_shows_in_a_program_of_the_library_is_its_callers(
    code: str, function: Callable[..., Any]
) -> None:
    """Called with arrays, and inside another program, where the line of the outer call says less."""
    for call in (function, wf.program(function)):
        e = raised(lambda call=call: call(X, W, TARGETS))  # type: ignore[misc]
        assert isinstance(e, wf.WarpfoldError)
        assert e.code == code
        assert e.location is not None
        assert (e.location.file, e.location.line) == (__file__, function.__code__.co_firstlineno)


def test_messages_quote_no_line_of_the_library() -> None:
    """Their values are made on lines of the library's, which users do not know."""

    @wf.program
    def added(x: Any, y: Any) -> Any:
        return wf.softmax(x) + y

    text = str(raised(lambda: added(X, W)))
    assert "axis -1 has size 3 in a value and size 7 in y" in text
