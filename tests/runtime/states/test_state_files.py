"""States outlive a process."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import warpfold as wf

HOW = {"device": "emulator"}
X = np.random.default_rng(0).standard_normal((6, 40)).astype(np.float32)


def test_a_reduction_is_resumed_with_the_same_bits(tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    state = wf.partial(X[:, :25], "var", axis=1, correction=1, **HOW)
    state.save(path)
    found = wf.load_state(path, "var", correction=1)
    assert (found.count, found.start, found.stop, found.axes, found.rank) == (25, 0, 25, (1,), 2)
    resumed, straight = (wf.finish(wf.update(s, X[:, 25:])) for s in (found, state))
    np.testing.assert_array_equal(resumed, straight)


def test_positions_and_narrow_floats(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x = torch.tensor(X).bfloat16()
    path = tmp_path / "state.npz"
    wf.partial(x[:, :25], "argmax", axis=1, **HOW).save(path)
    found = wf.update(wf.load_state(path, "argmax"), x[:, 25:])
    assert isinstance(wf.finish(found), torch.Tensor)
    np.testing.assert_array_equal(wf.finish(found), wf.argmax(x, axis=1, **HOW))


def test_the_state_of_another_reduction_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    wf.partial(X, "var", axis=1, **HOW).save(path)
    with pytest.raises(wf.WarpfoldError, match=r"WF163: .*holds a state of var, which is another reduction than sum"):
        wf.load_state(path, "sum")
    with pytest.raises(
        wf.WarpfoldError, match=r"WF163: .*than var with the parameters, types and functions given here"
    ):
        wf.load_state(path, "var", correction=1)


def test_files_that_are_no_states(tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    with pytest.raises(wf.WarpfoldError, match="WF501"):
        wf.load_state(path, "sum")
    for data in (b"", b"PK\x03\x04 no archive", b"x"):
        path.write_bytes(data)
        with pytest.raises(wf.WarpfoldError, match=r"WF512: .*: it is no archive of arrays, as \.npz files are"):
            wf.load_state(path, "sum")
    np.savez(path, other=X)
    with pytest.raises(wf.WarpfoldError, match=r"WF512: .*: state is not a file in the archive"):
        wf.load_state(path, "sum")
    for wrong, text in (
        (3, "3: it is of type int: expected a path"),
        (tmp_path, ": it is a folder: expected a regular file"),
    ):
        with pytest.raises(wf.WarpfoldError, match=f"WF505: cannot write .*{text}\n  at {__file__}"):
            wf.partial(X, "sum", axis=1, **HOW).save(wrong)  # type: ignore[arg-type]
    wf.partial(X, "sum", axis=1, **HOW).save(path)
    with np.load(path) as found:
        about = found["state"]
    np.savez(path, state=about, value0=X, value1=X)
    with pytest.raises(wf.WarpfoldError, match=r"WF512: .*it has 2 values: expected 1 of one shape"):
        wf.load_state(path, "sum")


def test_states_of_another_version(tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    wf.partial(X, "sum", axis=1, **HOW).save(path)
    with np.load(path) as found:
        about, value = json.loads(str(found["state"])), found["value0"]
    np.savez(path, state=np.array(json.dumps(about | {"format": "warpfold state 3"})), value0=value)
    text = r"WF512: .*: its format is 'warpfold state 3', of another version: expected 'warpfold state 2'"
    with pytest.raises(wf.WarpfoldError, match=text):
        wf.load_state(path, "sum")


def test_a_path_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(wf.WarpfoldError, match="WF505"):
        wf.partial(X, "sum", **HOW).save(tmp_path / "nowhere" / "state.npz")
