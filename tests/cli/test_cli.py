"""The command line: what it prints and writes, how it fails, and how it judges results."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import warpfold as wf
from warpfold.cli import cli
from warpfold.cli.reduction import ARCH, FORMS
from warpfold.commands import emit, levels, terminal
from warpfold.commands import run as run_command
from warpfold.commands.checking import random_inputs, reference
from warpfold.commands.checking.evaluate import Evaluator, rows
from warpfold.commands.output_file import Output
from warpfold.commands.requests.request import Request
from warpfold.compiler.dtypes import dtype
from warpfold.compiler.errors import WarpfoldError
from warpfold.compiler.plan.launch import Launch
from warpfold.compiler.plan.plan import Plan
from warpfold.compiler.program.library.reductions import FUNCTIONS
from warpfold.compiler.program.tracing import program
from warpfold.runtime import cache
from warpfold.runtime.backends import cuda_backend

EXAMPLES = Path(__file__).parents[2] / "examples"
MONOIDS = EXAMPLES / "monoids.py"
SMALL = ("--shape", "8x40", "--device", "emulator")


@pytest.fixture(scope="module", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WARPFOLD_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


def call(*words: str | Path, code: int = 0) -> Result:
    """Runs the command in this process; an internal error propagates."""
    result = CliRunner().invoke(cli, [str(w) for w in words], prog_name="warpfold", catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def fails(*words: str | Path) -> str:
    """The message of a request that is refused: on standard error, without a traceback or anything else."""
    result = call(*words, code=2)
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.stderr


def shell(*words: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "warpfold.cli", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **options)


# --- run ---------------------------------------------------------------------------------------------------------
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


# --- compile -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("form", "marks"),
    [
        ("program", ["func.func @sum", '"fold.reduce"', "tensor<?x?xf32>"]),
        ("plan", ["fold.warp_reduce", "lower-warp-shuffle", "--plan fast=reduced"]),
        (
            "stages",
            ["// ===== after distribute =====", "// ===== after lower-grid-finish =====", '"fold.thread_reduce"'],
        ),
        ("llvm", ["llvm.func @sum", "nvvm.kernel"]),
        ("ptx", [".visible .entry sum(", "shfl.sync", ".target sm_90a"]),
    ],
)
def test_compile_emits(form: str, marks: Sequence[str]) -> None:
    text = call("compile", "sum", "--shape", "64x1024", "--axis", "1", "--emit", form).stdout
    for mark in marks:
        assert mark in text


def test_the_ptx_of_the_last_stage_has_its_lines() -> None:
    text = call("compile", "sum", *SMALL[:2], "--emit", "stages").stdout
    assert "\n// .visible .entry sum(" in text
    assert "\\0A" not in text
    assert max(map(len, text.splitlines())) < 1000


def test_stages_parse_again_one_by_one() -> None:
    """A pass that changed nothing is reported in one word; the last stage is PTX, in comments."""
    text = call("compile", "sum", "--shape", "64x64", "--axis", "1", "--emit", "stages").stdout
    assert "// ===== after lower-tile-copy =====\n// (unchanged)\n" in text
    parts = re.split(r"^// -----\n", text, flags=re.MULTILINE)
    assert [p.startswith("// ===== after ") for p in parts] == [True] * len(parts)
    for part in parts:
        assert parsed(part) == parsed(parsed(part))
    assert "llvm.func @sum" in parsed(parts[-2])
    llvm = call("compile", "sum", "--shape", "64x64", "--axis", "1", "--emit", "llvm").stdout
    assert parsed(llvm) == parsed(parts[-2])


def parsed(text: str) -> str:
    """A module that was parsed, as text."""
    from warpfold.compiler.driver.compile import session
    from warpfold.compiler.driver.pipeline import printed
    from warpfold.compiler.ir.mlir import ir

    with session():
        return printed(ir.Module.parse(text).operation)


def test_compile_shows_what_each_pass_changes() -> None:
    text = call("compile", "sum", "--shape", "64x64", "--axis", "1", "--emit", "stages", "--changes").stdout
    whole = call("compile", "sum", "--shape", "64x64", "--axis", "1", "--emit", "stages").stdout
    assert len(text) < len(whole)
    (shuffles,) = re.findall(r"after lower-warp-shuffle =====\n(.*?)// -----", text, re.DOTALL)
    assert re.search(r'^- .*"fold.warp_reduce"', shuffles, re.MULTILINE)
    assert re.search(r"^\+ .*gpu.shuffle", shuffles, re.MULTILINE)
    assert "after lower-tile-copy =====\n// (unchanged)\n" in text


@pytest.mark.parametrize("form", ["program", "llvm", "stages"])
def test_compile_shows_names_and_locations(form: str, tmp_path: Path) -> None:
    """The text is the same IR as without them, except for the names of values."""
    path = tmp_path / "mine.py"
    path.write_text("import warpfold as wf\n\n\ndef f(x):\n    twice = x * 2.0\n    return wf.fold(wf.MAX, twice)\n")
    words = ("compile", f"{path}:f", "--shape", "64x64", "--axis", "1", "--emit", form)
    lined, named = (call(*words, option).stdout for option in ("--locations", "--names"))
    assert re.search(rf" = \S*mulf? .*  // {re.escape(str(path))}:5: twice = x \* 2.0$", lined, re.MULTILINE)
    assert "%input0: " in named
    assert " // " + str(path) not in named
    plain = re.split(r"^// -----\n", call(*words).stdout, flags=re.MULTILINE)
    for text in (lined, named, call(*words, "--names", "--locations").stdout):
        parts = re.split(r"^// -----\n", text, flags=re.MULTILINE)
        assert len(parts) == len(plain)
        for part, as_ever in list(zip(parts, plain, strict=True))[: -1 if form == "stages" else None]:
            assert parsed(part) == parsed(as_ever)


def test_changes_keep_names_and_locations() -> None:
    words = ("compile", "examples/monoids.py:total", "--shape", "64x64", "--axis", "1", "--emit", "stages", "--changes")
    text = call(*words, "--names", "--locations").stdout
    assert re.search(r"^\+ .* %lane = .*  // .*monoids.py:\d+$", text, re.MULTILINE)
    assert "after lower-tile-copy =====\n// (unchanged)\n" in text


def test_compile_for_another_architecture() -> None:
    assert ".target sm_75" in call("compile", "max", "--shape", "64", "--arch", "sm_75").stdout


def test_compile_plan_as_json() -> None:
    text = call("compile", "sum", "--shape", "64x1024", "--axis", "1", "--emit", "plan", "--json", "--plan", "warps=2")
    assert json.loads(text.stdout)["plan"]["warps"] == 2


def test_compile_writes_to_a_path(tmp_path: Path) -> None:
    path = tmp_path / "max.ptx"
    assert call("compile", "max", "--shape", "64", "-o", path).stdout == ""
    assert path.read_text().startswith("//")
    assert ".entry max(" in path.read_text()


def test_compile_saves_an_artifact_that_loads(tmp_path: Path) -> None:
    path = tmp_path / "sum.warpfold"
    call("compile", "sum", "--shape", "16x64", "--axis", "1", "--emit", "artifact", "-o", path)
    x = np.ones((16, 64), np.float32)
    assert wf.load(path)(x, device="emulator").tolist() == [64.0] * 16


def test_compile_sass_goes_through_ptxas(monkeypatch: pytest.MonkeyPatch) -> None:
    from warpfold.runtime import ptxas

    monkeypatch.setattr(ptxas, "disassemble", lambda cubin: f"{cubin[1:4].decode()} of {len(cubin) > 1000}")
    assert call("compile", "sum", "--shape", "64", "--emit", "sass").stdout == "ELF of True\n"


def test_the_command_line_and_the_work_agree_on_the_forms() -> None:
    assert emit.FORMS == FORMS
    assert wf.compile("sum", (8,)).artifact.arch == ARCH


# --- explain -----------------------------------------------------------------------------------------------------
def test_explain_tells_levels_reasons_bytes_and_lines() -> None:
    text = call("explain", f"{MONOIDS}:rms", "--shape", "4096x1024", "--axis", "1").stdout
    assert "rms of f32 4096x1024 over axis 1, for sm_90a" in text
    assert "collapsed to 4,096 result(s) of 1,024 element(s) each" in text
    assert "16 MiB in, 16 KiB out" in text
    assert "at 4800 GB/s (data sheet: H200 SXM)" in text
    assert "lanes lie along the reduced axis" in text
    assert "fast=kept: neighbouring lanes would read distant addresses" in text
    assert "return a + b" in text
    assert "return wf.sqrt(wf.fold(total, x * x)" in text
    row = next(line for line in text.splitlines() if line.startswith("lane"))
    assert row.split()[:6] == ["lane", "32", "1", "32", "fold.warp_reduce", "lower-warp-shuffle"]
    assert "monoids.py:" in row


def test_explain_names_only_lines_of_the_user() -> None:
    text = call("explain", "var", "--shape", "100x100").stdout
    assert "prepare.py" not in text
    assert "monoids.py" in text


def test_a_level_without_a_stage_says_so() -> None:
    plan = Plan(lanes=32, warps=1)
    found = {v.name: v for v in levels.levels(plan, Launch(4, 1, 32))}
    assert found["warp"].stages == ()
    assert found["grid"].stages == ()
    assert found["lane"].stages == (("fold.warp_reduce", "lower-warp-shuffle"),)


def test_threads_that_exchange_states_in_memory_are_one_level() -> None:
    text = call("explain", "sum", "--shape", "100000", "--plan", "simple,warps=8").stdout
    assert re.search(r"^cta +256 +1 +256 +fold.cta_reduce +lower-cta-reduce ", text, re.MULTILINE)
    assert "fold.warp_reduce" not in text
    assert "warps=8,warps_kept=1,cta=interleaved,exchange=global,finish=cta" in text


def test_a_second_kernel_is_a_level() -> None:
    text = call("explain", "sum", "--shape", "120x16x7x7", "--axis", "0,2,3", "--plan", "fast=both").stdout
    assert re.search(r"^rest +49 +16 +4,096 +second kernel", text, re.MULTILINE)
    assert re.search(r"^ +then 16 CTA\(s\) of 256 threads, one a result$", text, re.MULTILINE)
    assert "- asked for: fast=both" in text
    assert "rejected\n" not in text
    assert re.search(r"- \d+ column\(s\) a warp", text)
    ran = call("run", "sum", "--shape", "120x16x7x7", "--axis", "0,2,3", "--plan", "fast=both").stdout
    assert "grid_finish -> second kernel (two_kernels)" in ran


def test_a_cluster_is_a_level_in_place_of_the_warps() -> None:
    text = call("explain", "sum", "--shape", "65536", "--plan", "cluster=8,warps=16").stdout
    assert re.search(r"^warp +16 +1 +512 +none: warps meet in the cluster$", text, re.MULTILINE)
    assert re.search(r"^cluster +8 +1 +4,096 +fold.cluster_reduce +lower-cluster-reduce ", text, re.MULTILINE)
    assert re.search(r"^grid +1 +1 +4,096 +none: nothing to combine", text, re.MULTILINE)
    assert re.search(r"^finish +each result is finished by the first CTA of a cluster$", text, re.MULTILINE)
    assert "warps_kept=1,cluster=8,finish=cta" in text
    several = call("explain", "sum", "--shape", "65536", "--plan", "cluster=2,warps=16").stdout
    assert re.search(r"^grid +4 +1 +4,096 +fold.grid_finish ", several, re.MULTILINE)
    assert re.search(r"^partials +16 bytes ", several, re.MULTILINE)


def test_a_tile_is_a_level_before_all_others() -> None:
    text = call("explain", "sum", "--shape", "400000x31", "--axis", "1").stdout
    found = re.search(r"^tile +31 +(\d+) +256 +fold.tile_copy +lower-tile-copy$", text, re.MULTILINE)
    assert found is not None
    assert f"a CTA copies the elements of {found[1]} results into 16384 bytes of shared memory" in text
    assert re.search(r"^shared memory +16 KiB a CTA$", text, re.MULTILINE)
    assert "warps_kept=8,tile_bytes=16384,finish=cta" in text


def test_a_period_is_a_level_of_all_threads_of_a_cta() -> None:
    text = call("explain", "sum", "--shape", "1000000x9", "--axis", "0").stdout
    assert re.search(r"^register +20 +4 +1 +fold.thread_reduce ", text, re.MULTILINE)
    assert re.search(r"^cta +224 +512 +512 +fold.period_reduce +lower-period-reduce ", text, re.MULTILINE)
    assert "224 rows of 9 columns are a period of 512 threads: each reads 4 element(s) an access" in text
    assert "walk=interleaved: lanes along so few columns would read in pieces" in text
    assert "fold.warp_reduce" not in text


def test_explain_names_the_columns_of_staggered_warps() -> None:
    text = call("explain", "sum", "--shape", "4000x20001", "--axis", "0").stdout
    assert re.search(r"^register +500 +2 +1 +fold.thread_reduce ", text, re.MULTILINE)
    assert re.search(r"^lane +1 +31 +32 +none: nothing to combine$", text, re.MULTILINE)
    assert re.search(r"^warp +8 +1 +256 +fold.shared_store ", text, re.MULTILINE)
    assert "each of 8 warps reads every 8th row, from the boundary before the CTA's columns on: 2 element(s)" in text
    assert "walk=interleaved: columns that begin anywhere take two accesses for one" in text


# --- doctor, help, version ---------------------------------------------------------------------------------------
def test_doctor_says_what_is_there_and_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPFOLD_PTXAS", "/no/such/ptxas")
    text = call("doctor").stdout
    for name in ("Python", "MLIR bindings", "CUDA device", "ptxas", "cache"):
        assert name in text
    assert "numba-cuda-mlir" in text or "mlir" in text
    assert "python -m pip install nvidia-cuda-nvcc" in text


def test_explain_names_no_line_of_the_cli_as_the_users(tmp_path: Path) -> None:
    """The code that widens halves around a user's monoid is in no file of the user."""
    file = tmp_path / "own.py"
    file.write_text("import warpfold as wf\n\n@wf.monoid(identity=0)\ndef total(a, b):\n    return a + b\n")
    text = call("explain", f"{file}:total", "--shape", "64x64", "--dtype", "f16").stdout
    assert "own.py:5  return a + b" in text
    assert "cli/" not in text


def test_help_says_of_each_command_in_one_line_what_it_does() -> None:
    lines = call("--help").stdout.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    assert [line.split()[0] for line in lines] == sorted(cli.commands)
    assert all(line.endswith(".") and not line.endswith("...") for line in lines), lines


@pytest.mark.parametrize("command", ["run", "compile", "explain"])
def test_help_shows_examples(command: str) -> None:
    text = call(command, "--help").stdout
    assert f"Examples:\n    warpfold {command} " in text
    assert "\\b" not in text


def test_version() -> None:
    assert call("--version").stdout == f"warpfold {wf.__version__}\n"


# --- requests that are refused -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("run", "var", "--param", "correction"), "WF815: 'correction' is no parameter"),
        (
            ("run", "norm", "--param", "ord=3", "--param", "ord=4"),
            "WF817: parameter ord is given twice: 3 and 4\n  help: give it once",
        ),
        (("run", "sum", "--plan", "warps=8,simple"), "WF419: 'simple' is no key=value"),
        (("run", "var", "--param", "ddof=1"), "WF127: var takes no parameter 'ddof': it takes correction"),
        (
            ("run", "var", "--param", "correction=one"),
            "WF148: parameter 'correction' of var is 'one': expected a float",
        ),
        (
            ("run", "summ"),
            "WF801: no reduction or program is called 'summ' (did you mean sum or nansum?): expected one of sum prod",
        ),
        (("run", "sum", "--shape", "4by4"), "WF802: '4by4' is not a shape\n  help: write whole sizes with x between"),
        (("run", "sum", "--shape", "-3x4"), "WF802: '-3x4' is not a shape"),
        (("run", "sum", "--shape", "x".join("1" * 65)), "1x1' is not a shape: it has 65 sizes, expected at most 64\n"),
        (("profile", "sum", "--shape", "x".join("1" * 65)), "WF802: '1x1x"),
        (
            ("run", "sum", "--shape", f"0x{'9' * 20}", "--axis", "0"),
            "WF802: '0x99999999999999999999' is not a shape: expected fewer than 2^63 elements\n  help: write whole",
        ),
        (("run", "sum", "--shape", "0x4611686018427387904x2"), "is not a shape: expected fewer than 2^63 elements"),
        (("explain", "sum", "--shape", "99999999999999999999x4"), "is not a shape: expected fewer than 2^63 elements"),
        (("compile", "sum", "--shape", "3037000500x3037000500"), "is not a shape: expected fewer than 2^63 elements"),
        (("run", "sum", "--shape", "9" * 5000), "is not a shape: expected fewer than 2^63 elements"),
        (
            ("run", "sum", "--shape", "0x1000000000000000", "--axis", "0"),
            "WF811: arrays of shape 0x1000000000000000 and their results take 3638 TiB: this machine has ",
        ),
        (("run", "sum", "--axis", "rows"), "WF803: 'rows' names no axes"),
        (("run", "sum", "--axis", ""), "WF803: '' names no axes"),
        (("run", "sum", *SMALL, "--axis", "2"), "WF101: axis 2 is out of range for an array of rank 2"),
        (("run", "sum", *SMALL, "--axis", "0,-2"), "WF102: axis -2 is repeated"),
        (("run", "max", "--shape", "4x0", "--axis", "1", "--device", "emulator"), "WF104: max of no elements"),
        (("run", "sum", "--dtype", "c32"), "WF105: no rule for elements of type c32"),
        (("run", "sum", "--dtype", "f32,f64"), "WF808: --dtype f32,f64 names 2 types: expected one for all, or 1"),
        (
            ("run", "sum", "--shape", "1000000x1000000x1000"),
            "WF811: arrays of shape 1000000x1000000x1000 take 3638 TiB: this machine has ",
        ),
        (("run", "no_such.py:f"), "WF804: cannot read no_such.py: No such file or directory"),
        (("run", "sum", "--input", "no.npy"), "WF506: cannot read no.npy"),
        (("run", "sum", "--input", "no.npy", "--shape", "4"), "WF814: --input and --shape cannot be given together"),
        (("run", "sum", "--output", "/no/such/folder/out.npy"), "WF505: cannot write /no/such/folder/out.npy: No such"),
        (("run", "unique"), "; unique and segment_reduce are there in Python alone"),
        (("run", "sum", "--output", ""), "WF505: cannot write '': it names no file\n  help: give a path"),
        (("run", "sum", "--output", "/dev"), "WF505: cannot write /dev: it is a folder: expected a regular file"),
        (("run", "sum", *SMALL, "--plan", "warp=3"), "WF402: a plan has no field 'warp' (did you mean warps"),
        (("run", "sum", *SMALL, "--plan", "warps=3"), "WF403: plan field warps cannot be "),
        (("run", "sum", *SMALL, "--plan", "warps=32,warps_kept=2"), "WF404: the plan needs"),
        (("explain", "sum", "--arch", "sm_99"), "WF401: no target is called 'sm_99'"),
        (("compile", "sum", "--emit", "artifact"), "WF812: an artifact is a file and needs a path\n  help: add -o"),
        (("compile", "sum", "--json"), "WF813: ptx has no JSON form\n  help: use --json with --emit plan\n"),
        (
            ("compile", "sum", "--emit", "llvm", "--changes"),
            "WF813: llvm has no changes\n  help: use --changes with --emit s",
        ),
        (
            ("compile", "sum", "--names"),
            "WF813: ptx has no named values\n  help: use --names with --emit program or --emit stages or --emit llvm",
        ),
        (
            ("compile", "sum", "--emit", "plan", "--locations"),
            "WF813: plan has no locations\n  help: use --locations with",
        ),
        (("run", "sum", "--device", "gpu"), "'gpu' is not one of 'auto', 'cuda', 'emulator'"),
        (("run", "sum", "--seed", "-1"), "-1 is not in the range"),
        (("run",), "Missing argument 'OP'"),
    ],
)
def test_bad_requests(words: tuple[str, ...], text: str) -> None:
    assert text in fails(*words)


def test_the_largest_shapes_are_taken() -> None:
    assert "f32 9223372036854775807 over all axes" in call("explain", "sum", "--shape", str(2**63 - 1)).stdout
    assert "result   f32[]" in call("run", "sum", "--shape", "x".join("2" + "1" * 63), "--device", "emulator").stdout
    empty = call("run", "sum", "--shape", "0x3", "--axis", "0", "--device", "emulator").stdout
    assert "value    [0. 0. 0.]" in empty


def _npy(tmp_path: Path, kind: str) -> Path:
    path = tmp_path / f"{kind}.npy"
    if kind == "short":
        np.save(path, np.arange(1000.0))
        path.write_bytes(path.read_bytes()[:-100])
    elif kind == "pickled":
        np.save(path, np.array([{}], dtype=object), allow_pickle=True)
    elif kind == "text":
        path.write_text("1 2 3")
    elif kind == "words":
        np.save(path, np.array(["one", "two"]))
    else:
        np.save(path, np.zeros(3, np.clongdouble))
    return path


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("short", "WF507: "),
        ("pickled", "WF508: "),
        ("text", "WF509: "),
        ("words", "WF105: no rule for elements of type"),
        ("complex", "WF105: no rule for elements of type complex256"),
    ],
)
def test_bad_files(tmp_path: Path, kind: str, text: str) -> None:
    output = tmp_path / "out.npy"
    assert text in fails("run", "sum", "--input", _npy(tmp_path, kind), "--output", output, "--device", "emulator")
    assert not output.exists()


def test_a_file_of_complex_numbers(tmp_path: Path) -> None:
    z = np.arange(12).reshape(3, 4) * (1 + 2j)
    np.save(tmp_path / "z.npy", z)
    words = ("--input", tmp_path / "z.npy", "--axis", "1", "--device", "emulator", "--output", tmp_path / "out.npy")
    assert "result   c128[3]" in call("run", "sum", *words).output
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), z.sum(1))
    assert "WF225: c128 has no order" in fails("run", "max", *words)


def test_inputs_of_several_shapes(tmp_path: Path) -> None:
    for name, n in (("a", 3), ("b", 4)):
        np.save(tmp_path / f"{name}.npy", np.ones(n, np.float32))
    both = ("--input", tmp_path / "a.npy", "--input", tmp_path / "b.npy")
    message = fails("run", f"{MONOIDS}:affine", *both)
    assert "WF809: " in message
    assert "b.npy has shape (4,): expected (3,), the shape of " in message
    assert "WF819: sum takes 1 input array(s), got 2 --input file(s)\n  help: give --input 1 time(s)" in fails(
        "run", "sum", *both
    )
    assert "WF819: dot takes 2 input array(s), got 1 --input file(s)" in fails("run", "dot", *both[:2])


USER_FILE = """\
import warpfold as wf

FACTOR = 2

@wf.monoid(identity=0)
def total(a, b):
    return a + b

@wf.monoid(identity=0.0)
def branches(a, b):
    return a if a > b else b

@wf.monoid(identity=0)
def two(a, b):
    return a, b

def unfolded(x):
    return x * x

def misspelt(x):
    return wf.fold(total, helper(x))

def helper(x):
    return wf.sqaured(x)

def captures(x):
    import numpy
    return wf.fold(total, x + numpy.ones(3))

def several(*xs):
    return wf.fold(total, xs[0] * xs[-1])

def unknown(x):
    return wf.fold(total, unhelpful(x))

def unhelpful(x):
    return x * factor
"""


def test_a_function_of_any_number_of_inputs(tmp_path: Path) -> None:
    path = tmp_path / "rows.py"
    path.write_text(USER_FILE)
    for kinds, shown in (("f32", ["f32"]), ("f32,f64", ["f32", "f64"])):
        result = call("run", f"{path}:several", *SMALL, "--dtype", kinds, "--json")
        assert json.loads(result.stdout)["dtypes"] == shown


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("totl", ["WF806: ", "called 'totl' (did you mean total?): it has total branches two"]),
        ("", ["WF818: ", "rows.py does not say what to compute: it has total branches", "rows.py:name with one"]),
        ("FACTOR", ["WF807: FACTOR of ", "is a int: expected a wf.monoid, a wf.program or a function"]),
        ("branches", ["WF201: ", "rows.py:11: return a if a > b else b", "wf.where"]),
        ("two", ["WF208: combine function two returns 2 value(s): expected 1", "rows.py:13"]),
        ("misspelt", ["WF175: warpfold has no sqaured", "rows.py:24: return wf.sqaured(x)"]),
        ("unknown", ["WF810: ", "NameError: name 'factor' is not defined", "from ",
                     "rows.py:34: return wf.fold(total, unhelpful(x))", "rows.py:37: return x * factor"]),
        ("captures", ["WF205: the function uses a value of type ndarray", "rows.py:28: return wf.fold(total, x"]),
    ],
)  # fmt: skip
def test_mistakes_in_the_users_file(tmp_path: Path, name: str, texts: Sequence[str]) -> None:
    path = tmp_path / "rows.py"
    path.write_text(USER_FILE)
    message = fails("run", f"{path}:{name}", *SMALL)
    for text in texts:
        assert text in message


def test_a_file_without_a_name(tmp_path: Path) -> None:
    path = tmp_path / "rows.py"
    path.write_text(USER_FILE)
    assert "it has total branches two unfolded misspelt helper captures several unknown unhelpful" in fails("run", path)


def test_a_file_that_does_not_import_shows_the_users_lines_only(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("import json\n\ndef read():\n    return json.loads('{')\n")
    path = tmp_path / "broken.py"
    path.write_text("import helper\n\nTABLE = helper.read()\n")
    lines = fails("explain", f"{path}:f").splitlines()
    assert lines[0].startswith(f"WF805: {path} does not import: JSONDecodeError: ")
    assert lines[1] == f"  from {path}:3: TABLE = helper.read()"
    assert lines[2] == f"  at {tmp_path}/helper.py:4: return json.loads('{{')"
    assert len(lines) == 4


def test_output_of_the_users_file_is_kept_out_of_the_answer(tmp_path: Path) -> None:
    """Neither output from loading the file nor output from tracing its functions is in the answer."""
    readme = (EXAMPLES.parent / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    path = tmp_path / "r.py"
    path.write_text(
        "".join(blocks) + "\ndef loud(x):\n    print('tracing')\n    return wf.sqrt(wf.fold(wf.SUM, x * x))\n"
    )
    result = call("run", f"{path}:loudness", "--shape", "4x4", "--device", "emulator", "--json")
    assert json.loads(result.stdout)["passed"] is True
    assert result.stderr.startswith("[5. 1.] [50.  4.]\n")
    for words in (("run", "--device", "emulator"), ("compile", "--emit", "plan"), ("spread", "--seeds", "1")):
        result = call(words[0], f"{path}:loud", "--shape", "4x4", *words[1:], "--json")
        assert "plan" in json.loads(result.stdout)
        assert "tracing\n" in result.stderr


def test_a_file_that_ends_the_process_does_not_import(tmp_path: Path) -> None:
    path = tmp_path / "exits.py"
    path.write_text("import sys\n\nsys.exit(3)\n")
    message = fails("run", f"{path}:f")
    assert f"WF805: {path} does not import: SystemExit: 3\n  at {path}:3: sys.exit(3)\n" in message


def test_a_file_with_a_syntax_error(tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text("x = 1\ndef f(:\n")
    message = fails("run", f"{path}:f")
    assert "does not import: SyntaxError: " in message
    assert f"at {path}:2: def f(:" in message


def test_cuda_without_cuda_is_refused() -> None:
    if cuda_backend.find():
        pytest.skip("tests the refusal without a CUDA device, and there is one")
    message = fails("run", "sum", "--shape", "4", "--device", "cuda")
    assert re.match("WF60[45]: ", message)
    assert message.endswith("or run on the emulator: device='emulator' (--device emulator)\n")
    said = " ".join(call("doctor").stdout.split())
    assert "or run on the emulator: device='emulator' (--device emulator), the default where no device is" in said


# --- files, pipes and interruptions ------------------------------------------------------------------------------
def test_an_output_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    output = Output(str(path))

    def stops(f: Any) -> None:
        f.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        output.write(stops)
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
    assert path.read_text() == "old"


def test_a_full_disk_is_a_coded_error(tmp_path: Path) -> None:
    def full(_f: Any) -> None:
        raise OSError(28, "No space left on device")

    output = Output(str(tmp_path / "out"))
    with pytest.raises(WarpfoldError, match=r"WF505: cannot write .*out: No space left on device"):
        output.write(full)
    assert list(tmp_path.iterdir()) == []


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to("file")
    Output(str(tmp_path / "link")).write(lambda f: f.write(b"new"))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "new"


def test_an_input_is_never_replaced_by_the_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An input is recognised under any of its names."""
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.arange(12.0).reshape(3, 4))
    Path("link.npy").symlink_to("x.npy")
    for name in ("x.npy", "link.npy", str(tmp_path / "x.npy")):
        words = ("run", "sum", "--input", "x.npy", "--axis", "0", "--device", "emulator", "--output", name)
        assert f"WF505: cannot write {name}: it is an input of this command" in fails(*words)
    assert np.load("x.npy").shape == (3, 4)


def test_an_unwritable_output_is_found_before_the_work(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def never(*_: object) -> None:
        raise AssertionError("the work began")

    monkeypatch.setattr(run_command, "perform", never)
    assert "WF505" in fails("run", "sum", "--output", tmp_path / "no" / "out.npy")
    assert "WF505" in fails("run", "sum", "--output", tmp_path)


def test_a_pipe_gets_plain_text_and_exit_codes() -> None:
    done = shell("run", "sum", *SMALL, "--axis", "1")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    assert "\r" not in done.stdout
    assert all(line == line.rstrip() for line in done.stdout.splitlines())
    wrong = shell("run", "nosuch")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr.startswith("WF801: ")


def test_a_closed_pipe_is_no_traceback() -> None:
    command = (
        f"{sys.executable} -m warpfold.cli compile sum --shape 4096 --emit stages | head -n 1; exit ${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.startswith("// =====")
    assert "Traceback" not in done.stderr


def test_a_full_standard_output_is_a_coded_error() -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "warpfold.cli", "compile", "sum", "--shape", "4096", "--emit", "stages"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("WF505: cannot write standard output: No space left on device")


def test_an_array_given_as_an_argument_names_the_option_for_it() -> None:
    result = CliRunner().invoke(cli, ["run", "vecdot", "x.npy", "y.npy"])
    assert result.exit_code == 2
    assert "extra arguments (x.npy y.npy): name arrays by --input x.npy --input y.npy" in result.output
    result = CliRunner().invoke(cli, ["run", "sum", "4096"])
    assert result.exit_code == 2
    assert "extra argument (4096)\n" in result.output
    result = CliRunner().invoke(cli, ["doctor", "x.npy"])  # which has no such option
    assert result.exit_code == 2
    assert "extra argument (x.npy)\n" in result.output


@pytest.mark.parametrize("command", ["run", "explain", "tune", "profile"])
def test_a_shape_given_as_an_argument_names_the_option_for_it(command: str) -> None:
    result = CliRunner().invoke(cli, [command, "sum", "64x1000"])
    assert result.exit_code == 2
    assert "Error: Got unexpected extra argument (64x1000): give a shape by --shape 64x1000\n" in result.output
    result = CliRunner().invoke(cli, ["check", "own.py:f", "64x1000"])  # which may be a program of arrays
    assert result.exit_code == 2
    assert "extra argument (64x1000): give a shape by --shape 64x1000\n" in result.output
    result = CliRunner().invoke(cli, ["run", "sum", "64x1000", "x.npy"])
    assert result.exit_code == 2
    assert "(64x1000 x.npy)\n" in result.output


def test_ctrl_c_leaves_no_file(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    cache = tmp_path_factory.mktemp("interrupted")
    np.save(tmp_path / "x.npy", np.ones(1 << 24, np.float32))  # a minute, on a machine that has others to serve, too
    command = [sys.executable, "-m", "warpfold.cli", "run", "logsumexp", "--input", "x.npy", "--output", "out.npy",
               "--device", "emulator", "--plan", "vector=1,unroll=1,lanes=1,warps=1"]  # fmt: skip
    environment = {**os.environ, "WARPFOLD_CACHE_DIR": str(cache)}
    pipes: dict[str, Any] = {"stderr": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # what runs in the background ignores it
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, preexec_fn=heard, **pipes)
    while not list(cache.rglob("*.warpfold")):  # compiled: what follows takes long
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert (out, err) == ("", "interrupted: nothing was written\n")
    assert [p.name for p in tmp_path.iterdir()] == ["x.npy"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [(("var", "--param", "correction=1"), np.var([1.0, 2, 4], ddof=1)), (("norm", "--param", "ord=inf"), 4.0),
     (("norm", "--param", "ord=1"), 7.0), (("sum", "--param", "dtype=f64", "--param", "initial=0.5"), 7.5)],
)  # fmt: skip
def test_parameters_reach_the_operation(tmp_path: Path, words: tuple[str, ...], expected: float) -> None:
    np.save(tmp_path / "x.npy", np.array([1.0, 2, 4]))
    result = CliRunner().invoke(
        cli, ["run", *words, "--input", str(tmp_path / "x.npy"), "--json", "--device", "emulator"]
    )
    assert result.exit_code == 0, result.output
    assert json.loads(result.output)["results"][0]["value"] == pytest.approx(expected, rel=1e-14)


# --- the judge of results ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["f32", "f64", "bf16", "i32", "u8", "bool"])
@pytest.mark.parametrize("name", list(reference.BUILT_IN))
def test_the_evaluator_agrees_with_numpy(name: str, kind: str) -> None:
    x = random_inputs.from_seed((5, 7, 9), (dtype(kind),), 3)[0]
    evaluator = Evaluator(program(FUNCTIONS[name], (dtype(kind),)), [x], (0, 2))
    with np.errstate(all="ignore"):
        expected = reference.BUILT_IN[name](rows(x, (0, 2)))
    (found,) = evaluator.outputs()
    np.testing.assert_allclose(found.astype(np.float64), expected.astype(np.float64), rtol=1e-6, atol=1e-5)


def test_the_evaluator_folds_in_order_and_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    @wf.monoid(identity=(1.0, 0.0), commutative=False)
    def affine(a: Any, b: Any) -> Any:
        return a[0] * b[0], a[1] * b[0] + b[1]

    rng = np.random.default_rng(0)
    s, t = rng.uniform(0.5, 1.5, (3, 101)), rng.standard_normal((3, 101))
    folded = program(lambda x, y: wf.fold(affine, x, y), (dtype("f64"), dtype("f64")))
    scale, shift = np.ones(3), np.zeros(3)
    for i in range(101):
        scale, shift = scale * s[:, i], shift * s[:, i] + t[:, i]
    for piece in (7, 64, 1 << 20):
        monkeypatch.setattr("warpfold.commands.checking.evaluate.PIECE", piece)
        found = Evaluator(folded, [s, t], (1,)).outputs()
        np.testing.assert_allclose(found, [scale, shift], rtol=1e-12)


def test_an_empty_fold_is_the_identity() -> None:
    x = np.zeros((3, 0), np.float32)
    assert Evaluator(program(FUNCTIONS["sum"], (dtype("f32"),)), [x], (1,)).outputs()[0].tolist() == [0.0] * 3


@pytest.mark.parametrize(("wrong", "passes"), [(0.0, True), (1e-5, True), (0.5, False)])
def test_a_lost_element_fails_the_check(wrong: float, passes: bool) -> None:
    x = random_inputs.from_seed((1 << 16,), (dtype("f32"),), 0)[0]
    evaluator = Evaluator(program(FUNCTIONS["sum"], (dtype("f32"),)), [x], (0,))
    got = np.asarray(x.sum(dtype=np.float64) + wrong, np.float32)
    (check,) = reference.check("sum", evaluator, [x], (0,), [got], 24)
    assert check.passed is passes


@pytest.mark.parametrize("kind", ["f16", "bf16", "f32", "f64", "i32"])
@pytest.mark.parametrize("name", ["describe", "minmax", "max", "nanmin"])
def test_extremes_must_be_equal_whatever_other_results_there_are(name: str, kind: str) -> None:
    found = json.loads(call("run", name, *SMALL, "--axis", "1", "--dtype", kind, "--json").stdout)
    extremes = [r for r in found["results"] if r["name"] in ("", "min", "max", "argmin", "argmax", "nonzero", "count")]
    assert [(r["name"], r["exact"], r["allowed"]) for r in extremes] == [(r["name"], True, 0) for r in extremes]


def test_an_extreme_is_checked_where_sums_overflow(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([3.4028e38, -3.4028e38, 1], np.float32))
    words = ("--input", tmp_path / "x.npy", "--device", "emulator")
    assert "check    passed: equal to NumPy's" in call("run", "max", *words).stdout
    shown = call("run", "describe", *words).stdout
    for name in ("count", "nonzero", "min", "max", "argmin", "argmax"):
        assert re.search(rf"^check {name} +passed: equal to NumPy's$", shown, re.MULTILINE), shown
    assert re.search(r"^check mean +passed: error ", shown, re.MULTILINE), shown
    assert re.search(r"^value var +inf\ncheck var +passed: equal to NumPy's$", shown, re.MULTILINE), shown
    assert re.search(r"^check std +not checked: partial results overflow their type, so nothing", shown, re.MULTILINE)


def test_nan_and_infinity_must_be_where_numpy_has_them() -> None:
    x = np.array([[1, np.nan], [np.inf, 1], [1, 2]], np.float32)
    evaluator = Evaluator(program(FUNCTIONS["sum"], (dtype("f32"),)), [x], (1,))
    for got, passed in (([np.nan, np.inf, 3], True), ([1, np.inf, 3], False), ([np.nan, np.nan, 3], False)):
        (check,) = reference.check("sum", evaluator, [x], (1,), [np.array(got, np.float32)], 4)
        assert check.passed is passed


# --- the examples ------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "temperature.npy"
    done = subprocess.run([sys.executable, EXAMPLES / "make_data.py", path], capture_output=True, text=True, check=True)
    assert "float32 365x24x100" in done.stdout
    return path


@pytest.mark.parametrize(
    ("name", "files"),
    [("total", 1), ("extremes", 2), ("degree_hours", 1), ("rms", 1), ("span", 1), ("peak", 1), ("moving_level", 1),
     ("frost", 1)],
)  # fmt: skip
def test_the_examples_run(data: Path, name: str, files: int) -> None:
    result = call(
        "run", f"{MONOIDS}:{name}", *("--input", data) * files, "--axis", "0,1", "--device", "emulator", "--json"
    )
    assert json.loads(result.stdout)["passed"] is True


def test_data_that_cannot_be_written_is_no_traceback(tmp_path: Path) -> None:
    path = tmp_path / "no" / "x.npy"
    done = subprocess.run(
        [sys.executable, EXAMPLES / "make_data.py", path], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (1, f"cannot write {path}: No such file or directory\n")


def test_the_examples_over_several_inputs() -> None:
    for name, kinds in (("affine", "f64"), ("larger", "f32,i64")):
        request = (
            "run",
            f"{MONOIDS}:{name}",
            "--shape",
            "6x50",
            "--dtype",
            kinds,
            "--axis",
            "1",
            "--device",
            "emulator",
        )
        assert json.loads(call(*request, "--json").stdout)["passed"] is True


def test_the_examples_run_from_python() -> None:
    done = subprocess.run([sys.executable, MONOIDS], capture_output=True, text=True, check=True)
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["highest", "15575.9"]


def test_every_example_is_shown_to_run() -> None:
    request = Request(f"{MONOIDS}:nothing")
    with pytest.raises(WarpfoldError) as caught:
        assert request.what
    known = caught.value.message.rpartition("it has ")[2].split()
    shown = {"total", "extremes", "degree_hours", "rms", "span", "peak", "moving_level", "frost"}
    assert {*known} == shown | {"affine", "larger"}


def test_the_first_run_script_names_commands_that_are_there() -> None:
    text = (EXAMPLES / "first_run.sh").read_text()
    used = {line.split()[2] for line in text.splitlines() if line.startswith("try warpfold ")}
    assert used <= set(cli.commands)
    assert os.access(EXAMPLES / "first_run.sh", os.X_OK)


@pytest.mark.parametrize(("wrong", "passes"), [(0.0, True), (1e-5, True), (0.5, False)])
def test_a_product_may_be_off_by_the_roundings_of_its_factors(wrong: float, passes: bool) -> None:
    """A lost factor of 2 fails the check; the rounding of ten thousand factors passes."""
    x = (1 + np.random.default_rng(1).standard_normal(10_000) * 1e-3).astype(np.float32)
    evaluator = Evaluator(program(FUNCTIONS["prod"], (dtype("f32"),)), [x], (0,))
    got = np.asarray(x.prod(dtype=np.float64) * (1 - wrong), np.float32)
    (check,) = reference.check("prod", evaluator, [x], (0,), [got], 24)
    assert check.passed is passes


def test_a_variance_is_judged_as_strictly_as_a_sum() -> None:
    x = np.random.default_rng(1).standard_normal(300_000).astype(np.float32)
    evaluator = Evaluator(program(FUNCTIONS["var"], (dtype("f32"),)), [x], (0,))
    got = np.asarray(x.var(dtype=np.float64), np.float32)
    (check,) = reference.check("var", evaluator, [x], (0,), [got], 24)
    assert check.allowed < 2e-5


def test_a_run_may_leave_out_its_check(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(run_command, "_check", None)  # nothing is evaluated
    out = tmp_path / "out.npy"
    shown = call("run", "minmax", *SMALL, "--no-check", "--output", out).stdout
    assert len(re.findall(r"^check (min|max) +left out \(--no-check\)$", shown, re.MULTILINE)) == 2
    assert out.exists()
    found = json.loads(call("run", "sum", *SMALL, "--no-check", "--json").stdout)
    assert found["passed"] is None
    assert "error" not in found["results"][0]


@pytest.mark.parametrize(("results", "whole"), [(8, True), (9, False), (64, False)])
def test_results_of_more_than_eight_elements_are_shortened(results: int, whole: bool) -> None:
    shown = call("run", "sum", "--shape", f"{results}x5", "--axis", "1", "--device", "emulator").stdout
    (value,) = re.findall(r"^value +(.*)$", shown, re.MULTILINE)
    assert ("..." in value) is not whole
    assert len(value.split()) <= 10
