"""``warpfold ladder`` of programs: where a row waits, rung by rung."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from warpfold.cli import cli
from warpfold.commands.programs import ladder, run
from warpfold.compiler.plan.ladder import MASK_RUNGS, PROGRAM_RUNGS
from warpfold.runtime.backends.emulator_backend import EmulatorBackend

NAMES = [rung.name for rung in PROGRAM_RUNGS]
SMALL = ("softmax", "--shape", "32x512", "--device", "emulator")


def call(*words: object, code: int = 0) -> Result:
    result = CliRunner().invoke(cli, ["ladder", *map(str, words)], prog_name="warpfold", catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def report(*words: object, code: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(call(*words, "--json", code=code).stdout)
    return found


def test_all_rungs_in_their_order() -> None:
    text = call(*SMALL).stdout
    assert text.startswith("softmax of x f32 32x512, on emulator of sm_90a\n")
    first, second = text.split("profile of softmax of x f32 32x512, on the emulator\n")
    for part in (first, second):
        assert [line.split()[0] for line in part.splitlines() if line.split()[:1] and line.split()[0] in NAMES] == NAMES
    assert first.count(" passed ") == len(NAMES)
    assert re.search(r"^rung +bytes moved +uniform branches", second, re.MULTILINE)
    assert "GB/s" not in text


def test_what_each_rung_saves() -> None:
    found = {row["rung"]: row for row in report(*SMALL)["rungs"]}
    assert found["row-in-memory"]["moved"] == pytest.approx(2)  # three reads and a write, of a read and a write
    assert 1.5 <= found["two-kernels"]["moved"] < 1.7
    assert found["row-in-cache"]["moved"] == pytest.approx(1.65, abs=0.15)  # two reads and a write, and states
    for name in NAMES[3:]:
        assert found[name]["moved"] == pytest.approx(1, abs=0.05)
        assert found[name]["bank_conflicts"] == 0
    assert found["row-in-warp"]["barriers"] == 0
    each = [found[name]["instructions_per_element"] for name in ("row-in-memory", "row-in-shared", "row-in-cta")]
    assert each == sorted(each, reverse=True)
    assert found["row-in-warp"]["plan"]["resident"] == found["row-in-cta"]["plan"]["resident"] == "registers"
    assert found["row-in-shared"]["changes"].startswith("warps=8,resident=shared")


def test_what_makes_the_words_of_a_mask() -> None:
    """8192 f32: 256 words. A warp that reads every eighth element asks for a sector a lane and uses an eighth of it."""
    found = {row["rung"]: row for row in report("relu", "--shape", "8192", "--device", "emulator")["rungs"]}
    assert list(found) == [rung.name for rung in MASK_RUNGS]
    assert all(row["passed"] for row in found.values())
    bytes_, shuffled, ballot = (found[rung.name] for rung in MASK_RUNGS[:3])
    assert (bytes_["sectors_per_request"], bytes_["bytes_used"]) == (32, 12.5)
    assert bytes_["sectors_per_store"] == pytest.approx((8 * 32 + 1) / 9)  # eight of elements, one of 32 bytes
    assert bytes_["moved"] == pytest.approx(8 * 2 / (2 + 1 / 32), rel=0.01)
    assert (shuffled["sectors_per_request"], ballot["sectors_per_request"]) == (4, 4)
    assert (shuffled["shuffles"], shuffled["votes"]) == (5 * 256, 0)
    assert (ballot["shuffles"], ballot["votes"]) == (0, 256)
    wide = [found[rung.name] for rung in MASK_RUNGS[3:]]
    assert [(row["shuffles"], row["votes"]) for row in wide] == [(0, 256), (0, 64), (3 * 64, 0)]
    assert all(row["sectors_per_request"] == 16 for row in wide)


def test_a_program_that_writes_bits_has_the_rungs_of_a_mask() -> None:
    words = ("leaky_relu", "--shape", "3x100", "--dtype", "f16", "--device", "emulator", "--rung", "redux")
    (row,) = report(*words)["rungs"]
    assert (row["passed"], row["plan"]["word"]) == (True, "redux")


def test_rungs_that_a_row_is_too_long_for_are_not_possible() -> None:
    rows = report("softmax", "--shape", "2x20000", "--device", "emulator", "--rung", "row-in-warp")["rungs"]
    assert [(row["rung"], row["plan"]) for row in rows] == [("row-in-warp", None)]
    assert "a row has 80000 bytes: a thread would keep 157 accesses, at most 64" in rows[0]["refused"]
    text = call("softmax", "--shape", "2x20000", "--device", "emulator", "--rung", "row-in-warp").stdout
    assert re.search(r"^row-in-warp +not possible +resident=registers: ", text, re.MULTILINE)


def test_other_programs_and_types() -> None:
    words = ("layer_norm", "--shape", "16x256", "--shape", "256", "--dtype", "bf16", "--device", "emulator")
    found = report(*words)
    assert found["title"] == "layer_norm of x bf16 16x256, weight bf16 256"
    assert all(row["passed"] for row in found["rungs"])


def test_a_wrong_result_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    launched = run.launched
    monkeypatch.setattr(run, "launched", lambda *a: [r + np.float32(1) for r in launched(*a)])
    assert "FAILED: error 1" in call(*SMALL, "--rung", "row-in-cta", code=1).stdout


def test_a_gpu_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the emulator as the GPU: the median of many launches of each step, each after a flush."""
    spent = iter([7.0, 80.0, 4.0, 60.0, 5.0] * 20)

    class Timed(EmulatorBackend):
        name, device_name = "cuda", "NVIDIA H200"

        def flush(self, _stream: int) -> None:
            pass

        def elapsed(self, work: Any, _stream: int) -> float:
            work()
            return next(spent)

    monkeypatch.setattr("warpfold.runtime.backends.cuda_backend.find", lambda: [0])
    monkeypatch.setattr("warpfold.runtime.backends.cuda_backend.backend", lambda _: Timed())
    monkeypatch.setattr(ladder, "LAUNCHES", 5)
    rows = report(*SMALL[:-2], "--rung", "two-kernels", "--rung", "row-in-cta")["rungs"]
    assert [row["microseconds"] for row in rows] == [14.0, 7.0]  # of two steps, and of one
    assert rows[1]["speedup"] == 2.0
    assert rows[0]["gbs"] == pytest.approx(2 * 32 * 512 * 4 / 14.0 / 1e3)


def test_the_command_draws(tmp_path: Path) -> None:
    call(*SMALL, "--rung", "row-in-cta", "--plot", tmp_path / "one.svg")
    assert (tmp_path / "one.svg").stat().st_size > 1000


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("softmax", "--rung", "simple"), "WF832: the ladder has no rung called 'simple': it has two-kernels row-in"),
        (("sum",), "WF847: sum is a reduction: the rungs of PROGRAM are for rows that are read again\n  help: write "
                   "warpfold ladder --op sum"),
        (("softmaks",), "WF801: "),
        (("softmax", "--shape", "0x8"), "WF836: an array of shape (0, 8)"),
        (("softmax", "--plot", "ladder.txt"), "WF830: ladder.txt is no picture"),
    ],
)  # fmt: skip
def test_wrong_requests(words: tuple[str, ...], text: str) -> None:
    assert text in call(*words, "--device", "emulator", code=2).stderr
