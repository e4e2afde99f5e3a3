"""Reductions over the ranks of a process group: three processes that meet by gloo, on the emulator."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

sys.path.insert(0, str(Path(__file__).parent))
import on_ranks  # noqa: E402 - it needs PyTorch

X = on_ranks.array()


@pytest.mark.parametrize(
    ("case", "wanted"),
    [
        ("sum", X.sum(0)), ("argmax", X.argmax()), ("var", X.var(0, ddof=1, keepdims=True)), ("max", X.max(0)),
        ("several", (X.sum(0), X.argmin(0))), ("columns", X.mean(1)),
        ("where", np.where(X > 0, X, 0).sum(0) / (X > 0).sum(0)), ("unchecked", np.log(np.exp(X).sum(1))),
    ],
)  # fmt: skip
def test_every_rank_has_the_result_of_the_whole(ranks: list[dict[str, Any]], case: str, wanted: Any) -> None:
    for found in ranks:
        for a, b in zip(np.atleast_1d(found[case]), np.atleast_1d(wanted), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(found[case], ranks[0][case])


def test_monoids_that_do_not_commute_take_ranks_in_order(ranks: list[dict[str, Any]]) -> None:
    slope, shift = 1.0, 0.0
    for row in X.astype(np.float64):
        slope, shift = slope * row, shift * row + row
    np.testing.assert_allclose(ranks[1]["affine"], (slope, shift), rtol=1e-12)


def test_what_is_kept_does_not_travel(ranks: list[dict[str, Any]]) -> None:
    np.testing.assert_allclose(np.concatenate([found["kept"] for found in ranks]), X.sum(0), rtol=1e-5)


def test_each_rank_may_have_its_part(ranks: list[dict[str, Any]]) -> None:
    np.testing.assert_array_equal(np.concatenate([found["scattered"] for found in ranks]), ranks[0]["sum"])
    np.testing.assert_allclose(np.concatenate([found["parts"] for found in ranks]), X.sum(1, dtype=np.float64))


@pytest.mark.parametrize(
    ("case", "text"),
    [
        ("shapes", "WF171: the shard of rank 2 has shape (4, 7): expected (4, 6) but for axis 0, as that of rank 0"),
        ("reductions", "WF171: the shard of rank 1 is of another reduction, of other parameters or of other element"),
        ("types", "WF171: the shard of rank 2 is of another reduction, of other parameters or of other element types"),
        ("scatters", "WF171: the shard of rank 1 is reduced with scatter=None: expected scatter=0, as that of rank 0"),
        ("functions", "WF171: the shard of rank 2 is of a program: expected a reduction, as that of rank 0"),
        ("axes", "WF171: the shard of rank 1 is cut along axis 0 and reduced over (0,): expected axis 0 and reduced"),
        ("order", "WF174: this reduction cannot be cut so: shards lie along axis 1, and argmax takes elements in the"),
        ("uneven", "WF172: 3 ranks cannot share axis 0 of the result, which has extent 4: expected a multiple of 3"),
    ],
)
def test_mistakes_are_found_on_every_rank(ranks: list[dict[str, Any]], case: str, text: str) -> None:
    for found in ranks:
        assert text in found[case]


def test_a_rank_that_refuses_its_arguments_says_so(ranks: list[dict[str, Any]]) -> None:
    assert "WF101: axis 1 is out of range for an array of rank 1" in ranks[0]["refused"]
    for found in ranks[1:]:
        assert "WF169: rank 0 cannot make this call, and its own error says why" in found["refused"]


def test_a_mistake_of_one_rank_is_an_error_on_all_and_later_calls_are_right(ranks: list[dict[str, Any]]) -> None:
    own = {"a function that fails": "ZeroDivisionError", "a gradient": "RuntimeError"}  # raised by others than us
    for rank, found in enumerate(ranks):
        for (name, wrong), (code, right) in found["mistakes"].items():
            wanted = own[name] if name in own and rank == wrong else "WF"
            assert code.startswith(wanted), (name, wrong, rank)
            assert right, (name, wrong, rank)


def test_without_a_process_group() -> None:
    import warpfold as wf
    import warpfold.distributed as wd

    with pytest.raises(wf.WarpfoldError, match="WF170: there is no process group"):
        wd.reduce(torch.zeros(3), "sum")


def test_the_error_names_a_rank_that_ended(ranks: list[dict[str, Any]]) -> None:
    for rank, found in enumerate(ranks):
        if rank != on_ranks.DEAD:
            assert f"WF611: rank {rank} of 3 waited for rank 1, which does not answer: " in found["dead"]


def test_a_rank_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import warpfold as wf
    import warpfold.distributed as wd

    def silent(*_args: Any, **_how: Any) -> None:
        raise RuntimeError("Connection closed by peer\nat once")

    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/meet", rank=0, world_size=1)
    try:
        assert wd.reduce(torch.ones(5), "sum", device="emulator") == 5
        for name in ("all_gather_into_tensor", "all_gather_single"):
            monkeypatch.setattr(torch.distributed, name, silent, raising=False)
        text = r"WF611: rank 0 of 1 waited for the others, for whom the call failed, too: Connection closed by peer$"
        with pytest.raises(wf.WarpfoldError, match=f"(?m){text}"):
            wd.reduce(torch.ones(5), "sum", device="emulator")
    finally:
        torch.distributed.destroy_process_group()
