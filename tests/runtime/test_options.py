"""The options of calls: those that the gradients of a call have, too."""

from __future__ import annotations

from warpfold.runtime.options import of_gradients


def test_gradients_have_few_kernels_if_the_call_has() -> None:
    assert of_gradients({"plan": "few,vector=1", "determinism": "portable"}) == {
        "plan": "few", "determinism": "portable",
    }  # fmt: skip
    assert of_gradients({"plan": "vector=1", "determinism": "run"}) == {}
