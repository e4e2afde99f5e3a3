"""What every test shares: the ``--gpu`` flag, and the root folder kept from being taken for a package of tests."""

from __future__ import annotations

import fcntl
import gc
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from touched import spared

ROOT = Path(__file__).parent.parent


class RootIsNoTestPackage:
    """Collects the root as a plain folder: as a package, its ``__init__.py`` would be imported under another name."""

    def pytest_collect_directory(self, path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        return pytest.Dir.from_parent(parent, path=path) if path == ROOT else None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--gpu", action="store_true", help="also run the tests that need a CUDA device")
    parser.addoption("--spare", action="store_true", help="leave out slow tests whose functions enough others run")
    parser.addoption(
        "--only", metavar="FILE", help="run just the tests and files of tests that FILE lists, in its order"
    )


def pytest_configure(config: pytest.Config) -> None:
    # Tests compile for themselves, in a cache of their own that all workers of a run share.
    if "WARPFOLD_CACHE_DIR" not in os.environ:
        os.environ["WARPFOLD_CACHE_DIR"] = cache = tempfile.mkdtemp(prefix="warpfold-tests-")
        config.add_cleanup(lambda: shutil.rmtree(cache, ignore_errors=True))
    Path(os.environ["WARPFOLD_CACHE_DIR"]).mkdir(parents=True, exist_ok=True)
    # JAX would take most of a GPU's memory in each worker.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    # As an object: the hooks of this module itself do not apply to the folder above it.
    config.pluginmanager.register(RootIsNoTestPackage())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if (only := config.getoption("--only")) is not None:
        places = {line: place for place, line in enumerate(Path(only).read_text().splitlines())}
        place_of = {item: places.get(item.nodeid, places.get(item.nodeid.partition("::")[0])) for item in items}
        config.hook.pytest_deselected(items=[item for item in items if place_of[item] is None])
        items[:] = sorted((i for i in items if place_of[i] is not None), key=lambda item: place_of[item] or 0)
    if config.getoption("--spare"):
        left_out = spared(item.nodeid for item in items)
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left_out])
        items[:] = [item for item in items if item.nodeid not in left_out]
    marked = [item for item in items if item.get_closest_marker("gpu")]
    reason = _why_no_gpu(asked=config.getoption("--gpu")) if marked else None
    if reason is not None:
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=reason))


def pytest_collection_finish(session: pytest.Session) -> None:
    # Tests make millions of short-lived objects beside modules and tests that stay: searching these for cycles after
    # every few hundred took a sixth of the time. All are searched after some ten million, about a GB: workers that
    # never did so had 13 GB at the end. On a GPU, garbage would hold the memory that some tests measure.
    if session.config.getoption("--gpu"):
        return
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 10)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """With a GPU, a test marked ``timing`` waits for the tests of other workers to end, and they wait for it."""
    if not item.config.getoption("--gpu"):
        return (yield)
    with Path(os.environ["WARPFOLD_CACHE_DIR"], "running").open("a") as running:
        fcntl.flock(running, fcntl.LOCK_EX if item.get_closest_marker("timing") else fcntl.LOCK_SH)
        return (yield)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says how many of the planted faults that tests name (``record_property``) were found."""
    stats = terminalreporter.stats
    found, missed = (
        sum(name == "planted" for report in stats.get(outcome, ()) for name, _ in report.user_properties)
        for outcome in ("passed", "failed")
    )
    if found + missed:
        terminalreporter.write_line(f"sanitizer: found {found} / planted {found + missed}")


def _why_no_gpu(*, asked: bool) -> str | None:
    """The reason to skip GPU tests, or None when a device answers; looks for one only when asked."""
    if not asked:
        return "needs --gpu"
    try:
        from cuda.bindings import driver

        (status,) = driver.cuInit(0)
        if status != driver.CUresult.CUDA_SUCCESS:
            return f"no CUDA device: {status.name}"
        status, count = driver.cuDeviceGetCount()
    except (ImportError, RuntimeError) as problem:
        return f"no CUDA driver: {problem}"
    return None if count else "no CUDA device"
