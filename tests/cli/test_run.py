"""``warpfold run``: what it prints, reads and writes."""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from command_line import SMALL, call, fails

from warpfold.cli import cli
from warpfold.commands import terminal
from warpfold.commands.checking import random_inputs, reference
from warpfold.compiler.dtypes import dtype
from warpfold.runtime import cache


def test_run_shows_one_screen() -> None:
    text = call("run", "sum", *SMALL, "--axis", "1").stdout
    assert "sum of f32 8x40 over axis 1 (random, seed 0)" in text
    assert "emulator of sm_90a" in text
    assert "f32[8]" in text
    assert "check    passed: error" in text
    assert "of the greatest result), within the allowed" in text
    assert "fast=reduced" in text
    assert "thread_reduce -> warp_reduce" in text
    assert "(host clock, from arrays to result)" in text
    assert len(text.splitlines()) < 30


def test_the_second_run_finds_the_kernel_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPFOLD_CACHE_DIR", str(tmp_path))  # a cache of its own: many shapes share a kernel
    cache.clear_memory()
    request = ("run", "prod", "--shape", "3x77", "--axis", "0", "--device", "emulator")
    assert "(made now)" in call(*request).stdout
    assert "(found in the cache)" in call(*request).stdout


def test_run_says_why_it_chose_the_backend() -> None:
    text = call("run", "sum", "--shape", "4").stdout
    assert ("emulator of sm_90a, chosen because" in text) != ("CUDA: " in text)


def test_run_json_parses_and_holds_the_whole_screen() -> None:
    found = json.loads(call("run", "argmax", *SMALL, "--axis", "1", "--json").stdout)
    assert found["passed"] is True
    assert found["backend"] == "emulator"
    assert (found["shape"], found["axis"], found["dtypes"]) == ([8, 40], [1], ["f32"])
    (result,) = found["results"]
    x = random_inputs.from_seed((8, 40), (dtype("f32"),), 0, "argmax", (1,))[0]
    assert result["value"] == x.argmax(axis=1).tolist()
    assert result["exact"] is True
    assert found["plan"]["tree"] == "tree-v7"
    assert [v["level"] for v in found["levels"]] == ["register", "lane", "warp", "grid"]


def test_json_has_words_for_what_it_cannot_hold() -> None:
    text = terminal.as_json({"nan": float("nan"), "list": (1, float("-inf"))})
    assert json.loads(text) == {"nan": "nan", "list": [1, "-inf"]}


def test_run_reads_and_writes_files(tmp_path: Path) -> None:
    x = np.random.default_rng(1).standard_normal((6, 5, 4)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    out = tmp_path / "out.npy"
    files = ("--input", tmp_path / "x.npy", "--output", out, "--device", "emulator")
    call("run", "mean", *files, "--axis", "0,-1", "--keepdims")
    np.testing.assert_allclose(np.load(out), x.mean(axis=(0, 2), keepdims=True), rtol=1e-5, atol=1e-6)
    assert out.stat().st_mode & 0o777 == (tmp_path / "x.npy").stat().st_mode & 0o777
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.npy", "x.npy"]


def test_results_of_permuted_arrays_are_written_in_a_readable_order(tmp_path: Path) -> None:
    """A .npy file records Fortran order; the fields of several results are in C order."""
    x = np.asfortranarray(np.random.default_rng(1).integers(-99, 99, (6, 5, 4)) + 0.0)
    for name, a in (("x", x), ("z", x * (1 - 2j))):
        np.save(tmp_path / f"{name}.npy", a)
    files = ("--output", tmp_path / "out.npy", "--device", "emulator", "--axis", "1")
    for name, a in (("x", x), ("z", x * (1 - 2j))):
        assert "passed" in call("run", "sum", "--input", tmp_path / f"{name}.npy", *files).stdout
        np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), a.sum(1))
    call("run", "minmax", "--input", tmp_path / "x.npy", *files)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy")["max"], x.max(1))


def test_the_name_of_the_output_says_what_is_written(tmp_path: Path) -> None:
    """Nothing else is written; JSON says what it leaves out."""
    for name in ("m.csv", "m.txt", "m.json", "m.NPY"):
        for op in ("sum", "softmax"):
            shown = fails("run", op, *SMALL, "--output", tmp_path / name)
            assert f"WF865: {tmp_path / name} ends in {Path(name).suffix}: results are written as arrays" in shown
    call("run", "minmax", *SMALL, "--axis", "0", "--output", tmp_path / "m.npz")
    with np.load(tmp_path / "m.npz") as found:
        assert {name: a.shape for name, a in found.items()} == {"min": (40,), "max": (40,)}
    (few,) = json.loads(call("run", "sum", *SMALL, "--axis", "0", "--json").stdout)["results"]
    (many,) = json.loads(call("run", "softmax", *SMALL, "--json").stdout)["results"]
    assert (len(few["value"]), "left_out" in few) == (40, False)
    assert (many["value"], many["left_out"]) == (None, "320 elements, more than 64: --output FILE.npy has them")
    assert list(tmp_path.iterdir()) == [tmp_path / "m.npz"]


def test_results_keep_their_type(tmp_path: Path) -> None:
    """NumPy writes bf16 as two bytes without a type name; ``--dtype`` reads them back."""
    call("run", "max", *SMALL, "--dtype", "bf16", "--axis", "1", "--output", tmp_path / "out.npy")
    found = np.load(tmp_path / "out.npy")
    assert found.dtype == "V2"
    x = random_inputs.from_seed((8, 40), (dtype("bf16"),), 0, "max", (1,))[0]
    np.testing.assert_array_equal(found.view(x.dtype).astype(np.float32), x.astype(np.float32).max(axis=1))
    shown = call("run", "max", "--input", tmp_path / "out.npy", "--dtype", "bf16", "--device", "emulator").stdout
    assert f"value    {x.max()}" in shown
    assert "max of bf16 8 over all axes" in shown


@pytest.mark.parametrize("kind", ["bf16", "f8e5m2", "f8e4m3fn"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_files_that_do_not_name_their_type(tmp_path: Path, kind: str, order: Any) -> None:
    t = dtype(kind).numpy
    x = np.random.default_rng(0).standard_normal((6, 10)).astype(np.float32).astype(t).copy(order)
    path = tmp_path / "x.npy"
    np.save(path, x)
    asked = () if kind == "f8e5m2" else ("--dtype", kind)  # which NumPy writes by a name, though it cannot read it
    words = ("--input", path, *asked, "--device", "emulator", "--axis", "1")
    found = json.loads(call("run", "max", *words, "--json").stdout)
    assert (found["dtypes"], found["passed"]) == ([kind], True)
    assert found["results"][0]["value"] == x.astype(np.float32).max(axis=1).tolist()
    assert f"max of {kind}" in call("explain", "max", *words[:-4], "--axis", "1").stdout
    assert ".entry max" in call("compile", "max", *words[:-4]).stdout
    for command in ("profile", "sanitize"):
        assert call(command, "max", *words[:-4]).exit_code == 0
    wrong = "f32" if kind != "f8e5m2" else "bf16"
    held = "f8e5m2" if kind == "f8e5m2" else f"elements of {t.itemsize} byte(s) without a type"
    assert f"WF839: {path} holds {held}: --dtype says {wrong}" in fails("run", "max", "--input", path, "--dtype", wrong)
    if asked:
        named = "bf16" if kind == "bf16" else "f8e4m3fn or f8e5m2"
        shown = fails("run", "max", "--input", path)
        assert shown == (
            f"WF838: {path} holds elements of {t.itemsize} byte(s) without their type: .npy has no name for "
            f"{named}\n  help: name it: --dtype {named}\n"
        )


def test_each_file_may_be_given_a_type(tmp_path: Path) -> None:
    x, y = np.arange(4, dtype=np.float32), np.arange(4).astype(dtype("bf16").numpy)
    for name, a in (("x", x), ("y", y)):
        np.save(tmp_path / f"{name}.npy", a)
    words = ("--input", tmp_path / "x.npy", "--input", tmp_path / "y.npy", "--device", "emulator")
    assert "value    14." in call("run", "dot", *words, "--dtype", "f32,bf16").stdout
    assert "WF839" in fails("run", "dot", *words, "--dtype", "bf16")
    assert "WF838" in fails("run", "dot", *words)
    assert "leave --dtype out" in fails("run", "max", "--input", tmp_path / "x.npy", "--dtype", "f64")
    assert "max of f32 4" in call("run", "max", "--input", tmp_path / "x.npy", "--dtype", "f32").stdout


def test_bytes_without_a_type_may_be_an_array_of_a_launch(tmp_path: Path) -> None:
    call("compile", "max", "--shape", "64", "--dtype", "bf16", "-o", tmp_path / "max.ptx")
    np.save(tmp_path / "x.npy", np.zeros(64, dtype("bf16").numpy))
    rest = f"out:bf16[1], {', '.join(['1'] * 7)}"
    path = tmp_path / "x.npy"
    shown = fails("run", tmp_path / "max.ptx", "--launch", f"max<<<1, 32>>>({path}, {rest})")
    assert "does not name the type of its elements: write it before, as of f8e4m3fn or f8e5m2 or bf16" in shown
    read = CliRunner().invoke(
        cli, ["run", str(tmp_path / "max.ptx"), "--launch", f"max<<<1, 32>>>(x:bf16[64]={path}, {rest})"]
    )
    assert "WF825" not in read.output


def test_several_results_are_written_as_fields_of_their_own_types(tmp_path: Path) -> None:
    """No common type holds them: float64 would lose the last digits of large integers."""
    x = np.array([2**60 + 1, 3, -(2**62) - 1])
    np.save(tmp_path / "x.npy", x)
    words = ("--input", tmp_path / "x.npy", "--output", tmp_path / "out.npy", "--device", "emulator")
    call("run", "describe", *words)
    found = np.load(tmp_path / "out.npy")
    assert [found.dtype[name].str for name in ("count", "min", "argmax", "mean")] == ["<i8", "<i8", "<i8", "<f8"]
    assert (found.shape, found["min"], found["max"], found["count"]) == ((), x.min(), x.max(), 3)


def test_results_of_one_type_are_fields_with_the_names_on_the_screen(tmp_path: Path) -> None:
    words = (*SMALL, "--axis", "1", "--keepdims", "--dtype", "bf16", "--output", tmp_path / "out.npy")
    shown = call("run", "minmax", *words).stdout
    found = np.load(tmp_path / "out.npy")
    assert re.findall(r"^result (\S+)", shown, re.MULTILINE) == list(found.dtype.names)
    assert (found.shape, found.dtype) == ((8, 1), [("min", "V2"), ("max", "V2")])
    x = random_inputs.from_seed((8, 40), (dtype("bf16"),), 0, "minmax", (1,))[0].astype(np.float32)
    greatest = found["max"].view(dtype("bf16").numpy).astype(np.float32)
    np.testing.assert_array_equal(greatest, x.max(axis=1, keepdims=True))


def test_a_wrong_result_fails_the_check(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(reference.BUILT_IN, "sum", lambda x: x.astype(np.float64).sum(axis=1) + 1)
    result = call("run", "sum", *SMALL, "--axis", "1", "--output", tmp_path / "out.npy", code=1)
    assert "FAILED: error" in result.stdout
    assert "beyond the allowed" in result.stdout
    assert re.search(r"at \(\d,\): got \S+, expected \S+$", result.stdout, re.MULTILINE)
    assert "written  nothing, since the check failed" in result.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_exact_result_fails_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(reference.BUILT_IN, "argmin", lambda x: x.argmin(axis=1) + 1)
    assert "FAILED: not equal to NumPy's" in call("run", "argmin", *SMALL, code=1).stdout


def test_run_times_on_a_device_with_a_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    from warpfold.runtime.backends.emulator_backend import EmulatorBackend

    def elapsed(_self: object, fn: Any, _stream: int) -> float:
        fn()
        return 2.0

    monkeypatch.setattr(EmulatorBackend, "elapsed", elapsed, raising=False)
    text = call("run", "sum", "--shape", "1000", "--device", "emulator").stdout
    assert "kernels  2 us (device clock, least of 3), 2.002 GB/s" in text


def test_long_work_shows_progress_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with terminal.progress("compiling"):
        pass
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    with terminal.progress("compiling"):
        time.sleep(0.1)
    assert "compiling" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("room", "shown"),
    [
        (64, ["rung    bytes used  barriers  plan", "simple  39.4 %      356       lanes=32,warps=32 of 1024 threads"]),
        (40, ["rung    bytes used  plan", "simple  39.4 %      lanes=32,warps=32 of", "1024 threads"]),
        (33, ["bytes", "rung    used    plan", "simple  39.4 %  lanes=32,warps=32", "of 1024 threads"]),
        (30, ["bytes", "rung    used    plan", "simple  39.4 %  lanes=32,warps", "=32 of 1024", "threads"]),
    ],
)
def test_a_table_on_a_terminal_breaks_between_words_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], room: int, shown: list[str]
) -> None:
    """A number stays with its unit, and an optional column is dropped before a word is broken."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for name, value in (("TERM", "xterm"), ("COLUMNS", str(room))):
        monkeypatch.setenv(name, value)
    columns = "rung", "bytes used", "barriers", "plan"
    terminal.table(columns, [("simple", "39.4 %", 356, "lanes=32,warps=32 of 1024 threads")], spare=("barriers",))
    plain = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert [line.strip() for line in plain.splitlines()] == shown
