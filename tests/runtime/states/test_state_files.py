"""States outlive a process."""

from __future__ import annotations

import io
import json
import random
import zipfile
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from covering import some

import warpfold as wf
from warpfold.compiler.dtypes import ALL, BF16, DType
from warpfold.compiler.program.public_names import MONOIDS, REDUCTIONS
from warpfold.runtime.states.parts import cut_of, how_of
from warpfold.runtime.states.state import State

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


def made(what: Any, types: tuple[DType, ...], rng: np.random.Generator) -> State:
    """A state of any bits, of rows of 3 elements."""
    cut = cut_of(what, types, {})
    values = tuple(
        rng.integers(0, 2 if t.name == "i1" else 256, 4 * t.itemsize).astype(np.uint8).view(t.numpy)
        for t in cut.monoid.state
    )
    return State(values, 3, 6, 2, (1,), cut, how_of("run", "emulator", ""))


def test_states_of_all_reductions_and_types_outlive_a_process(tmp_path: Path) -> None:
    """Every state that there is: what is read has the same bits, and each type is resumed and merged."""
    rng, path, seen = np.random.default_rng(3), tmp_path / "state.npz", 0
    for what in (*REDUCTIONS, *(getattr(wf, name) for name in MONOIDS)):
        for t in ALL:
            for count in (1, 2):
                try:
                    state = made(what, (t,) * count, rng)
                except wf.WarpfoldError:  # a reduction of other arrays
                    continue
                state.save(path)
                found = wf.load_state(path, what)
                assert [v.tobytes() for v in found.values] == [v.tobytes() for v in state.values]
                assert [v.dtype for v in found.values] == [v.dtype for v in state.values]
                for f in fields(State):
                    assert f.name == "values" or getattr(found, f.name) == getattr(state, f.name)
                seen += 1
    assert seen > 300


@pytest.mark.parametrize("t", some([t for t in ALL if t.kind != "complex"], 7), ids=str)
def test_every_type_is_resumed_and_merged(tmp_path: Path, t: DType) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed") if t == BF16 else None
    x = (X[:2] * 40).astype(np.int8)
    x = x.astype(t.numpy) if torch is None else torch.tensor(x).bfloat16()
    path = tmp_path / "state.npz"
    wf.partial(x[:, :25], "argmax", axis=1, **HOW).save(path)
    found, wanted = wf.load_state(path, "argmax"), wf.argmax(x, axis=1, **HOW)
    np.testing.assert_array_equal(wf.finish(wf.update(found, x[:, 25:])), wanted)
    wf.partial(x[:, 25:], "argmax", axis=1, start=25, **HOW).save(path)
    np.testing.assert_array_equal(wf.finish(wf.merge(found, wf.load_state(path, "argmax"))), wanted)


def test_altered_files_end_in_a_code(tmp_path: Path) -> None:
    """Files of a state with bytes cut off, put in, changed and swapped: the state as it was, or a code."""
    path = tmp_path / "state.npz"
    wf.partial(X, "argmax", axis=1, **HOW).save(path)
    data, choose, codes = path.read_bytes(), random.Random(5), 0
    refused = 0
    plain = wf.load_state(path, "argmax")
    for _ in range(400):
        own, at = bytearray(data), choose.randrange(len(data))
        match choose.randrange(4):
            case 0:
                own[at] ^= 1 << choose.randrange(8)
            case 1:
                own[at : at + choose.randrange(1, 9)] = choose.randbytes(choose.randrange(9))
            case 2:
                del own[at:]
            case _:
                other = choose.randrange(len(data))
                own[at : at + 30] = data[other : other + 30]
        path.write_bytes(own)
        try:
            found = wf.load_state(path, "argmax")
        except wf.WarpfoldError as e:
            refused += 1
            codes += e.code in ("WF512", "WF163")
        else:
            assert [v.tobytes() for v in found.values] == [v.tobytes() for v in plain.values]
            assert replace(found, values=()) == replace(plain, values=())
    assert 200 < codes == refused


def archive(path: Path, about: Any, *values: Any, how: int = zipfile.ZIP_STORED) -> None:
    """A file with checksums that are right."""
    with zipfile.ZipFile(path, "w", how) as z:
        for name, a in (("state", np.array(json.dumps(about))), *((f"value{i}", v) for i, v in enumerate(values))):
            out = io.BytesIO()
            np.save(out, a)
            z.writestr(f"{name}.npy", out.getvalue())


def test_fields_of_a_file_are_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    wf.partial(X, "sum", axis=1, **HOW).save(path)
    with np.load(path) as found:
        about, value = json.loads(str(found["state"])), found["value0"]
    archive(path, about, value)
    assert wf.finish(wf.load_state(path, "sum")).shape == (6,)
    wrong: list[Any] = [-1, 1.5, True, None, "x", [], [9], [0, 0], {}, {"x": 1}, 1 << 63, [[0]], float("nan")]
    for name in about:
        for other in wrong:
            if name == "source" or other == about[name] or (name, other) == ("name", "x"):
                continue
            archive(path, about | {name: other}, value)
            with pytest.raises(wf.WarpfoldError, match=r"WF512|WF163"):
                wf.load_state(path, "sum")
        archive(path, {own: about[own] for own in about if own != name}, value)
        with pytest.raises(wf.WarpfoldError, match=rf"WF512: .*it has no '{name}'"):
            wf.load_state(path, "sum")
    for values, text in (
        ((value.astype(np.float64),), "it has a value of float64: expected float32"),
        ((value.view(np.int32),), "it has a value of int32: expected float32"),
        ((X,), "it has 1 values of shapes .*: expected 1 of one shape with 1 axes"),
        ((np.array(["a"] * 6),), "it has a value of <U1"),
    ):
        archive(path, about, *values)
        with pytest.raises(wf.WarpfoldError, match=rf"WF512: .*{text}"):
            wf.load_state(path, "sum")
    archive(path, about, value, how=zipfile.ZIP_DEFLATED)
    with pytest.raises(wf.WarpfoldError, match=r"WF512: .*is compressed: expected arrays as they are"):
        wf.load_state(path, "sum")
    archive(path, about, value)
    path.write_bytes(
        path.read_bytes().replace(b"PK\x01\x02\x14\x03\x14\0\0\0\0\0", b"PK\x01\x02\x14\x03\x14\0\0\0\x63\0")
    )
    with pytest.raises(wf.WarpfoldError, match="WF512"):
        wf.load_state(path, "sum")


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
    with pytest.raises(wf.WarpfoldError, match=r"WF512: .*: it has no 'state'"):
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
    with pytest.raises(wf.WarpfoldError, match=r"WF512: .*it has 2 values of shapes .*: expected 1 of one shape"):
        wf.load_state(path, "sum")


def test_states_of_another_version(tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    wf.partial(X, "sum", axis=1, **HOW).save(path)
    with np.load(path) as found:
        about, value = json.loads(str(found["state"])), found["value0"]
    np.savez(path, state=np.array(json.dumps(about | {"format": "warpfold state 4"})), value0=value)
    text = r"WF512: .*: its format is 'warpfold state 4', of another version: expected 'warpfold state 3'"
    with pytest.raises(wf.WarpfoldError, match=text):
        wf.load_state(path, "sum")


def test_a_path_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(wf.WarpfoldError, match="WF505"):
        wf.partial(X, "sum", **HOW).save(tmp_path / "nowhere" / "state.npz")
