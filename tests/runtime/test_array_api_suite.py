"""The Array API test suite passes with warpfold's reductions, scans, norms and sets in NumPy's namespace.

It is no package: ``ARRAY_API_TESTS`` in the environment names a checkout of https://github.com/data-apis/array-api-tests
with its submodule, beside which ``ndindex`` and ``pytest-json-report`` are installed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

SUITE = os.environ.get("ARRAY_API_TESTS", "")
FILES = ("statistical", "utility", "searching", "set")
OURS = (
    "(sum or prod or mean or std or var or max or min or any or all or count_nonzero or unique_values or vecdot or "
    "vector_norm or cumulative or empty_arrays or nan_prop) and not binary and not unary and not iop"
)


@pytest.mark.skipif(not SUITE, reason="ARRAY_API_TESTS names no checkout of the suite")
@pytest.mark.skipif(not find_spec("ndindex"), reason="ndindex is not installed")
def test_the_suite_passes() -> None:
    tests = [f"array_api_tests/test_{name}_functions.py" for name in FILES]
    tests += ["array_api_tests/test_linalg.py", "array_api_tests/test_special_cases.py"]
    env = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]),
        "ARRAY_API_TESTS_MODULE": "array_api_functions",
    }
    options = ["-q", "-W", "ignore", "-p", "no:cacheprovider", "--disable-deadline", "--max-examples", "40", "-k", OURS]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *tests],
        cwd=SUITE,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    assert " passed" in done.stdout
