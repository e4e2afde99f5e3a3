"""Long rows of exponentials: which rows are read in groups, by how many threads, and what is left of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tasks import MANY, simple

import warpfold as wf
from warpfold.compiler.planner.choose import choose
from warpfold.compiler.planner.rows.groups import ACCESSES, IN_VAIN, LEAST, THREADS
from warpfold.compiler.planner.task import Task
from warpfold.compiler.target import WARP


def rows(accesses: int, t: str = "f32", what: str = "logsumexp", many: int = MANY) -> Task:
    """Rows of so many accesses of 16 bytes."""
    return simple(what, (many, accesses * (2 if t == "f64" else 4)), (1,), t)


@pytest.mark.parametrize("t", ["f32", "f64"])
def test_rows_get_the_most_threads_whose_groups_they_fill(t: str) -> None:
    """One whole group of each thread, or several, of which few accesses are missing."""
    unroll = ACCESSES[8 if t == "f64" else 4]
    for accesses in range(LEAST, 20_000, 77):
        plan = choose(rows(accesses, t, many=1 << 16)).plan
        threads = plan.lanes * plan.warps
        made = {n: -(-accesses // (n * unroll)) * n * unroll for n in THREADS}
        served = [n for n, m in made.items() if m == accesses or n * unroll < m <= IN_VAIN * accesses]
        assert (plan.reads == "together") is bool(served), accesses
        if served:
            assert (threads, plan.unroll, plan.lanes) == (max(served), unroll, WARP), accesses


def test_other_rows_are_not_read_in_groups() -> None:
    """Short or few ones, of cheaper combines, of pairs, and those whose bits do not depend on the machine."""
    assert choose(rows(8000)).plan.reads == "together"
    others = [rows(LEAST - 1), rows(8000, many=1000), rows(8000, what="var"), rows(8000, what="sum")]
    others.append(simple("logsumexp", (MANY, 32000), (1,), "bf16"))
    others.append(simple("logsumexp", (MANY, 32001), (1,), "f32"))
    assert not any(choose(task).plan.reads for task in others)


def test_rows_whose_threads_about_fill_the_machine_are_read_as_others() -> None:
    """While the last of them run, most of the machine would wait."""
    for t, accesses, many in (("f32", 1250, 4096), ("f32", 2250, 2000), ("f64", 3500, 2396)):
        assert not choose(rows(accesses, t, many=many)).plan.reads
        assert choose(rows(accesses, t, many=4 * many)).plan.reads == "together"


@pytest.mark.parametrize("n", [4, 128, 700, 4096, 5000, 7036])
def test_what_is_left_of_a_row_is_one_more_group(n: int) -> None:
    """It has the bits of a row that ends with a group: what is missing is the identity."""
    plan = "lanes=32,warps=2,warps_kept=1,unroll=4"
    x = np.random.default_rng(n).normal(size=(2, n)).astype(np.float32)
    whole = np.full((2, -(-n // 1024) * 1024), -math.inf, np.float32)
    whole[:, :n] = x
    found = wf.reduce(x, "logsumexp", axis=1, plan=f"{plan},reads=together")
    np.testing.assert_array_equal(found, wf.reduce(whole, "logsumexp", axis=1, plan=plan))
