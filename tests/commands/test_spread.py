"""``warpfold spread``: ulps are counted; fixed orders have no spread, atomics and others have; races are found."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import islice
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from ml_dtypes import bfloat16

from warpfold.cli import cli
from warpfold.commands import spread as command
from warpfold.commands.checking.ulps import apart, ordered
from warpfold.commands.requests.request import Request
from warpfold.compiler.driver.artifact import Artifact
from warpfold.runtime.prepare import Prepared, artifact


@pytest.fixture(scope="module", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WARPFOLD_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


FEW = "cta=shuffle,coarsening=0,lanes=32,warps=1,vector=1"
"""Fields that stay, so that few orders are left to compile."""


def call(*words: str, code: int = 0) -> Result:
    """Runs the command in this process."""
    result = CliRunner().invoke(cli, ["spread", *words], prog_name="warpfold", catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def facts(*words: str, code: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(call(*words, "--json", code=code).stdout)
    return found


@pytest.mark.parametrize("dtype", [np.float16, bfloat16, np.float32, np.float64])
def test_neighbours_are_one_ulp_apart(dtype: Any) -> None:
    word = np.dtype(f"u{np.dtype(dtype).itemsize}")
    codes = np.array([0, 1, 2, 0x7F, 0x80, 0x3C00], word)
    ups = (codes + word.type(1)).view(dtype)
    assert (ordered(ups) - ordered(codes.view(dtype)) == 1).all()
    assert (ordered(-codes.view(dtype)) - ordered(-ups) == 1).all()
    both = np.array([0.0, -0.0], dtype)
    assert ordered(both).tolist() == [0, 0]
    tiny = codes[1:2].view(dtype)
    assert apart([tiny, -tiny], np.zeros(1)).ulps == 2


@pytest.mark.parametrize(
    ("dtype", "gap"), [(np.int64, 2**64 - 1), (np.uint64, 2**64 - 1), (np.int8, 255), (np.bool_, 1)]
)
def test_the_distance_of_integers_is_their_difference(dtype: Any, gap: int) -> None:
    ends = (False, True) if dtype is np.bool_ else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    low, high = (np.array([v], dtype) for v in ends)
    assert apart([low, high], low).ulps == float(gap)
    assert apart([high, low], low).answers == 2
    assert apart([high, high], high) == apart([high], high).__class__(
        2, 1, 0, 0, *[float(ends[1])] * 2, 0, 1, 0, None, 0
    )


def test_differing_results_are_reported() -> None:
    first, second = (
        np.array([1, 2, nan, 4], np.float32),
        np.array([1, np.nextafter(np.float32(2), 3), nan, 4], np.float32),
    )
    found = apart([first, second], np.array([1, 2, nan, 4.5]))
    assert (found.runs, found.answers, found.ulps, found.where, found.differ, found.size) == (2, 2, 1, 1, 1, 4)
    assert (found.least, found.greatest) == (first[1], second[1])
    assert (found.error, found.error_ulps) == (0.5, 0.5 / 2**-21)
    second[3] = nan
    assert apart([first, second], first.astype(float)).ulps == inf
    assert apart([first, second], first.astype(float)).error == inf


def test_a_fixed_order_has_no_spread_between_schedules_and_other_orders_have() -> None:
    shown = call("sum", "--shape", "6000", "--seeds", "5").stdout
    assert "schedule  0 ulps over 5 seed(s): the schedule cannot change it" in shown
    assert re.search(r"result +schedule +5 +1 +0 ulps ", shown)
    assert re.search(r"orders +\d+ orders of combines, \d+ distinct answers; the farthest from exact with ", shown)
    found = facts("sum", "--shape", "6000", "--seeds", "5")
    (result,) = found["results"]
    assert (found["promised"], found["kept"], result["schedule"]["answers"]) == (True, True, 1)
    assert result["schedule"]["runs"] == 5
    assert 3 < result["orders"]["answers"] <= result["orders"]["runs"] == len(found["plans"])
    assert 1 < result["orders"]["ulps"] < 100
    assert {"cta=serial", "walk=blocked", "lanes=1", "vector=2", "coarsening=1"} <= set(found["plans"])
    spread = np.float32(result["orders"]["greatest"]) - np.float32(result["orders"]["least"])
    assert spread == result["orders"]["ulps"] * np.spacing(np.abs(np.float32(result["orders"]["least"])))


def test_exact_reductions_have_one_answer_in_every_order() -> None:
    shown = call("argmax", "--shape", "8x300", "--axis", "1", "--seeds", "3", "--plan", FEW).stdout
    assert len(re.findall(r"result +(?:schedule|order of combines) +\d+ +1 +0 ", shown)) == 2
    assert re.search(r"orders +\d+ order\(s\) of combines, one answer: 0 ulps", shown)


def test_given_fields_stay() -> None:
    found = facts("sum", "--shape", "3000", "--plan", "walk=blocked,lanes=8", "--seeds", "1")
    assert found["plan"]["walk"] == "blocked"
    assert len(found["plans"]) > 5
    assert all(p.startswith("walk=blocked,lanes=8") for p in found["plans"])
    assert not any(re.search(r"(walk|lanes)=.*(walk|lanes)=.*(walk|lanes)=", p) for p in found["plans"])


def test_results_of_several_parts_have_a_line_each() -> None:
    names = [
        r["name"] for r in facts("sum", "--shape", "500", "--dtype", "c64", "--seeds", "1", "--plan", FEW)["results"]
    ]
    assert names == ["real", "imag"]
    names = [r["name"] for r in facts("mean_var", "--shape", "500", "--seeds", "1", "--plan", FEW)["results"]]
    assert names == ["mean", "var"]


def test_the_element_with_the_largest_difference_is_named() -> None:
    """The worst element differs from line to line, so each line names its place."""
    asked = ("sum", "--shape", "12x16x7", "--axis", "0,2", "--plan", f"fast=reduced,{FEW}", "--seeds", "2")
    shown = call(*asked).stdout
    (result,) = facts(*asked)["results"]
    assert result["orders"]["where"] > 0
    for source, found in (("schedule", result["schedule"]), ("order of combines", result["orders"])):
        least, greatest = (re.escape(f"{found[key]:.9g}") for key in ("least", "greatest"))
        place = rf"\({found['where']},\)"
        assert re.search(rf"^result +{source} .* ulps +{place} +{least} +{greatest} ", shown, re.MULTILINE), shown
    assert re.search(r"^result +from +runs +answers +spread +at +least +greatest +worst error$", shown, re.MULTILINE)
    deeper = call("max", "--shape", "6x5x4", "--axis", "2", "--plan", FEW, "--seeds", "1").stdout
    assert re.search(r"^result +schedule .* ulps +\(0, 0\) ", deeper, re.MULTILINE)
    single = call("sum", "--shape", "500", "--plan", FEW, "--seeds", "1").stdout
    assert re.search(r"^result +from +runs +answers +spread +least +greatest +worst error$", single, re.MULTILINE)


def test_atomics_promise_no_bits() -> None:
    plan = "finish=atomic,coarsening=1,unroll=1,vector=1,lanes=32,cta=shuffle"
    asked = ("sum", "--shape", "40000", "--plan", plan, "--determinism", "none", "--seeds", "6")
    found = facts(*asked)
    assert (found["promised"], found["kept"]) == (False, True)
    assert found["results"][0]["schedule"]["answers"] > 1
    assert "depends on the order of the atomics: finish=atomic promises no bits" in call(*asked).stdout
    exact = facts("sum", "--shape", "40000", "--plan", plan, "--dtype", "i32", "--seeds", "4")
    assert (exact["promised"], exact["results"][0]["schedule"]["answers"]) == (True, 1)


def test_the_example_of_atomics_has_a_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = CliRunner().invoke(cli, ["spread", "--help"], prog_name="warpfold").output
    (line,) = re.findall(r"^ *warpfold spread (.*finish=atomic.*)$", shown, re.MULTILINE)
    every = command.Trials.orders
    monkeypatch.setattr(command.Trials, "orders", lambda self: islice(every(self), 1))
    (result,) = facts(*line.split(), "--seeds", "12")["results"]
    assert result["schedule"]["ulps"] > 0


def test_a_race_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def racy(ready: Prepared) -> Artifact:
        made = artifact(ready)
        return replace(made, ptx=re.sub(r"bar\.sync[^;]*;", "", made.ptx))

    monkeypatch.setattr("warpfold.runtime.programs.run.artifact", racy)
    shown = call("sum", "--shape", "3000", "--seeds", "8", code=1).stdout
    assert "FAILED: the schedule changes it over 8 seed(s), although the plan fixes the order: there is a race" in shown


def test_orders_that_take_too_long_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "LONGEST", 30)
    found = command.measure(Request("sum", shape="3000"), 1)
    assert found.long > 1
    assert "lanes=1,warps=1" not in found.plans
    assert re.search(r"; \d+ more would take too long here", call("sum", "--shape", "3000", "--seeds", "1").stdout)


def test_the_given_plan_runs_however_long_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "LONGEST", 0)
    found = facts("sum", "--shape", "3000", "--plan", "vector=1", "--seeds", "1")
    assert found["plans"] == ["vector=1"]
    shown = call("sum", "--shape", "3000", "--plan", "vector=1", "--seeds", "1").stdout
    assert re.search(r"orders +1 order\(s\) of combines", shown)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("sum", "--shape", "3x0"), "WF816: an array of shape 3x0 has no elements"),
        (("summ",), "WF801: "),
        (("sum", "--shape", "3000", "--plan", "finish=atomic"), "WF408: "),
        (
            ("sum", "--shape", "3000", "--plan", "finish=atomic"),
            'finish=two_kernels, or determinism="none" in Python (--determinism none of spread)\n',
        ),
        (("sum", "--seeds", "0"), "Invalid value for '--seeds'"),
    ],
)
def test_wrong_requests_end_in_codes(words: tuple[str, ...], message: str) -> None:
    assert message in call(*words, code=2).output
