"""``warpfold fragments``: what it shows is what the instructions' definitions say; its picture; what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from numpy.testing import assert_array_equal

from warpfold.cli import cli
from warpfold.commands.fragments import of_access, of_product

LANES = np.arange(32)
GROUP, PART = LANES // 4, LANES % 4


def call(*words: str, code: int = 0) -> Result:
    result = CliRunner().invoke(cli, ["fragments", *words], prog_name="warpfold", catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


@pytest.mark.parametrize("instruction", ["ldmatrix", "stmatrix"])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("blocks", [1, 2, 4])
def test_the_lanes_hold_what_the_isa_says(instruction: str, blocks: int, transposed: bool) -> None:
    found = of_access(instruction, blocks, transposed=transposed)
    (held,) = (one.held for one in found.operands)
    along = 2 * PART[:, None] + np.arange(2)
    across = np.broadcast_to(GROUP[:, None], along.shape)
    row, column = (along, across) if transposed else (across, along)
    for block in range(blocks):
        assert_array_equal(held[:, block], np.stack([np.full_like(row, block), row, column], axis=-1))
    turned = ".trans" if transposed else ""
    assert found.instruction == f"{instruction}.sync.aligned.m8n8.x{blocks}{turned}.shared.b16"


def test_the_operands_of_a_product_are_those_of_the_isa() -> None:
    found = of_product()
    a, b, c = (one.held[..., 1:] for one in found.operands)
    register, part = np.ogrid[:4, :2]
    rows = GROUP[:, None, None] + 8 * (register % 2) + 0 * part
    columns = 2 * PART[:, None, None] + part + 8 * (register // 2)
    assert_array_equal(a, np.stack([rows, columns], axis=-1))
    register = register[:2]
    inner = 2 * PART[:, None, None] + part + 8 * register
    assert_array_equal(b, np.stack([inner, GROUP[:, None, None] + 0 * inner], axis=-1))
    register = np.arange(4)
    sums = np.stack([GROUP[:, None] + 8 * (register // 2), 2 * PART[:, None] + register % 2], axis=-1)
    assert_array_equal(c[:, :, 0], sums)


def test_a_table_has_a_line_for_each_lane() -> None:
    lines = call("ldmatrix", "--blocks", "2", "--trans").stdout.splitlines()
    assert lines[0] == "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16"
    assert lines[1].endswith("lane 8b + r gives the address of row r of block b")
    assert lines[3].split() == ["lane", "r0", "r1"]
    assert lines[4 + 5].split() == ["5", "0:2,1", "0:3,1", "1:2,1", "1:3,1"]
    assert len(lines) == 4 + 32


def test_json_has_lanes_registers_and_elements() -> None:
    found: dict[str, Any] = json.loads(call("mma", "--json").stdout)
    assert found["instruction"] == "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
    assert found["lanes"]["a"][5][1] == [[9, 2], [9, 3]]
    assert found["lanes"]["c"][5] == [[[1, 2]], [[1, 3]], [[9, 2]], [[9, 3]]]


def test_the_picture_has_a_grid_for_each_matrix(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="Matplotlib is not installed")
    call("mma", "--plot", str(tmp_path / "mma.svg"))
    text = (tmp_path / "mma.svg").read_text(encoding="utf-8")
    assert text.count("<image") == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["mma", "--trans"], "mma has no blocks that can be chosen or turned: leave out --blocks and --trans"),
        (["ldmatrix", "--blocks", "3"], "'3' is not one of '1', '2', '4'"),
        (["wmma"], "'wmma' is not one of 'ldmatrix', 'stmatrix', 'mma'"),
    ],
)
def test_requests_that_mean_nothing(words: list[str], message: str) -> None:
    assert message in call(*words, code=2).output


def test_a_picture_that_cannot_be_written_is_refused_before_anything_runs(tmp_path: Path) -> None:
    assert "WF830: m.gif is no picture" in call("mma", "--plot", "m.gif", code=2).output
    assert "WF505" in call("mma", "--plot", str(tmp_path / "none" / "m.svg"), code=2).output


PAGE = Path(__file__).parents[2] / "docs" / "matrices.md"


@pytest.mark.parametrize("words", ["ldmatrix", "ldmatrix --trans"])
def test_the_page_shows_what_the_command_prints(words: str) -> None:
    lines = call(*words.split()).stdout.splitlines()[: 4 + 5]
    shown = "".join(f"    {line}\n" if line else "\n" for line in [f"$ warpfold fragments {words}", *lines])
    assert shown in PAGE.read_text(encoding="utf-8")
