"""The cache on disk: whose folder is used, and that an entry is what its caller would compile."""

from __future__ import annotations

import json
import os
import stat
import warnings
from pathlib import Path

import numpy as np
import pytest
from altered import mutants, sealed

import warpfold as wf
from warpfold.commands import doctor
from warpfold.compiler.driver import artifact_file
from warpfold.compiler.errors import WarpfoldWarning
from warpfold.runtime import cache, prepare, tuned_plans
from warpfold.runtime.api import plan_for

X = np.random.default_rng(0).integers(-9, 9, (6, 40)).astype(np.float32)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder that does not exist yet."""
    monkeypatch.setenv("WARPFOLD_CACHE_DIR", str(tmp_path / "cache"))
    cache.clear_memory()
    cache._warn_once.cache_clear()
    return tmp_path / "cache"


def entry(folder: Path) -> Path:
    """The one file in a cache."""
    (found,) = [f for f in folder.rglob("*") if f.is_file()]
    return found


@pytest.mark.parametrize("mask", [0o000, 0o002, 0o077])
def test_only_the_owner_may_access_the_folder(mask: int, folder: Path) -> None:
    old = os.umask(mask)
    try:
        wf.sum(X, device="emulator")
        tuned_plans.keep(tuned_plans.Find("a", "unroll=1"))
    finally:
        os.umask(old)
    modes = {stat.S_IMODE(p.stat().st_mode) for p in (folder, *folder.rglob("*")) if p.is_dir()}
    assert modes == {0o700}
    assert {stat.S_IMODE(p.stat().st_mode) for p in folder.rglob("*") if p.is_file()} == {0o600}


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702, 0o1777])
def test_a_folder_that_others_may_write_into_is_not_used(mode: int, folder: Path) -> None:
    """Neither for artifacts nor for tuned plans; a single warning says so, and calls work."""
    ready = plan_for("max", (4096, 8192), axis=1)
    wf.sum(X, device="emulator")
    kept = tuned_plans.keep(tuned_plans.Find(tuned_plans.key(ready.task, "GPU"), "unroll=1"))
    assert tuned_plans.better(ready.task, ready.choice, "GPU").plan.unroll == 1
    before = sorted(folder.rglob("*"))
    folder.chmod(mode)
    cache.clear_memory()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert wf.sum(X, axis=0, device="emulator").tolist() == X.sum(0).tolist()
        assert tuned_plans.better(ready.task, ready.choice, "GPU") is ready.choice
    assert [w.category for w in caught] == [WarpfoldWarning]
    assert str(caught[0].message).startswith(f"WF511: the cache folder {folder} is not used: others may write into it ")
    assert f"(mode {mode & 0o777:o})\n  help: make it yours alone (chmod 700 {folder})" in str(caught[0].message)
    assert sorted(folder.rglob("*")) == before
    with pytest.raises(wf.WarpfoldError, match=r"WF505: cannot write .*: the cache is not used"):
        tuned_plans.keep(tuned_plans.Find("b", "unroll=1"))
    _, fine, text, advice = doctor._cache()
    assert (fine, advice) == (False, "make it yours alone, or set WARPFOLD_CACHE_DIR")
    assert "is not used: others may write into it" in text
    folder.chmod(0o700)
    assert tuned_plans.read(kept) is not None


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a folder to somebody else")
def test_a_folder_of_somebody_else_is_not_used(folder: Path) -> None:
    folder.mkdir(0o755)
    os.chown(folder, 12345, -1)
    with pytest.warns(WarpfoldWarning, match="WF511: .* is not used: it belongs to user 12345"):
        assert wf.sum(X, device="emulator") == X.sum()
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("mode", [0o700, 0o755])
def test_a_folder_that_only_its_owner_may_write_into_is_used(mode: int, folder: Path) -> None:
    folder.mkdir()
    folder.chmod(mode)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert wf.sum(X, device="emulator") == X.sum()
    assert entry(folder)


def test_an_entry_that_was_altered_is_not_run(folder: Path) -> None:
    """Whatever was altered, the checksum matches: the entry is what the caller would compile, or is made again."""
    ready = plan_for("sum", X.shape, axis=1)
    wanted = prepare.artifact(ready)
    path = entry(folder)
    j = json.loads(path.read_bytes().partition(b"\n")[2])
    alike = 0
    for words, mutant in mutants(j, 300, seed=3):
        path.write_bytes(sealed(mutant))
        cache.clear_memory()
        found = prepare.cached(ready)
        if found is not None:
            assert found.without_code() == wanted.without_code(), words
            alike += 1
    assert alike < 30  # what was altered is provenance, or code


@pytest.mark.parametrize("other", ["max", "prod", "nansum"])
def test_another_kernel_under_this_key_is_not_run(other: str, folder: Path) -> None:
    """Not even where its own file names the key and has a sound checksum."""
    x = np.full((6, 40), 2, np.float32)
    wf.reduce(x, other, axis=1, device="emulator")
    j = json.loads(entry(folder).read_bytes().partition(b"\n")[2])
    entry(folder).unlink()
    wf.sum(x, axis=1, device="emulator")
    path = entry(folder)
    path.write_bytes(sealed(j | {"key": path.stem}))
    cache.clear_memory()
    assert wf.sum(x, axis=1, device="emulator").tolist() == [80] * 6
    assert artifact_file.parse(path.read_bytes(), path).name == "sum"  # made again


@pytest.mark.parametrize("change", [{"axis": 0}, {"plan": "unroll=1"}, {"dtype": "i32"}, {"shape": (6, 4096)}])
@pytest.mark.usefixtures("folder")
def test_a_kernel_for_another_reduction_under_this_key_is_not_run(change: dict[str, object]) -> None:
    given: dict[str, object] = {"shape": (6, 40), "axis": 1}
    other = prepare.artifact(plan_for("sum", **(given | change)))  # type: ignore[arg-type]
    ready = plan_for("sum", **given)  # type: ignore[arg-type]
    assert ready.key != other.key
    path = cache._path(ready.key)
    assert cache.make(path.parent)
    path.write_bytes(sealed(json.loads(artifact_file.to_bytes(other).partition(b"\n")[2]) | {"key": ready.key}))
    cache.clear_memory()
    assert prepare.cached(ready) is None
