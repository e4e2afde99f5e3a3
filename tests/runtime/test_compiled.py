"""Artifacts: their summary, saving, loading and refusals, and the cache on disk."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from altered import sealed
from covering import covering

import warpfold as wf
from warpfold.compiler.driver import artifact_file
from warpfold.compiler.planner.choose import NUMBERS
from warpfold.runtime import api, cache, prepare
from warpfold.runtime.backends.emulator_backend import emulator
from warpfold.runtime.programs import fitted


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("WARPFOLD_CACHE_DIR", str(tmp_path))
    cache.clear_memory()
    return tmp_path


def python(code: str, folder: Path) -> str:
    """Runs code in a new process with the cache in ``folder``; returns its output."""
    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], env={**os.environ, "WARPFOLD_CACHE_DIR": str(folder)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    return found.stdout


@pytest.mark.parametrize(
    ("what", "shape", "dtype", "axis", "plan", "text"),
    [
        ("sum", (64, 1000), "f32", 1, "", "sum of x f32 (a, b), "),
        ("max", (2, 3, 4), "i16", (0, 2), "", "max of x i16 (a, b, c), "),
        ("dot", (1 << 20,), ("f32", "f64"), None, "", "dot of x f32 (a), y f64 (a), "),
        ("sum", (), "uint8", None, "", "sum of x u8 (), "),
        ("sum", (1 << 20,), "i32", None, "finish=atomic", "sum of x i32 (a), "),
    ],
)  # fmt: skip
def test_a_compiled_reduction_has_a_one_line_repr(
    what: Any, shape: Any, dtype: Any, axis: Any, plan: str, text: str, tmp_path: Path
) -> None:
    k = wf.compile(what, shape, dtype, axis=axis, arch="sm_80", plan=plan)
    shown = repr(k)
    assert shown.startswith("<warpfold.Compiled: ")
    assert text in shown
    assert ", for sm_80; kernels " in shown
    assert re.findall(r"kernels ([\w, ]+), plan", shown)[0].split(", ") == re.findall(r"\.entry (\w+)\(", k.ptx)
    assert "\n" not in shown
    words = re.findall(r", plan (\S+)>$", shown)[0]
    assert wf.compile(what, shape, dtype, axis=axis, arch="sm_80", plan=words).plan == k.plan
    k.save(tmp_path / "k")
    assert repr(wf.load(tmp_path / "k")) == shown


def test_a_compiled_reduction_shows_itself_and_runs() -> None:
    k = wf.compile("sum", (64, 1000), "f32", axis=1)
    assert ".entry sum(" in k.ptx
    assert k.plan.fast == "reduced"
    names = [s.name for s in k.stages]
    assert names[:3] == ["program", "distribute", "lower-tile-copy"]
    assert ["fold.reduce" in s.ir for s in k.stages[:2]] == [True, False]
    x = np.random.default_rng(0).standard_normal((40, 900)).astype(np.float32)
    np.testing.assert_allclose(k(x, device="emulator"), x.sum(1), rtol=1e-4, atol=1e-4)


@covering(
    (("what", "t"), [("sum", "f32"), ("mean", "bf16"), ("max", "i8"), ("any", "bool"), ("argmax", "f32")]),
    ("n", [1000, 4095, 4096, 6000, 70001]),
)
def test_a_kernel_without_loops_gives_the_bits_of_the_one_that_serves_any_size(what: str, t: str, n: int) -> None:
    """Calls get a kernel for few elements; ``compile`` gives one that serves any number."""
    dtype = ml_dtypes.bfloat16 if t == "bf16" else {"bool": "?", "f32": "f4", "f64": "f8", "i8": "i1"}[t]
    x = np.random.default_rng(n).integers(-100, 100, n).astype(dtype)
    found = api.plan_for(what, (n,), t)
    k = wf.compile(what, (n,), np.int8 if t == "i8" else t)
    assert (found.choice.facts.once, k.artifact.kernels[0].main.facts.once) == (True, False)
    assert np.asarray(wf.reduce(x, what, device="emulator")).tobytes() == np.asarray(k(x, device="emulator")).tobytes()
    more = np.resize(x, 10 * n)
    assert_close(k(more, device="emulator"), wf.reduce(more, what, device="emulator"))


def assert_close(found: object, expected: object) -> None:
    np.testing.assert_allclose(np.asarray(found, "f8"), np.asarray(expected, "f8"), rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize("case", ["flipped", "gaps", "transposed"])
def test_results_that_are_not_contiguous_are_refused(case: str) -> None:
    """A kernel for results at one stride would write them to other places."""
    x = np.random.default_rng(1).standard_normal((8, 16, 31)).astype(np.float32)
    k = wf.compile("sum", x.shape, "f32", axis=1)
    np.testing.assert_allclose(k(x, device="emulator"), x.sum(1), rtol=1e-4, atol=1e-4)
    out = {"gaps": np.full((8, 40), -1, np.float32)[:, :31], "transposed": np.full((31, 8), -1, np.float32).T}.get(case)
    with pytest.raises(ValueError, match=r"WF123: .* results at one stride: the array needs 2 kept and 1 reduced"):
        k(x[::-1] if case == "flipped" else x, out=out, device="emulator")
    assert out is None or (out == -1).all()


@pytest.mark.parametrize("plan", ["coarsening=4", "walk=period,coarsening=2", "walk=staggered", "tile_bytes=4096"])
def test_a_compiled_reduction_runs_under_every_kind_of_plan(plan: str, tmp_path: Path) -> None:
    """Other arrays than it was compiled for, and from its file."""
    axis = 1 if "tile" in plan else 0
    width = 9 if "period" in plan else 257
    wf.compile("sum", (700, width), "f32", axis=axis, plan=plan).save(tmp_path / "k.warpfold")
    k = wf.load(tmp_path / "k.warpfold")
    for rows in (700, 1501):
        x = np.random.default_rng(rows).standard_normal((rows, width)).astype(np.float32)
        np.testing.assert_allclose(k(x, device="emulator"), x.sum(axis), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("determinism", ["run", "portable"])
def test_a_portable_artifact_has_one_launch_on_every_machine(
    determinism: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a machine of 4 multiprocessors a result has fewer CTAs, unless its bits must not depend on that."""
    wf.compile("sum", (2**20,), "f32", determinism=determinism).save(tmp_path / "k.warpfold")
    k = wf.load(tmp_path / "k.warpfold")
    x = np.random.default_rng(0).standard_normal(2**20).astype(np.float32)
    assert k(x, device="emulator") == wf.sum(x, determinism=determinism, device="emulator")
    large = k(x, device="emulator")
    monkeypatch.setattr(emulator(), "sms", 4)
    assert (k(x, device="emulator") == large) == (determinism == "portable")


def test_a_saved_artifact_runs_where_mlir_is_never_imported(tmp_path: Path) -> None:
    wf.compile("argmax", (64, 1000), "f32", axis=1).save(tmp_path / "k.warpfold")
    out = python(f"""
        import sys, numpy as np, warpfold as wf
        k = wf.load({str(tmp_path / "k.warpfold")!r})
        x = np.zeros((3, 700), np.float32); x[:, 123] = 1
        print(k(x, device="emulator").tolist(), [m for m in sys.modules if "mlir" in m])
    """, tmp_path)  # fmt: skip
    assert out.strip() == "[123, 123, 123] []"


def test_a_kind_seen_before_gives_its_first_result_without_mlir(folder: Path) -> None:
    code = """
        import sys, numpy as np, warpfold as wf
        print(wf.sum(np.ones(5000, np.float32), device="emulator"), any("numba_cuda_mlir" in m for m in sys.modules))
    """
    assert python(code, folder).strip() == "5000.0 True"
    assert python(code, folder).strip() == "5000.0 False"


def test_cubins_are_added_for_the_architectures_asked_for(tmp_path: Path) -> None:
    wf.compile("sum", (1000,), "f32", arch="sm_80").save(tmp_path / "k.warpfold", cubins=["sm_80", "sm_86"])
    (found,) = wf.load(tmp_path / "k.warpfold").artifact.kernels
    assert sorted(found.cubins) == ["sm_80", "sm_86"]
    assert all(code.startswith(b"\x7fELF") for code in found.cubins.values())


def with_no_kernels(file: bytes) -> bytes:
    return json.dumps({**json.loads(file.partition(b"\n")[2]), "kernels": []}).encode()


@pytest.mark.parametrize(("damage", "code"), [
    (lambda b: b[:-10], "WF503"), (lambda b: b[: len(b) // 2], "WF503"),
    (lambda b: b.replace(b"add.rn", b"sub.rn"), "WF503"), (lambda b: b[:0], "WF502"),
    (lambda b: b"\x7fELF" + b, "WF502"), (lambda _: sealed(b"{"), "WF502"), (lambda _: sealed(b"{}"), "WF502"),
    (lambda _: sealed(b"[]"), "WF502"), (lambda b: sealed(with_no_kernels(b)), "WF510"),
])  # fmt: skip
def test_a_damaged_file_is_refused(damage: object, code: str, tmp_path: Path) -> None:
    path = tmp_path / "k.warpfold"
    wf.compile("sum", (1000,)).save(path)
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    with pytest.raises(OSError, match=code) as caught:
        wf.load(path)
    assert "help: " in str(caught.value)


def test_a_missing_file_and_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"WF501: cannot read .*none.warpfold: No such file"):
        wf.load(tmp_path / "none.warpfold")
    with pytest.raises(OSError, match=r"WF505: cannot write .*k.warpfold: No such file or directory"):
        wf.compile("sum", (1000,)).save(tmp_path / "none" / "k.warpfold")
    assert list(tmp_path.iterdir()) == []


def test_an_array_that_the_kernel_cannot_serve_is_an_error() -> None:
    k = wf.compile("sum", (64, 1000), "f32", axis=1)
    text = "WF123: this artifact of sum was compiled for elements of type f32: the array needs f64"
    with pytest.raises(ValueError, match=text):
        k(np.zeros((3, 3)), device="emulator")
    with pytest.raises(ValueError, match=r"WF123.*1 kept and 1 reduced dims"):
        k(np.zeros((64, 1000), np.float32).T, device="emulator")


def test_the_result_of_a_permuted_array_has_its_order() -> None:
    """The kernel for two runs of results serves one run, which only a result in the array's order is."""
    x = np.arange(48 * 3 * 64, dtype=np.float32).reshape(48, 3, 64).transpose(0, 2, 1)
    k = wf.compile("sum", (48, 64, 3), "f32", axis=0)
    got = k(x, device="emulator")
    assert got.strides == x.sum(0).strides == (4, 256)
    np.testing.assert_array_equal(got, x.sum(0))
    with pytest.raises(ValueError, match=r"WF123.*2 kept"):
        k(x, out=np.zeros((64, 3), np.float32), device="emulator")


@pytest.mark.parametrize(
    ("dtype", "plan"), [("f32", ""), ("f32", "tile_bytes=16384,lanes=4"), ("int8", "tile_bytes=16384,vector=4")]
)
def test_a_kernel_with_a_tile_serves_all_rows_that_fit(dtype: str, plan: str) -> None:
    """Of large arrays, of one row, of none; and of rows that are no longer than the tile, with or without elements."""
    k = wf.compile("sum", (10**6, 31), dtype, axis=1, plan=plan)
    assert k.plan.tile_bytes == 16384
    source = np.random.default_rng(0)
    for shape in ((7, 31), (500, 7), (1, 31), (1, 1), (40, 1), (3, 1281), (0, 31), (40, 0), (1, 0)):
        x = source.integers(-3, 4, shape).astype({"f32": np.float32, "int8": np.int8}[dtype])
        np.testing.assert_array_equal(k(x, device="emulator"), x.sum(axis=1), str(shape))
        np.testing.assert_array_equal(k(x[::-1, ::-1], device="emulator"), x[::-1].sum(axis=1))


@pytest.mark.parametrize(
    "x",
    [
        np.zeros((3, 5000), np.float32),  # rows that are longer than the tile
        np.zeros((300, 40), np.float32)[:, ::2],  # with too wide gaps
        np.zeros((31, 300), np.float32).T,  # not in one run
    ],
)
def test_a_kernel_with_a_tile_refuses_what_does_not_fit_it(x: np.ndarray) -> None:
    k = wf.compile("sum", (10**6, 31), "f32", axis=1)
    text = (
        "WF123: .* results whose elements lie in one run of memory of 16384 bytes at most: the array needs another plan"
    )
    with pytest.raises(ValueError, match=text):
        k(x, device="emulator")


def test_a_kernel_of_a_large_array_serves_small_ones_with_no_more_dims() -> None:
    """It was compiled for exactly its dims: two kept ones and a reduced one."""
    k = wf.compile("sum", (4 * 10**5, 5, 7), "f32", axis=1)
    assert (k.artifact.kernels[0].main.facts.kept_rank, k.artifact.kernels[0].main.facts.reduced_rank) == (2, 1)
    for shape in ((10, 5, 7), (10, 9, 3), (10, 0, 3), (10, 1, 3), (10, 3, 1), (3, 100, 7)):
        x = np.random.default_rng(0).integers(-3, 4, shape).astype(np.float32)
        np.testing.assert_array_equal(k(x, device="emulator"), x.sum(axis=1), str(shape))
    with pytest.raises(ValueError, match=r"WF123: .* compiled for shapes \(a, b, c\): the array needs \(3, 5, 4, 7\)"):
        k(np.zeros((3, 5, 4, 8), np.float32)[..., :7], device="emulator")


@pytest.mark.parametrize("damage", [lambda b: b[:-5], lambda b: b[:0], lambda b: b"x" + b, lambda b: b[:200]])
def test_a_damaged_cache_file_is_compiled_again(damage: object, folder: Path) -> None:
    x = np.ones(3000, np.float32)
    assert wf.sum(x, device="emulator") == 3000
    (file,) = folder.rglob("*.warpfold")
    good = file.read_bytes()
    file.write_bytes(damage(good))  # type: ignore[operator]
    cache.clear_memory()
    assert wf.sum(x, device="emulator") == 3000
    assert json.loads(file.read_bytes().partition(b"\n")[2])["ptx"] == json.loads(good.partition(b"\n")[2])["ptx"]


def test_a_kernel_in_the_wrong_cache_file_is_never_run(folder: Path) -> None:
    """A sound artifact in the wrong place has another key."""
    x = np.full(3000, 2, np.float32)
    wf.max(x, device="emulator")
    (other,) = folder.rglob("*.warpfold")
    wf.sum(x, device="emulator")
    (own,) = set(folder.rglob("*.warpfold")) - {other}
    own.write_bytes(other.read_bytes())
    cache.clear_memory()
    assert wf.sum(x, device="emulator") == 6000


def test_two_processes_may_write_at_once(folder: Path) -> None:
    code = "import numpy as np, warpfold as wf; print(wf.var(np.arange(999.0), device='emulator'))"
    env = {**os.environ, "WARPFOLD_CACHE_DIR": str(folder)}
    command = [sys.executable, "-c", code]
    runs = [subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert len({r.communicate()[0] for r in runs}) == 1
    (file,) = [f for f in folder.rglob("*") if f.is_file()]
    assert artifact_file.parse(file.read_bytes(), file).name == "var"


def test_a_cache_that_cannot_be_written_costs_only_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("WARPFOLD_CACHE_DIR", str(tmp_path / "file" / "cache"))
    cache.clear_memory()
    assert wf.sum(np.ones(70, np.float32), device="emulator") == 70


def test_the_key_depends_on_everything_that_changes_the_kernel() -> None:
    def key(**changes: object) -> str:
        given = {"what": "sum", "shape": (5000,), "dtype": "f32", "arch": "sm_90a", "plan": ""} | changes
        ready: prepare.Prepared = api.plan_for(**given)  # type: ignore[arg-type]
        return ready.key

    assert key() == key()
    others = [{"what": "prod"}, {"dtype": "f64"}, {"arch": "sm_80"}, {"plan": "unroll=2"}, {"shape": (5, 1000)}]
    assert len({key(), *(key(**o) for o in others)}) == 5  # (5, 1000) collapses to the same geometry
    assert key(shape=(5, 1000)) == key()


# --- results in parts and by name, checks ---
def again(k: wf.Compiled, path: Path) -> wf.Compiled:
    """``k`` saved and loaded."""
    k.save(path / "k.warpfold")
    return wf.load(path / "k.warpfold")


def test_a_saved_sum_of_complex_numbers(tmp_path: Path) -> None:
    k = again(wf.compile("sum", (4, 300), "complex64", axis=1), tmp_path)
    z = (np.arange(900.0) + 1j).reshape(3, 300).astype(np.complex64)
    found = k(z, device="emulator")
    np.testing.assert_allclose(found, z.sum(1), rtol=1e-5)
    assert found.dtype == np.complex64
    with pytest.raises(ValueError, match=r"WF123: .* for elements of type c64: the array needs f32"):
        k(z.real.copy(), device="emulator")
    with pytest.raises(ValueError, match=r"WF124: sum takes 1 input array\(s\), got 2"):
        k(z.real.copy(), z.imag.copy(), device="emulator")


def test_a_saved_program_keeps_the_names_of_its_results(tmp_path: Path) -> None:
    k = again(wf.compile(("sum", "minmax"), (4, 300), "f8e4m3fn", axis=1), tmp_path)
    assert k.artifact.program.structure == ("sum_minmax", (), (0, ("minmax", ("min", "max"), (1, 2))))
    x = np.random.default_rng(0).standard_normal((4, 300)).astype(ml_dtypes.float8_e4m3fn)
    total, (low, high) = found = k(x, device="emulator")
    wide = x.astype(np.float32)
    np.testing.assert_allclose(total, wide.sum(1), rtol=1e-5)
    np.testing.assert_array_equal([low, high], [wide.min(1), wide.max(1)])
    assert found[1]._fields == ("min", "max")
    out = [np.empty((4, 1), np.float32) for _ in range(3)]
    assert k(x, out=out, keepdims=True, device="emulator")[1].max is out[2]
    with pytest.raises(ValueError, match=r"WF123: .* compiled for elements of type f8e4m3fn: the array needs u8"):
        k(x.view(np.uint8), device="emulator")


def test_a_saved_program_still_checks(tmp_path: Path) -> None:
    k = again(wf.compile("nanargmin", (4, 300), axis=1), tmp_path)
    assert k.artifact.program.checks == ("WF134",)
    x = np.full((4, 300), np.nan, np.float32)
    with pytest.raises(ValueError, match="WF134: nanargmin of no elements has no value"):
        k(x, device="emulator")
    x[:, 9] = 1
    assert k(x, device="emulator").tolist() == [9] * 4


def test_a_saved_program_with_a_mask_takes_one(tmp_path: Path) -> None:
    k = again(wf.compile("sum", (4, 300), axis=1, where=True), tmp_path)
    x = np.arange(1200, dtype=np.float32).reshape(4, 300)
    np.testing.assert_array_equal(k(x, where=x % 2 == 0, device="emulator"), x.sum(1, where=x % 2 == 0))
    with pytest.raises(ValueError, match=r"WF123: .* was compiled for calls with where=: the array needs calls"):
        k(x, device="emulator")


def test_a_sum_of_few_bytes_refuses_more_than_its_32_bits_hold(tmp_path: Path) -> None:
    k = again(wf.compile("sum", (1000,), "int8"), tmp_path)
    assert k(np.full(2**20, -128, np.int8), device="emulator") == -(2**27)
    text = "WF123: this artifact of sum was compiled for at most 16777216 elements a result: the array needs more"
    with pytest.raises(ValueError, match=text):
        k(np.zeros(2**24 + 1, np.int8), device="emulator")
    assert again(wf.compile("sum", (2**24 + 1,), "int8"), tmp_path).artifact.program.most == ()


def test_a_kernel_of_many_results_refuses_an_array_that_gives_one() -> None:
    with pytest.raises(
        ValueError, match=r"WF123: this artifact of sum was compiled for shapes \(a, b\): the array needs \(3,\)"
    ):
        wf.compile("sum", (3, 4), axis=0)(np.ones(3, np.float32), device="emulator")


@pytest.mark.parametrize("dtype", ["int8", "uint8", "bool"])
@pytest.mark.parametrize("op", ["argmax", "argmin"])
def test_a_saved_argmin_of_bytes(op: str, dtype: str, tmp_path: Path) -> None:
    """Of no more elements a result than its numbers have bits for; a kernel for more serves fewer as well."""
    x = np.random.default_rng(3).integers(0, 100, (3, 5008)).astype(dtype)
    k = wf.compile(op, (3, 5008), dtype, axis=1)
    k.save(tmp_path / "kernel")
    for kernel in (k, wf.load(tmp_path / "kernel"), wf.compile(op, (2, NUMBERS + 16), dtype, axis=1)):
        np.testing.assert_array_equal(kernel(x), getattr(np, op)(x, axis=1))
    facts = k.artifact.kernels[0].main.facts
    assert facts.places
    assert not fitted.serves(facts, replace(facts, places=False))
    assert fitted.serves(replace(facts, places=False), facts)
    assert "few elements a result" in fitted.words_of(facts)
