"""``warpfold ladder``: output, pictures and refusals; the numbers of the lecture and the article; docs/ladder.md."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import ladder_page
import numpy as np
import pytest
from click.testing import CliRunner, Result
from covering import some

from warpfold.cli import cli
from warpfold.commands import ladder_plot, ladder_runs
from warpfold.commands.checking import reference
from warpfold.commands.requests import inputs
from warpfold.compiler.plan.ladder import RUNGS
from warpfold.compiler.plan.plan import Plan
from warpfold.runtime.backends.emulator_backend import EmulatorBackend

NAMES = [rung.name for rung in RUNGS]
SMALL = ("--size", "5000", "--device", "emulator")
TWO = ("--rung", "simple", "--rung", "shared")
PAGE = ladder_page.PAGE.read_text(encoding="utf-8")
DATA = json.loads(ladder_page.DATA.read_text(encoding="utf-8"))


def call(*words: object, code: int = 0) -> Result:
    """Runs the command; an internal error propagates."""
    result = CliRunner().invoke(cli, ["ladder", *map(str, words)], prog_name="warpfold", catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def report(*words: object, code: int = 0) -> dict[str, Any]:
    found = json.loads(call(*words, "--json", code=code).stdout)
    assert isinstance(found, dict)
    return found


# --- what it shows -----------------------------------------------------------------------------------------------
def test_all_rungs_in_their_order() -> None:
    text = call(*SMALL).stdout
    assert text.startswith("sum of f32 5000 over all axes, on emulator of sm_90a\n")
    first, second = text.split("profile of sum of f32 5000 over all axes, on the emulator\n")
    for part in (first, second):
        assert [line.split()[0] for line in part.splitlines() if line.split()[:1] and line.split()[0] in NAMES] == NAMES
    assert first.count(" passed ") == len(RUNGS)
    assert "cta=sequential" in first
    assert "GB/s" not in text


def test_each_rung_is_shown_beside_the_one_before() -> None:
    found = {row["rung"]: row for row in report(*SMALL)["rungs"]}
    assert found["fix-divergence"]["changes"] == "cta=sequential"
    assert found["shared"]["changes"] == "exchange=shared"
    assert found["two-pass-unroll"]["changes"] == "cta=unrolled"
    alone = report(*SMALL, "--rung", "shared", "--rung", "simple")["rungs"]  # in the ladder's order, whatever is asked
    assert [row["rung"] for row in alone] == ["simple", "shared"]
    assert alone[1]["changes"] == "cta=sequential,exchange=shared"


@pytest.mark.parametrize(
    ("op", "dtype", "refused"),
    some(
        [
            ("max", "i32", 0),
            ("prod", "f64", 3),
            ("argmax", "f32", 0),  # one word: the bits of the value above those of the place
            ("argmax", "f64", 3),
            ("sum", "f64", 0),
            ("min", "i64", 0),
            ("dot", "f32", 0),
            ("nanargmax", "f32", 0),  # a word of no element says that there was none
            (str(ladder_page.ROOT / "examples" / "monoids.py:span"), "f32", 3),
        ],
        4,
    ),
)
def test_other_operations(op: str, dtype: str, refused: int) -> None:
    """A rung that ends in atomics is refused where no atomic combines the states; the others run."""
    found = report("--op", op, "--dtype", dtype, *SMALL)
    assert found["title"] == f"{op.rpartition(':')[2]} of {dtype} 5000 over all axes"
    impossible = [row for row in found["rungs"] if row["refused"]]
    assert len(impossible) == refused
    assert all("finish=atomic is not exact" in row["refused"] and row["plan"] is None for row in impossible)
    assert all(row["passed"] for row in found["rungs"])
    text = call("--op", op, "--dtype", dtype, *SMALL, "--rung", "segmented").stdout
    assert ("not possible" in text) == bool(refused)


def test_one_element() -> None:
    assert all(row["passed"] for row in report("--size", 1, "--device", "emulator")["rungs"])


def test_a_wrong_result_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(reference.BUILT_IN, "sum", lambda x: x.sum(axis=1) + 1)
    text = call(*SMALL, *TWO, code=1).stdout
    assert text.count("FAILED: error ") == 2
    assert report(*SMALL, *TWO, code=1)["rungs"][0]["passed"] is False


def test_a_gpu_is_timed_and_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the emulator as the GPU: medians of many launches, each after a flush."""
    spent = iter([7.0, 80.0, 4.0, 60.0, 5.0] * 10)
    done: list[str] = []

    class Timed(EmulatorBackend):
        name, device_name = "cuda", "NVIDIA H200"

        def synchronize(self, _stream: int) -> None:
            done.append("synchronize")

        def flush(self, _stream: int) -> None:
            done.append("flush")

        def elapsed(self, work: Any, _stream: int) -> float:
            work()
            done.append("launch")
            return next(spent)

    monkeypatch.setattr("warpfold.runtime.backends.cuda_backend.find", lambda: [0])
    monkeypatch.setattr("warpfold.runtime.backends.cuda_backend.backend", lambda _: Timed())
    monkeypatch.setattr(ladder_runs, "LAUNCHES", 5)
    found = report("--size", 4000, *TWO)
    assert done == ["synchronize", *["flush", "launch"] * 5] * 2  # behind a first launch, which loads the code
    assert [row["microseconds"] for row in found["rungs"]] == [7.0, 7.0]
    assert found["rungs"][1]["speedup"] == 1.0
    assert found["rungs"][0]["gbs"] == pytest.approx(16 / 7)
    assert (found["device"], found["memory_gbs"]) == ("NVIDIA H200", 4800)
    text = call("--size", 4000, *TWO).stdout
    assert re.search(r"^rung +time +GB/s +speed-up +check", text, re.MULTILINE)
    assert re.search(r"^shared +7 us +2.286 +1.00x +passed", text, re.MULTILINE)
    assert "\neach time is the median of up to " in text


# --- what the sources report -------------------------------------------------------------------------------------
def test_the_lecture() -> None:
    """2048 elements, one CTA of 1024 threads: 74 % of the branches uniform, then 99 %.

    By hand: 32 warps ask 11 times for a further round, 10 times whether a thread takes part, 3 times for a further
    element of their own. Distances 1 to 16 part every warp, 32 to 512 those with one thread at work.
    """
    found = {
        row["rung"]: row for row in report("--size", 2048, "--rung", "simple", "--rung", "fix-divergence")["rungs"]
    }
    branches, divergent = 32 * (11 + 10 + 3), 5 * 32 + 16 + 8 + 4 + 2 + 1
    for name, parted in (("simple", divergent), ("fix-divergence", 5)):
        assert found[name]["branch_efficiency"] == pytest.approx(100 * (1 - parted / branches), abs=0.2)
    assert found["simple"]["branch_efficiency"] == pytest.approx(74.4, abs=1)
    assert found["fix-divergence"]["branch_efficiency"] >= 99


def test_the_article() -> None:
    """A warp's load of blocks of 32 bytes or more asks for a sector a lane; of neighbours for 4. 2^22 elements."""
    found = ladder_page.profiled(1 << 22, ("two-pass-simple", "two-pass-interleaved"))
    assert found["two-pass-simple"]["sectors_per_request"] == pytest.approx(32, rel=0.01)
    assert found["two-pass-simple"]["bytes_used"] == pytest.approx(12.5, rel=0.01)
    assert found["two-pass-interleaved"]["sectors_per_request"] == pytest.approx(4, rel=0.01)
    assert found["two-pass-interleaved"]["bytes_used"] == pytest.approx(100, rel=0.01)


def test_the_barriers_that_later_rungs_save() -> None:
    """Barriers of the CTA become barriers of a warp, and shuffles need fewer still."""
    names = ("two-pass-shared", "two-pass-warp-sync", "two-pass-unroll", "single-pass-merged", "shuffle", "default")
    found = ladder_page.profiled(1 << 17, names)
    assert found["two-pass-warp-sync"]["barriers"] < 0.6 * found["two-pass-shared"]["barriers"]
    assert found["shuffle"]["barriers"] < 0.6 * found["single-pass-merged"]["barriers"]
    instructions = [found[name]["instructions_per_element"] for name in names[:3]]
    assert instructions == sorted(instructions, reverse=True)
    assert found["default"]["instructions_per_element"] < 0.5 * min(instructions)


def test_sectors_do_not_depend_on_the_hosts_addresses() -> None:
    x = np.zeros(100, np.float32)[3:]
    copy = inputs.aligned(x)
    assert copy.ctypes.data % 256 == 0
    assert (copy.shape, copy.dtype) == (x.shape, x.dtype)
    np.testing.assert_array_equal(copy, x)


# --- what it refuses ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--rung", "simpel"), "WF832: the ladder has no rung called 'simpel' (did you mean simple"),
        (("--rung", "x"), "it has serial simple fix-divergence"),
        (("--op", "summe"), "WF801: no reduction or program is called 'summe' (did you mean sum?)"),
        (("--dtype", "f33"), "WF105"),
        (("--size", 10**15), "WF811: arrays of shape 1000000000000000 take 3638 TiB"),
        (("--size", 0), "Invalid value for '--size'"),
        (("--size", -4), "Invalid value for '--size'"),
        (("--device", "tpu"), "Invalid value for '--device'"),
        (("--plot", "ladder.txt"), "WF830: ladder.txt is no picture: its name must end in one of .svg .png .pdf"),
        (("--plot", "ladder"), "help: write a name such as --plot picture.svg"),
        (("--plot", "/no/such/folder/ladder.svg"), "WF505: cannot write /no/such/folder/ladder.svg"),
    ],
)
def test_wrong_requests(words: tuple[object, ...], text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ladder_runs.Ground, "climb", lambda *_: pytest.fail("nothing may run"))
    result = call("--device", "emulator", *words, code=2)
    assert text in result.stderr
    assert (result.stdout, "Traceback" in result.stderr) == ("", False)


# --- the picture -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("suffix", "begins"), [(".svg", b"<?xml"), (".png", b"\x89PNG"), (".pdf", b"%PDF")])
def test_a_picture_is_the_same_twice(suffix: str, begins: bytes, tmp_path: Path) -> None:
    made = []
    for name in ("one", "two"):
        path = tmp_path / f"{name}{suffix}"
        ladder_plot.Picture(str(path)).write(ladder_page.report(DATA))
        made.append(path.read_bytes())
    assert made[0] == made[1]
    assert made[0].startswith(begins)
    assert len(list(tmp_path.iterdir())) == 2


def test_the_command_draws(tmp_path: Path) -> None:
    """Also where some rungs, or all of them, are refused."""
    call(*SMALL, *TWO, "--plot", tmp_path / "two.svg")
    call("--op", "argmax", *SMALL, "--rung", "segmented", "--plot", tmp_path / "none.svg")
    assert (tmp_path / "two.svg").stat().st_size > (tmp_path / "none.svg").stat().st_size > 1000


def test_without_matplotlib_nothing_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setattr(ladder_runs.Ground, "climb", lambda *_: pytest.fail("nothing may run"))
    text = call(*SMALL, "--plot", tmp_path / "a.svg", code=2).stderr
    assert text.startswith("WF831: matplotlib, which draws the picture, was not found")
    assert "help: python -m pip install matplotlib" in text
    assert list(tmp_path.iterdir()) == []


def test_a_picture_is_written_whole_or_not_at_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    path.write_text("before")
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda _, f, **__: (f.write(b"half"), 1 / 0))
    with pytest.raises(ZeroDivisionError):
        call(*SMALL, *TWO, "--plot", path)
    assert [p.read_text() for p in tmp_path.iterdir()] == ["before"]


# --- the page ----------------------------------------------------------------------------------------------------
def test_the_page_has_the_data_and_the_plans() -> None:
    assert re.findall(r"<!-- ([\w-]+) -->", PAGE.replace("<!-- end -->", "")) == [
        "measured",
        "table",
        *NAMES,
        "softmax",
        "mask-times",
        "masks",
    ]
    assert ladder_page.page(PAGE, DATA) == PAGE, "run python tests/ladder_page.py"


def test_the_data_name_the_machine_and_hold_every_rung() -> None:
    assert {"gpu", "driver", "commit"} <= set(DATA["times"])
    assert all(list(found) == NAMES for found in DATA["times"]["microseconds"].values())
    assert list(DATA["counts"][str(ladder_page.SIZE)]) == NAMES


def test_the_counts_are_what_the_profiler_counts() -> None:
    """All but those of ``serial``, which take half a minute."""
    names = tuple(NAMES[1:])
    assert ladder_page.profiled(ladder_page.SIZE, names) == {n: DATA["counts"][str(ladder_page.SIZE)][n] for n in names}
    taught = DATA["counts"][str(ladder_page.TAUGHT)]
    assert ladder_page.profiled(ladder_page.TAUGHT, tuple(taught)) == taught


def test_the_counts_of_a_mask_are_what_the_profiler_counts() -> None:
    assert ladder_page.masks() == DATA["counts"]["masks"]


def test_the_counts_of_a_softmax_are_what_the_profiler_counts() -> None:
    assert ladder_page.softmax() == DATA["counts"]["softmax"]


def test_a_picture_says_which_way_is_better() -> None:
    """Also without a GPU, where a single thread has the second fewest instructions and is the slowest."""
    report = ladder_page.report(DATA)
    untimed = {**report, "rungs": [{**row, "gbs": None, "microseconds": None} for row in report["rungs"]]}
    for found, expected in ((report, "(more is better), and time"), (untimed, "(less is better; not a time)")):
        titles = [ax.get_title(loc="left") for ax in ladder_plot.draw(found).axes]
        assert titles[0].endswith(expected)
        assert titles[1] == "uniform branches (more is better)"


def test_the_picture_of_times_is_of_the_size_of_the_lesson() -> None:
    report = ladder_page.report(DATA)
    assert "268435456" in report["title"]
    assert "4194304" in report["profiled"]
    assert report["rungs"][-1]["microseconds"] == DATA["times"]["microseconds"][str(1 << 28)]["default"]


def test_the_pictures_are_what_the_emulator_does(tmp_path: Path) -> None:
    ladder_page.drawings().main(str(tmp_path))
    ladder_plot.Picture(str(tmp_path / "times.svg")).write(ladder_page.report(DATA))
    ladder_plot.Picture(str(tmp_path / "softmax.svg")).write(ladder_page.softmax_report(DATA))
    expected = {path.name: path.read_bytes() for path in ladder_page.PICTURES.iterdir()}
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == expected


@pytest.mark.parametrize("rung", RUNGS, ids=lambda rung: rung.name)
def test_a_picture_follows_every_element_to_the_result(rung: Any) -> None:
    """Each element is read once, under the rung's own plan with fewer threads, and reaches the result."""
    drawings = ladder_page.drawings()
    plan, n = drawings.SMALL[rung.name]
    seen = drawings.watched(plan, n)
    read = [e for s in drawings.needed(seen.result) for e in s.elements]
    assert sorted(read) == list(range(n))
    own, small = (Plan().with_options(text).to_dict() for text in (rung.name, plan))
    free = {"lanes", "warps", "coarsening"} | ({"vector", "unroll"} if rung.name == "default" else set())
    assert {k: v for k, v in own.items() if k not in free} == {k: v for k, v in small.items() if k not in free}


def test_the_commands_of_the_page_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Those that run all rungs on fewer elements. What ``explain`` prints is compared above."""
    monkeypatch.chdir(tmp_path)
    found = re.findall(r"^    warpfold (.*?)(?:   .*)?$", PAGE, re.MULTILINE)
    assert len(found) == 10
    for line in found:
        words = shlex.split(line)
        if words[:2] == ["ladder", "softmax"]:
            words += ["--shape", "64x256"]
        elif words[:2] == ["ladder", "relu"]:
            words += ["--shape", "1000"]
        elif words[0] == "ladder" and "--size" not in words:
            words += ["--size", "1000"]
        assert CliRunner().invoke(cli, words, catch_exceptions=False).exit_code == 0, line
