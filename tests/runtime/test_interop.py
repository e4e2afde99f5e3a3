"""Arrays of real libraries on the CPU: every reduction, results in the caller's library, views of any strides.

``test_api`` tests what NumPy arrays give; arrays of other libraries must give the same bits.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpys import COMPLETE

import warpfold as wf
from warpfold.compiler.dtypes import dtype
from warpfold.compiler.errors import ArgumentError, WarpfoldError
from warpfold.compiler.program.library.reductions import FUNCTIONS
from warpfold.runtime.arrays import conversion as arrays

Array = npt.NDArray[Any]


# --- libraries -----------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Library:
    """An array library under test.

    Attributes:
        make: an array of it with the elements of a NumPy array.
        results: the class of a reduction's result, of any rank and of rank 0.
    """

    make: Callable[[Array], Any]
    results: tuple[type, type]


def _numpy() -> Library:
    return Library(np.copy, (np.ndarray, np.generic))


def _torch() -> Library:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    return Library(lambda x: arrays.from_numpy(torch.zeros(1), x), (torch.Tensor, torch.Tensor))


def _jax() -> Library:
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    like = jax.device_put(np.zeros(1, np.float32), jax.devices("cpu")[0])
    return Library(lambda x: arrays.from_numpy(like, x), (jax.Array, jax.Array))


def _strict() -> Library:
    """A library unknown to warpfold: it is read by protocols, and results are NumPy's."""
    xp = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    return Library(xp.asarray, (np.ndarray, np.generic))


LIBRARIES = {"numpy": _numpy, "torch": _torch, "jax": _jax, "array_api_strict": _strict}


SMALL = ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")


def pairs(*kinds: str) -> list[tuple[str, str]]:
    """All (library, element type), except for types that the standard lacks."""
    return [(name, kind) for name in LIBRARIES for kind in kinds if name != "array_api_strict" or kind not in SMALL]


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest) -> Library:
    return LIBRARIES[request.param]()


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch", reason="PyTorch is not installed")


# --- results -------------------------------------------------------------------------------------------------------
def takes_one_array(function: Callable[..., Any]) -> bool:
    """Whether it reduces one array without further arguments."""
    found = inspect.signature(function).parameters.values()
    needed = [p for p in found if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    return len(needed) == 1 and needed[0].kind is not needed[0].KEYWORD_ONLY


NAMES = [name for name in COMPLETE if takes_one_array(FUNCTIONS[name])]


def reduce(x: Any, name: str, axis: Any = None, **how: Any) -> tuple[Any, ...]:
    """All results of a reduction."""
    got = wf.reduce(x, name, axis=axis, device="emulator", **how)
    return tuple(got) if isinstance(got, tuple) else (got,)


def elements(shape: tuple[int, ...], kind: str) -> Array:
    """Small whole numbers, including negative ones for signed types."""
    t = dtype(kind)
    low = 0 if t.kind in ("bool", "uint") else -3
    return np.random.default_rng(7).integers(low, 2 if t.kind == "bool" else 4, shape).astype(t.numpy)


def same(found: Any, wanted: Any, results: tuple[type, type]) -> None:
    """Whether ``found`` has the class for its rank, and the type, shape and bits of NumPy's ``wanted``."""
    assert isinstance(found, results[np.ndim(wanted) == 0])
    copy = arrays.to_numpy(found)
    assert (copy.dtype, copy.shape) == (wanted.dtype, wanted.shape)
    assert copy.tobytes() == wanted.tobytes()


@pytest.mark.parametrize(("library", "kind"), pairs("float32", "bfloat16"), indirect=["library"])
@pytest.mark.parametrize("name", NAMES)
def test_every_reduction_gives_the_bits_that_numpy_arrays_give(library: Library, name: str, kind: str) -> None:
    x = elements((4, 40), kind)
    try:
        wanted = reduce(x, name, 1)
    except WarpfoldError as e:
        with pytest.raises(type(e), match=e.code):
            reduce(library.make(x), name, 1)
        return
    given = library.make(x)
    for found, expected in zip(reduce(given, name, 1), wanted, strict=True):
        same(found, expected, library.results)
    assert arrays.to_numpy(given).tobytes() == x.tobytes()


@pytest.mark.parametrize(
    ("library", "kind"),
    pairs(
        "int8",
        "uint32",
        "int64",
        "bool",
        "float16",
        "float64",
        "complex64",
        "complex128",
        "float8_e4m3fn",
        "float8_e5m2",
    ),
    indirect=["library"],
)
def test_element_types(library: Library, kind: str) -> None:
    x = elements((5, 9), kind)
    given = library.make(x)
    for name in ("sum", "any"):
        same(*reduce(given, name, 0), *reduce(x, name, 0), library.results)


REFERENCE: dict[str, Callable[..., Any]] = {
    "sum": np.sum, "max": np.max, "argmax": np.argmax, "mean": np.mean, "var": np.var, "any": np.any,
}  # fmt: skip


@pytest.mark.parametrize("name", REFERENCE)
def test_values_against_numpys_own(library: Library, name: str) -> None:
    x = elements((3, 8, 5), "float32")
    for axis in (0, -1, None):
        (found,) = reduce(library.make(x), name, axis)
        wanted = REFERENCE[name](x.astype(np.float64), axis)
        np.testing.assert_allclose(arrays.to_numpy(found).astype(np.float64), wanted, rtol=1e-6)


def test_rank_zero_and_no_elements(library: Library) -> None:
    for name, x, axis in (
        ("sum", np.array(3, np.float32), None),
        ("max", np.array(3, np.int32), ()),
        ("sum", np.zeros((0, 3), np.float32), 0),
        ("sum", np.zeros((3, 0), np.float32), 0),
        ("any", np.zeros((2, 0), np.bool_), 1),
        ("max", np.zeros((0, 3), np.float32), 1),
    ):
        same(*reduce(library.make(x), name, axis), *reduce(x, name, axis), library.results)
    with pytest.raises(ArgumentError, match=r"^WF104"):
        reduce(library.make(np.zeros((0, 3), np.float32)), "max", 0)


def test_masks_and_several_inputs_of_a_library(library: Library) -> None:
    x, mask = elements((4, 9), "float32"), elements((9,), "bool")
    (found,) = reduce(library.make(x), "sum", 1, where=library.make(mask))
    same(found, x[:, mask].sum(1), library.results)
    dot = wf.vecdot(library.make(x), library.make(x[0]), device="emulator")
    same(dot, (x * x[0]).sum(1), library.results)
    assert isinstance(wf.vecdot(library.make(x), x, device="emulator"), library.results[0])


# --- inputs of any strides -----------------------------------------------------------------------------------------
def through_torch(x: Array) -> Any:
    """A tensor over the same memory; PyTorch has no negative strides."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    base = x
    while isinstance(base.base, np.ndarray):
        base = base.base
    whole = torch.from_numpy(base).reshape(-1)
    if min(x.strides, default=0) < 0:
        return torch.from_numpy(x.copy())
    offset = (x.ctypes.data - base.ctypes.data) // x.itemsize if x.size else 0
    return torch.as_strided(whole, x.shape, [s // x.itemsize for s in x.strides], offset)


def through_dlpack(x: Array) -> Any:
    """An object that speaks DLPack and nothing else."""
    return SimpleNamespace(__dlpack__=x.__dlpack__, __dlpack_device__=x.__dlpack_device__)


def through_interface(x: Array) -> Any:
    """An object that has an array interface and nothing else."""
    return SimpleNamespace(__array_interface__=x.__array_interface__, keep=x)


def through_strict(x: Array) -> Any:
    xp = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    return xp.asarray(x, copy=False)


def itself(x: Array) -> Any:
    return x


def frozen(x: Array) -> Array:
    """A read-only view."""
    x = x.view()
    x.flags.writeable = False
    return x


WAYS = [itself, frozen, memoryview, through_torch, through_dlpack, through_interface, through_strict]


@st.composite
def strided(draw: st.DrawFn) -> Array:
    """A view of rank 0 to 8 of numbered elements: sliced, stepped, turned, transposed, broadcast, sometimes empty."""
    rank = draw(st.integers(0, 8))
    sizes = (2, 3) if rank > 4 else (8, 5, 2, 1)
    shape = draw(st.lists(st.sampled_from(sizes), min_size=rank, max_size=rank))
    kind = draw(st.sampled_from(["f4", "f8", "i2", "i8", "c8", "?"]))
    x = np.arange(int(np.prod(shape))).reshape(shape).astype(kind).transpose(draw(st.permutations(range(rank))))
    x = x[(..., *(slice(draw(st.integers(0, 1)) if n > 1 else 0, None, draw(st.integers(1, 2))) for n in x.shape))]
    x = x[(..., *(slice(None, None, draw(st.sampled_from((1, 1, -1)))) for _ in shape))]
    if rank < 8 and draw(st.booleans()):
        x = np.broadcast_to(x, (draw(st.integers(0, 3)), *x.shape))
    return x


@pytest.mark.parametrize("way", WAYS, ids=lambda f: f.__name__)
@settings(deadline=None)
@given(x=strided())
def test_views_are_read_in_place(way: Callable[[Array], Any], x: Array) -> None:
    given = way(x)
    v = arrays.view(given)
    assert (v.shape, v.dtype) == (x.shape, dtype(x.dtype))
    if x.size and not (way is through_torch and min(x.strides, default=0) < 0):
        assert v.address == x.ctypes.data
        assert [s for s, n in zip(v.strides, v.shape, strict=True) if n > 1] == [
            s // x.itemsize for s, n in zip(x.strides, x.shape, strict=True) if n > 1
        ]
    assert arrays.to_numpy(given).tobytes() == x.tobytes()


@settings(deadline=None, max_examples=60)
@given(x=strided(), data=st.data())
def test_kernels_read_views_of_any_strides(x: Array, data: st.DataObject) -> None:
    axes = tuple(data.draw(st.sets(st.integers(0, x.ndim - 1)))) if x.ndim else ()
    before = x.tobytes()
    wide = x.astype("c16" if x.dtype.kind == "c" else "f8")
    found = wf.sum(frozen(x), axes, device="emulator")
    np.testing.assert_array_equal(np.asarray(found).astype(wide.dtype), wide.sum(axes))
    assert x.tobytes() == before


def test_values_that_are_not_arrays() -> None:
    for x in (
        3,
        2.5,
        True,
        1 + 2j,
        [1, 2, 3],
        ((1.0, 2.0), (3.0, 4.0)),
        range(5),
        np.float32(2),
        b"\1\2",
        bytearray(3),
    ):
        wanted = np.sum(np.frombuffer(x, "u1") if isinstance(x, bytes | bytearray) else x)
        assert wf.sum(memoryview(x) if isinstance(x, bytes) else x, device="emulator") == wanted


# --- PyTorch's own ways --------------------------------------------------------------------------------------------
def test_torch_views(torch: Any) -> None:
    x = torch.arange(120, dtype=torch.float32).reshape(4, 5, 6)
    for view in (x.mT, x[:, ::2, 1:], x.diagonal(), x[0, :, :1].expand(5, 9), x.unfold(2, 3, 1), x.unsqueeze(1)):
        for axis in range(view.ndim):
            assert torch.equal(wf.sum(view, axis, device="emulator"), view.sum(axis))


def test_torch_lazy_values(torch: Any) -> None:
    z = torch.tensor([[1 + 2j, 3 - 1j, 5j], [2.0, -1j, 1 + 1j]], dtype=torch.complex64)
    for view in (z.conj(), z.mH, z.conj()[:, ::2], z.conj().imag, z._neg_view()):
        assert torch.equal(wf.sum(view, 0, device="emulator"), view.sum(0))
    with pytest.raises(ArgumentError, match=r"^WF113: .* a lazy view"):
        wf.sum(z, 0, out=z.conj()[0], device="emulator")


def test_torch_out(torch: Any) -> None:
    x = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    memory = torch.full((6, 3), 7.0)
    assert wf.sum(x, 0, out=memory[:, 1], device="emulator").data_ptr() == memory[:, 1].data_ptr()
    assert torch.equal(memory, torch.stack([torch.full((6,), 7.0), x.sum(0), torch.full((6,), 7.0)], 1))
    with pytest.raises(ArgumentError, match=r"^WF110: elements of out share memory: its strides are \(0,\) elements"):
        wf.sum(x, 0, out=torch.zeros(1).expand(6), device="emulator")


# --- out= in other libraries ---------------------------------------------------------------------------------------
def test_out_of_array_api_strict() -> None:
    xp = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    x, out = xp.asarray(elements((4, 6), "float32")), xp.zeros((6, 2), dtype=xp.float32)
    wf.sum(x, 0, out=out[::-1, 0], device="emulator")
    assert np.array_equal(arrays.to_numpy(out)[:, 0], arrays.to_numpy(x).sum(0)[::-1])
    assert not arrays.to_numpy(out)[:, 1].any()


def test_out_of_jax_is_refused() -> None:
    made = _jax().make(np.zeros(6, np.float32))
    with pytest.raises(ArgumentError, match=r"^WF113: .* a JAX array, which never changes"):
        wf.sum(np.zeros((4, 6), np.float32), 0, out=made, device="emulator")
