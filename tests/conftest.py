"""What every test shares: the ``--gpu`` flag, which tests marked ``gpu`` need."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--gpu", action="store_true", help="also run the tests that need a CUDA device")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    marked = [item for item in items if item.get_closest_marker("gpu")]
    reason = _why_no_gpu(asked=config.getoption("--gpu")) if marked else None
    if reason is not None:
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=reason))


def _why_no_gpu(*, asked: bool) -> str | None:
    """The reason to skip GPU tests, or None when a device answers; looks for one only when asked."""
    if not asked:
        return "needs --gpu"
    try:
        from cuda.bindings import driver
    except ImportError as problem:
        return f"cuda-python does not import: {problem}"
    try:
        (status,) = driver.cuInit(0)
        status, count = driver.cuDeviceGetCount() if status == driver.CUresult.CUDA_SUCCESS else (status, 0)
    except RuntimeError as problem:
        return f"no CUDA driver: {problem}"
    return None if count else f"no CUDA device: {status.name}"
