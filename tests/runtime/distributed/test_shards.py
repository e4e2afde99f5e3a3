"""Programs on shards: three processes that meet by gloo, on the emulator."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

sys.path.insert(0, str(Path(__file__).parent))
from shards_on_ranks import CUTS, GRADIENTS, IMAGES, X, part, pulled  # noqa: E402 - it needs PyTorch

Ranks = list[dict[str, Any]]


@pytest.mark.parametrize(("name", "gathers"), [(n, 2 + 2 * (n != "cross_entropy") - (n == "rows")) for n in GRADIENTS])
def test_results_and_gradients_are_those_of_whole_tensors(ranks: Ranks, name: str, gathers: int) -> None:
    """One gather of states for the forward, and one for the backward if that folds, beside a check before each."""
    theirs, _, tensors, axes, out = GRADIENTS[name]
    wanted = pulled(theirs, list(tensors), out, None)
    for rank, own in enumerate(ranks):
        found, count = own[f"shards {name}"]
        assert count == gathers
        for axis, a, b in zip((out, *axes), found, wanted, strict=True):
            np.testing.assert_allclose(a, part(torch.tensor(b), axis, rank), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["cross_entropy", "batch_norm", "rows"])
def test_what_is_whole_has_the_same_bits_on_every_rank(ranks: Ranks, name: str) -> None:
    _, _, _, axes, out = GRADIENTS[name]
    for i, axis in enumerate((out, *axes)):
        if axis is None:
            for own in ranks:
                np.testing.assert_array_equal(own[f"shards {name}"][0][i], ranks[0][f"shards {name}"][0][i])


def test_positions_are_those_in_the_whole(ranks: Ranks) -> None:
    for rank, own in enumerate(ranks):
        (least, rows, mean, argmin), gathers = own["shards several"]
        assert gathers == 2
        assert least == X.argmin()
        np.testing.assert_array_equal(rows, X.argmax(1))
        np.testing.assert_allclose(mean, X.mean(), rtol=1e-5)
        np.testing.assert_array_equal(argmin, part(X.argmin(0), 0, rank))


def test_each_meeting_that_needs_another_gathers(ranks: Ranks) -> None:
    x = X.double()
    for _ in range(3):
        x = x - x.sum(1, keepdim=True) * 0.25
    for rank, own in enumerate(ranks):
        found, gathers = own["shards scaled"]
        assert gathers == 4
        np.testing.assert_allclose(found, part(x, 1, rank), rtol=1e-4, atol=1e-4)


def test_running_statistics_are_those_of_all(ranks: Ranks) -> None:
    mean, var = torch.zeros(3), torch.ones(3)
    torch.nn.functional.batch_norm(IMAGES, mean, var, training=True)
    for own in ranks:
        for found, wanted in zip(own["shards running"][0], (mean, var), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_a_synchronised_module_is_a_batch_norm_of_all(ranks: Ranks) -> None:
    model = torch.nn.BatchNorm1d(3)
    wanted = model(IMAGES)
    wanted.backward(IMAGES.cos())
    rest = [t.detach() for t in (model.running_mean, model.running_var, model.eval()(IMAGES))]
    for rank, own in enumerate(ranks):
        found, gathers = own["shards module"]
        assert gathers == 4
        for a, b in zip(found, (part(wanted.detach(), 0, rank), *rest), strict=False):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    for i, p in ((-2, model.weight), (-1, model.bias)):  # as other gradients are, which are added later
        total = sum(own["shards module"][0][i] for own in ranks)
        np.testing.assert_allclose(total, p.grad, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("call", ["", " reduced"])
def test_portable_bits_depend_on_the_cuts_alone(ranks: Ranks, call: str) -> None:
    """Two ranks cut the axis where three do, of which one has nothing."""
    for own in (ranks[0], ranks[2]):
        np.testing.assert_array_equal(own[f"shards two{call}"][0], own[f"shards three{call}"][0])


def test_unchecked_calls_gather_states_alone(ranks: Ranks) -> None:
    for rank, own in enumerate(ranks):
        found, gathers = own["shards one extent"]
        assert gathers == 1
        wanted = torch.log_softmax(X, 1)[:, 4 * rank : 4 * rank + 4]
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("case", "text"),
    [
        ("rank", "WF169: rank 1 cannot make this call, and its own error says why"),
        ("shape", "WF171: the shard of rank 2 has array 0 of shape (4, 6): expected (3, 6) but for axis 1, as that"),
        ("program", "WF171: the shard of rank 1 is of another program, of other parameters or of other element types"),
        ("lying", "WF171: the shard of rank 1 has array 0 cut along axis 0: expected it cut along axis 1, as that"),
        ("count", "WF171: the shard of rank 1 is one of 2 arrays: expected 1, as that of rank 0"),
        ("gradients", "WF171: the shard of rank 2 requires gradients of arrays (): expected (0,), as that of rank 0"),
        ("places", "WF173: layer_norm does not run on shards that lie so: array 1 has shards of (4, 4, 4) where"),
        ("whole", "WF173: layer_norm does not run on shards that lie so: array 1 is whole along axis 0, where others"),
    ],
)
def test_mistakes_are_found_on_every_rank(ranks: Ranks, case: str, text: str) -> None:
    for rank, own in enumerate(ranks):
        found, _ = own[f"shards {case}"]
        assert (text if (case, rank) != ("rank", 1) else "WF101: axis 1 is out of range") in found


def test_the_cuts_leave_a_rank_without_elements() -> None:
    assert CUTS[1] == CUTS[2]
