"""Arrays in and out: views of every library, results in the caller's library, checks of ``out=``, ``.npy`` files."""

from __future__ import annotations

import array
import ctypes
import itertools
import pickle
import re
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import warpfold as wf
from warpfold.compiler import dtypes
from warpfold.compiler.dtypes import ALL, BF16, BOOL, F16, F32, F64, I32, I64, STORED, U32, DType
from warpfold.compiler.errors import ArgumentError, DTypeError, FileError, WarpfoldError
from warpfold.runtime.arrays import conversion as arrays
from warpfold.runtime.arrays import dlpack, pytorch
from warpfold.runtime.view import Device, View, dense

CPU = Device("cpu")
EVERY = (*ALL, *STORED)
F8E4M3FN, F8E5M2, C64, C128 = STORED


def expect(code: str, text: str = "") -> Any:
    return pytest.raises(WarpfoldError, match=f"^{code}: (?s:.*){re.escape(text)}")


# --- NumPy -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("t", EVERY, ids=lambda t: t.name)
def test_numpy_is_read_in_place(t: DType) -> None:
    x = np.zeros((3, 4), t.numpy)
    v = arrays.view(x)
    assert v == View(x.ctypes.data, (3, 4), (4, 1), t, CPU, False, v.owner)
    assert v.owner is x


@pytest.mark.parametrize(
    ("make", "strides"),
    [
        (lambda x: x[::-1], (-6, 1)),
        (lambda x: x[:, ::2], (6, 2)),
        (lambda x: x.T, (1, 6)),
        (lambda x: x[1:, 2:], (6, 1)),
        (lambda x: np.broadcast_to(x[:1], (5, 6)), (0, 1)),
        (lambda x: x[0, 0, ...], ()),
    ],
)
def test_numpy_strides(make: Any, strides: tuple[int, ...]) -> None:
    x = make(np.arange(24, dtype=np.float32).reshape(4, 6))
    v = arrays.view(x)
    assert (v.address, v.shape, v.strides) == (x.__array_interface__["data"][0], x.shape, strides)


def test_numpy_read_only() -> None:
    x = np.zeros(3)
    x.flags.writeable = False
    assert arrays.view(x).read_only


@pytest.mark.parametrize(
    ("x", "t", "shape"),
    [
        (3, I64, ()),
        (2.5, F64, ()),
        (True, BOOL, ()),
        (2 - 1j, C128, ()),
        (range(4), I64, (4,)),
        (memoryview(b"abc"), dtypes.U8, (3,)),
        (np.complex64(1j), C64, ()),
        ([1, 2, 3], I64, (3,)),
        ([[1.0], [2.0]], F64, (2, 1)),
        (np.float32(1), F32, ()),
        (ml_dtypes.bfloat16(1), BF16, ()),
        (array.array("i", [1, 2]), I32, (2,)),
    ],
)
def test_numbers_and_lists_are_copied(x: object, t: DType, shape: tuple[int, ...]) -> None:
    v = arrays.view(x)
    assert (v.dtype, v.shape, v.read_only, v.device) == (t, shape, True, CPU)
    assert np.array_equal(np.asarray(v.owner), np.asarray(x))


def test_foreign_byte_order_is_converted() -> None:
    v = arrays.view(np.array([1, 2, 3], ">i4"))
    assert v.dtype is I32
    assert np.asarray(v.owner).dtype.isnative
    assert np.asarray(v.owner).tolist() == [1, 2, 3]
    assert v.read_only


@pytest.mark.parametrize(
    "x",
    [
        np.zeros(2, np.longdouble),
        np.array(["a"]),
        np.array([None]),
        np.array(["2026-11-01"], "M8[D]"),
        {},
        None,
        [1, "a"],
    ],
)
def test_elements_without_a_rule(x: object) -> None:
    with pytest.raises(DTypeError, match=r"^WF105: "):
        arrays.view(x)


def test_misaligned_elements() -> None:
    packed = np.zeros(4, np.dtype([("a", "u1"), ("b", "f4")]))
    with pytest.raises(ArgumentError, match=r"^WF106: a stride of 5 bytes is no multiple of the 4 bytes"):
        arrays.view(packed["b"])
    shifted = np.frombuffer(bytearray(17), np.float32, count=4, offset=1)
    with expect("WF106", "an address at an offset"):
        arrays.view(shifted)
    assert arrays.view(packed["b"][:0]).shape == (0,)
    assert arrays.view(np.lib.stride_tricks.as_strided(packed["b"], (3, 0), (5, 5))).shape == (3, 0)


def test_fields_with_aligned_elements_are_read_in_place() -> None:
    records = np.zeros(4, np.dtype([("a", "i4"), ("b", "f4")]))
    records["b"] = [1, 2, 3, 4]
    assert arrays.view(records["b"]).strides == (2,)
    assert arrays.to_numpy(records["b"]).tolist() == [1, 2, 3, 4]
    numbers = np.zeros(4, np.dtype([("z", "c16"), ("pad", "c16")]))
    assert arrays.view(numbers["z"]).strides == (2,)


def test_complex_elements_need_the_alignment_of_their_parts() -> None:
    memory = np.zeros(5 * 16, np.uint8)
    start = -memory.ctypes.data % 16
    assert arrays.view(np.frombuffer(memory, "c16", 2, start + 8)).shape == (2,)
    with expect("WF106", "an address at an offset of 4 bytes is no multiple of the 16 bytes"):
        arrays.view(np.frombuffer(memory, "c16", 2, start + 4))
    assert arrays.view(np.frombuffer(memory, "c8", 2, start + 4)).shape == (2,)


def test_a_matrix_is_its_array() -> None:
    with pytest.warns(PendingDeprecationWarning):
        x = np.matrix([[1.0, 2.0]])
    assert arrays.view(x).shape == (1, 2)


def test_inputs_that_are_not_dense_arrays() -> None:
    with expect("WF114", "mask"):
        arrays.view(np.ma.masked_array([1, 2], [True, False]))
    for ragged in ([[1, 2], [3]], [np.ones(2), np.ones(3)]):
        with expect("WF114", "its rows have several lengths or depths"):
            arrays.view(ragged)
    for great, text in (([2**70, 1], " (in a list)"), (2**70, "")):
        with expect("WF105", f"of type int of more than 64 bits{text}: expected one of numbers and bools"):
            arrays.view(great)


def test_a_numpy_function_is_not_a_program() -> None:
    for x in (np.ones(3, np.float32), np.ones(3, np.complex64)):
        with expect("WF130", "write 'sum'"):
            wf.reduce(x, wf.sum)
        with expect("WF114", "wf.fold(wf.SUM, x)"):
            wf.reduce(x, lambda v: wf.sum(v))


def test_extent_covers_negative_and_zero_strides() -> None:
    x = np.zeros((4, 6), np.float32)
    base = x.ctypes.data
    assert arrays.view(x[::-1, ::-1]).extent == (base, base + 96)
    assert arrays.view(np.broadcast_to(x[0, :1], (9, 1))).extent == (base, base + 4)
    assert arrays.view(x[:0]).extent == (base, base)


# --- protocols ---------------------------------------------------------------------------------------------------
class Cuda(SimpleNamespace):
    """A stand-in for an array on a GPU that speaks one protocol."""


def cuda_interface(**facts: Any) -> Any:
    base = {"shape": (4, 8), "typestr": "<f4", "data": (4096, False), "version": 3, "strides": None}
    return Cuda(__cuda_array_interface__=base | facts, __dlpack_device__=lambda: (2, 1))


def test_cuda_array_interface() -> None:
    v = arrays.view(cuda_interface())
    assert (v.address, v.shape, v.strides, v.dtype) == (4096, (4, 8), (8, 1), F32)
    assert v.device == Device("cuda", 1)
    v = arrays.view(cuda_interface(strides=(4, 64), data=(8192, True), typestr="|b1", shape=(2, 2)))
    assert (v.address, v.strides, v.dtype, v.read_only) == (8192, (4, 64), BOOL, True)


def test_cuda_array_interface_names_the_stream() -> None:
    assert arrays.stream_of(cuda_interface()) == 0
    assert arrays.stream_of(cuda_interface(stream=1)) == 0  # the default stream's other name
    assert arrays.stream_of(cuda_interface(stream=77)) == 77


def test_cuda_array_interface_asks_the_driver_for_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    from warpfold.runtime.backends import cuda_backend

    monkeypatch.setattr(cuda_backend, "ordinal", lambda address: 3 if address == 4096 else 0)
    x = cuda_interface()
    del x.__dlpack_device__
    assert arrays.view(x).device == Device("cuda", 3)
    x = cuda_interface(shape=(0,), data=(0, False))
    del x.__dlpack_device__
    assert arrays.view(x).device == Device("cuda", 0)


def test_invalid_cuda_array_interfaces() -> None:
    for facts, code in (
        ({"mask": object()}, "WF114"),
        ({"typestr": ">f4"}, "WF114"),
        ({"typestr": "<m8"}, "WF105"),
        ({"data": (4098, False)}, "WF106"),
        ({"strides": (33, 4)}, "WF106"),
    ):
        with expect(code):
            arrays.view(cuda_interface(**facts))


class OnlyDLPack:
    """A producer that has only DLPack, with or without its versions."""

    def __init__(self, x: Any, *, versioned: bool = True, device: tuple[int, int] = (1, 0)) -> None:
        self.x, self.versioned, self.device = x, versioned, device

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **how: Any) -> Any:
        if not self.versioned and "max_version" in how:
            raise TypeError("unexpected keyword argument 'max_version'")
        return self.x.__dlpack__(**how)


class HandMade:
    """A hand-made capsule of what NumPy cannot export, such as GPU memory."""

    def __init__(
        self, device: tuple[int, int] = (2, 3), code: int = 4, bits: int = 16, lanes: int = 1, offset: int = 32
    ) -> None:
        self.device = device
        self.shape = (ctypes.c_int64 * 2)(4, 6)
        self.tensor = dlpack._Tensor(4096, *device, 2, code, bits, lanes, self.shape, None, offset)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **how: Any) -> Any:
        self.asked: dict[str, Any] = how
        new = ctypes.pythonapi.PyCapsule_New
        new.argtypes, new.restype = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p), ctypes.py_object
        return new(ctypes.addressof(self.tensor), b"dltensor", None)


def test_dlpack_on_a_gpu() -> None:
    x = HandMade()
    v = arrays.view(x)
    assert (v.address, v.shape, v.strides, v.dtype, v.device) == (4128, (4, 6), (6, 1), BF16, Device("cuda", 3))
    assert x.asked["stream"] == 1  # the producer makes the default stream wait, on which the kernels will run
    assert arrays.stream_of(x) == 0
    assert arrays.view(HandMade((13, 0))).device == Device("cuda", 0)
    assert arrays.view(HandMade((3, 0))).device == CPU


@pytest.mark.parametrize(
    ("code", "bits", "t"),
    [
        (0, 8, dtypes.I8),
        (1, 64, dtypes.U64),
        (2, 16, F16),
        (5, 64, C64),
        (5, 128, C128),
        (6, 8, BOOL),
        (10, 8, F8E4M3FN),
        (12, 8, F8E5M2),
    ],
)
def test_dlpack_type_codes(code: int, bits: int, t: DType) -> None:
    """The numbers in DLPack's header; version 1.1 added 8-bit floats."""
    assert arrays.view(HandMade(code=code, bits=bits)).dtype is t


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("t", [t for t in (*ALL, C64, C128) if t is not BF16], ids=lambda t: t.name)
def test_dlpack(t: DType, versioned: bool) -> None:
    x = np.zeros((3, 4), t.numpy)[:, ::2]
    v = arrays.view(OnlyDLPack(x, versioned=versioned))
    assert (v.address, v.shape, v.strides, v.dtype, v.device) == (x.ctypes.data, (3, 2), (4, 2), t, CPU)
    assert not v.read_only


def test_dlpack_keeps_memory_alive_and_releases_it() -> None:
    x = np.arange(5.0)
    before = sys.getrefcount(x)
    v = arrays.view(OnlyDLPack(x))
    assert sys.getrefcount(x) > before
    del v
    assert sys.getrefcount(x) == before


def test_dlpack_read_only_flag() -> None:
    x = np.zeros(3)
    x.flags.writeable = False
    assert arrays.view(OnlyDLPack(x)).read_only


def test_invalid_dlpack() -> None:
    with expect("WF114", "device of DLPack type 7"):
        arrays.view(HandMade(device=(7, 0)))
    for code, bits, lanes, name in ((2, 32, 4, "float32x4"), (5, 32, 1, "complex32"), (9, 8, 1, "dlpack code 9 of 8")):
        with expect("WF105", name):
            arrays.view(HandMade(code=code, bits=bits, lanes=lanes))
    with expect("WF106", "an address at an offset of 4 bytes"):
        arrays.view(HandMade(code=2, bits=64, offset=4))
    with expect("WF114", "its DLPack export fails"):
        arrays.view(OnlyDLPack(np.zeros(2), device=(2, 0)))  # NumPy refuses the stream that CUDA is asked with


def test_array_api_strict() -> None:
    import array_api_strict as xp

    x = xp.ones((2, 3))
    assert arrays.view(x).strides == (3, 1)
    v, finish = arrays.allocate(x, (2,), F32)
    assert isinstance(finish(), np.ndarray)
    assert v.dtype is F32


# --- results -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("t", EVERY, ids=lambda t: t.name)
def test_results_of_numpy(t: DType) -> None:
    v, finish = arrays.allocate(np.zeros(3), (2, 0, 5), t)
    made = finish()
    assert type(made) is np.ndarray
    assert (made.dtype, made.shape, v.address) == (t.numpy, (2, 0, 5), made.ctypes.data)
    v, finish = arrays.allocate([1, 2], (), t)
    np.asarray(v.owner)[...] = 1
    assert isinstance(finish(), type(np.zeros(1, t.numpy)[0]))  # a scalar, as numpy.sum gives
    assert finish() == 1


def test_results_have_the_requested_memory_order() -> None:
    for order in (None, *itertools.permutations(range(3))):
        v, finish = arrays.allocate(0, (2, 3, 4), F32, order)
        assert (finish().shape, v.strides, v.address) == (
            (2, 3, 4), dense((2, 3, 4), order or (0, 1, 2)), finish().ctypes.data
        )  # fmt: skip
        assert (finish().base is None) == (order in (None, (0, 1, 2)))


# --- copies ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("t", EVERY, ids=lambda t: t.name)
def test_copies_from_and_to_numpy(t: DType) -> None:
    x = np.arange(24).astype(t.numpy).reshape(2, 3, 4)[::-1, :, ::3]
    copy = arrays.to_numpy(x)
    assert (copy.dtype, copy.flags.c_contiguous, copy.tolist()) == (t.numpy, True, x.tolist())
    copy[...] = 0
    assert arrays.from_numpy([1], x).tolist() == x.tolist()
    assert arrays.from_numpy([1], x[0, 0, 0]) == x[0, 0, 0]


def test_copies_of_other_things() -> None:
    assert arrays.to_numpy([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert arrays.to_numpy(OnlyDLPack(np.arange(6)[::-2])).tolist() == [5, 3, 1]
    assert arrays.to_numpy(np.zeros((0, 3))).shape == (0, 3)
    assert arrays.from_numpy(0, np.array([1, 2], ">i4")).tolist() == [1, 2]
    with expect("WF105"):
        arrays.from_numpy(0, np.array(["a"]))


# --- PyTorch, by a stand-in and for real -----------------------------------------------------------------------------
class FakeTorch:
    """The part of PyTorch that warpfold uses, to test the reader where PyTorch is not installed."""

    strided, float32, int64 = "torch.strided", "torch.float32", "torch.int64"
    cuda = SimpleNamespace(current_stream=lambda device: SimpleNamespace(cuda_stream=100 + device.index))
    autograd = SimpleNamespace(forward_ad=SimpleNamespace(_current_level=-1))
    jit = SimpleNamespace(is_tracing=lambda: False)

    def __init__(self) -> None:
        self.Tensor = type("Tensor", (FakeTensor,), {"__module__": "torch"})

    def is_grad_enabled(self) -> bool:
        return True

    def empty_strided(self, shape: tuple[int, ...], strides: tuple[int, ...], dtype: str, device: Any) -> Any:
        return self.Tensor(shape=shape, steps=strides, dtype=dtype, device=device)


class FakeTensor:
    __torch_dispatch__ = None

    def __init__(self, **facts: Any) -> None:
        self.shape, self.steps, self.dtype, self.layout = (4, 6), (6, 1), "torch.float32", "torch.strided"
        self.negative = self.conjugate = self.requires_grad = False
        self.device = SimpleNamespace(type="cuda", index=1)
        self.__dict__.update(facts)

    is_cuda = property(lambda self: self.device.type == "cuda")

    def get_device(self) -> int:
        return int(self.device.index)

    def stride(self) -> tuple[int, ...]:
        return tuple(self.steps)

    def data_ptr(self) -> int:
        return 4096

    def untyped_storage(self) -> Any:
        return SimpleNamespace(data_ptr=lambda: 4096, nbytes=lambda: 1 << 20)

    def is_neg(self) -> bool:
        return bool(self.negative)

    def is_conj(self) -> bool:
        return bool(self.conjugate)

    def detach(self) -> Any:
        return self

    def resolve_neg(self) -> Any:
        return type(self)(**self.__dict__ | {"negative": False})

    def resolve_conj(self) -> Any:
        return type(self)(**self.__dict__ | {"conjugate": False})


@pytest.fixture
def fake_torch(monkeypatch: pytest.MonkeyPatch) -> FakeTorch:
    torch = FakeTorch()
    monkeypatch.setitem(sys.modules, "torch", torch)  # type: ignore[arg-type]
    monkeypatch.setattr(pytorch, "_TYPES", {})
    return torch


def test_torch_reader(fake_torch: FakeTorch) -> None:
    x = fake_torch.Tensor()
    assert arrays.view(x) == View(4096, (4, 6), (6, 1), F32, Device("cuda", 1), False, x)
    assert arrays.stream_of(x) == 101
    host = fake_torch.Tensor(device=SimpleNamespace(type="cpu"))
    assert arrays.view(host).device == CPU
    assert arrays.stream_of(host) == 0
    for lazy in ({"negative": True}, {"conjugate": True, "dtype": "torch.complex64"}):
        made = arrays.view(fake_torch.Tensor(**lazy))
        assert made.read_only
        assert not made.owner.negative  # type: ignore[attr-defined]
        assert not made.owner.conjugate  # type: ignore[attr-defined]
    assert arrays.view(fake_torch.Tensor(dtype="torch.float8_e5m2")).dtype is F8E5M2


def test_torch_results(fake_torch: FakeTorch) -> None:
    v, finish = arrays.allocate(fake_torch.Tensor(), (4,), I64)
    assert (v.dtype, v.device, finish().dtype) == (I64, Device("cuda", 1), "torch.int64")
    for order, strides in ((None, (12, 4, 1)), ((0, 1, 2), (12, 4, 1)), ((2, 0, 1), (3, 1, 6))):
        assert arrays.allocate(fake_torch.Tensor(), (2, 3, 4), I64, order)[0].strides == strides
    with expect("WF115", "torch has no element type u32"):
        arrays.allocate(fake_torch.Tensor(), (4,), U32)


def test_torch_refusals(fake_torch: FakeTorch) -> None:
    with expect("WF105", "complex32"):
        arrays.view(fake_torch.Tensor(dtype="torch.complex32"))
    with expect("WF114", "to_dense"):
        arrays.view(fake_torch.Tensor(layout="torch.sparse"))
    with expect("WF114", "it lies on device"):
        arrays.view(fake_torch.Tensor(device=SimpleNamespace(type="mps")))
    with expect("WF113", "a lazy view"):
        arrays.check_out(fake_torch.Tensor(negative=True), (4, 6), F32, [])
    with expect("WF165", "x.detach"):
        arrays.check_out(fake_torch.Tensor(requires_grad=True), (4, 6), F32, [])


def test_torch_on_the_cpu() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x = torch.arange(12.0).reshape(3, 4).t()
    v = arrays.view(x)
    assert (v.address, v.shape, v.strides, v.dtype, v.device) == (x.data_ptr(), (4, 3), (1, 4), F32, CPU)
    _, finish = arrays.allocate(x, (4,), BF16)
    assert finish().dtype == torch.bfloat16
    z = torch.tensor([1 + 2j, 3 - 1j])
    assert arrays.view(torch.view_as_real(z)).shape == (2, 2)
    for lazy in (z.conj(), z.conj().imag, z.conj()[::2]):  # a conjugate, a negation
        assert arrays.to_numpy(lazy).tolist() == lazy.tolist()
    assert arrays.view(z.conj()).read_only
    with expect("WF114"):
        arrays.view(torch.ones(2, 2).to_sparse())
    with expect("WF114", "it is nested"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns that nested tensors are new
        arrays.view(torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]))
    with expect("WF114", "outside of torch.func"):
        torch.func.vmap(arrays.view)(x)
    with expect("WF106"):
        arrays.view(torch.frombuffer(bytearray(17), dtype=torch.float32, offset=1, count=4))


class Place:
    """CuPy's device: a context manager that makes it the current one."""

    current = 0

    def __init__(self, number: int) -> None:
        self.id = number

    def __enter__(self) -> None:
        Place.current = self.id

    def __exit__(self, *_: object) -> None:
        Place.current = 0


@pytest.fixture
def fake_cupy(monkeypatch: pytest.MonkeyPatch) -> Any:
    def init(self: Any, host: Any, number: int) -> None:
        self.dtype, self.shape, self.strides = host.dtype, host.shape, host.strides
        self.data, self.device = SimpleNamespace(ptr=4096), Place(number)
        self.transpose = lambda axes: cupy.ndarray(host.transpose(axes), number)

    def empty(shape: tuple[int, ...], dtype: Any) -> Any:
        if dtype == BF16.numpy:
            raise TypeError("Unsupported type")
        return cupy.ndarray(np.empty(shape, dtype), Place.current)

    cupy = SimpleNamespace(
        ndarray=type("ndarray", (), {"__module__": "cupy", "__init__": init}),
        empty=empty,
        cuda=SimpleNamespace(get_current_stream=lambda: SimpleNamespace(ptr=200 + Place.current)),
    )
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    return cupy


def test_cupy_with_a_stand_in(fake_cupy: Any) -> None:
    x = fake_cupy.ndarray(np.zeros((3, 4), np.int32)[:, ::-2], 2)
    assert arrays.view(x) == View(4096, (3, 2), (4, -2), I32, Device("cuda", 2), False, x)
    assert arrays.stream_of(x) == 202  # the current stream of the array's device
    v, finish = arrays.allocate(x, (), I64)
    assert (v.device, v.dtype, finish().shape) == (Device("cuda", 2), I64, ())  # rank 0 stays an array, as in CuPy
    v, finish = arrays.allocate(x, (2, 3, 4), I64, (2, 0, 1))
    assert (v.strides, finish().shape, finish().strides) == ((3, 1, 6), (2, 3, 4), (24, 8, 48))
    with expect("WF115", "cupy has no element type bf16"):
        arrays.allocate(x, (3,), BF16)


def test_jax_on_the_cpu() -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    place = jax.devices("cpu")[0]
    x = jax.device_put(np.arange(6, dtype=np.float32).reshape(2, 3), place)
    v = arrays.view(x)
    assert (v.shape, v.strides, v.dtype, v.device, v.read_only) == ((2, 3), (3, 1), F32, CPU, True)
    for t, shape in ((I64, (2,)), (BF16, ()), (BOOL, (2, 2))):  # 64 bits, although JAX cuts to 32 by default
        written, finish = arrays.allocate(x, shape, t)
        np.asarray(written.owner)[...] = 1
        made = finish()
        assert isinstance(made, jax.Array)
        assert (made.dtype, made.shape, made.devices()) == (t.numpy, shape, {place})
        assert np.asarray(made).all()
    assert arrays.allocate(x, (2, 3), F32, (1, 0))[0].strides == (3, 1)
    with expect("WF113", "JAX"):
        arrays.check_out(x, (2, 3), F32, [])
    with expect("WF114", "outside jax.jit"):
        jax.jit(arrays.view)(x)
    x.delete()
    with expect("WF114", "it was deleted"):
        arrays.view(x)


# --- out= ----------------------------------------------------------------------------------------------------------
def test_out_is_returned_as_it_is() -> None:
    out = np.zeros((3, 1, 4), np.float32)
    assert arrays.check_out(out, (3, 1, 4), F32, [arrays.view(np.zeros(5))]).owner is out
    assert arrays.check_out(out[:0], (0, 1, 4), F32, []).shape == (0, 1, 4)
    wide = np.zeros((3, 9, 4), np.float32)[:, :1, :][:1]  # contiguous, since axes of size 1 have no stride
    assert arrays.check_out(wide, (1, 1, 4), F32, []).owner is wide


def test_out_that_cannot_take_the_result() -> None:
    x = np.zeros((4, 4), np.float32)
    views = [arrays.view(np.zeros(3)), arrays.view(x)]
    repeated = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (4,), (0,))
    for out, code, text in (
        (np.zeros(3, np.float32), "WF108", "out has shape (3,): expected (4,)"),
        (np.zeros(4, np.float64), "WF109", "out has elements of type f64: expected f32"),
        (repeated, "WF110", "strides are (0,) elements"),
        (np.broadcast_to(np.float32(0), (4,)), "WF113", "read-only"),
        (np.zeros(4, ">f4"), "WF113", "foreign byte order"),
        (x[2], "WF111", "input 1"),
        (x.ravel()[::5], "WF111", "input 1"),
        (cuda_interface(shape=(4,)), "WF112", "out is on cuda:1: the inputs are on cpu"),
    ):
        with expect(code, text):
            arrays.check_out(out, (4,), F32, views)
    for wrong, text in (([0.0] * 4, "a list"), (1, "a int, not a writable array"), ("a", "a str")):
        with expect("WF113", text):
            arrays.check_out(wrong, (4,), F64, [])
    with pytest.raises(DTypeError, match=r"^WF109"):
        arrays.check_out(np.zeros(4, np.int32), (4,), F16, [])


def test_out_beside_the_input_is_accepted() -> None:
    buffer = np.zeros(12, np.float32)
    for out, x in (
        (buffer[8:], buffer[:8]),
        (buffer.reshape(4, 3)[:, 0], buffer.reshape(4, 3)[:, 1:]),
        (buffer[:8:2], buffer[1::2]),
        (buffer[:4], buffer[:0]),
    ):
        assert arrays.check_out(out, (4,), F32, [arrays.view(x)]).owner is out


@pytest.mark.parametrize("step", [1, 2, 3, -1, -3])
def test_out_may_have_strides(step: int) -> None:
    out = np.zeros(12, np.float32)[::step][:4]
    assert arrays.check_out(out, (4,), F32, []).strides == (step,)


def test_results_that_share_memory() -> None:
    buffer = np.zeros((4, 3), np.float32)
    arrays.check_apart([arrays.view(buffer[:, i]) for i in range(3)])
    with expect("WF132", "out 2 shares memory with out 0"):
        arrays.check_apart([arrays.view(v) for v in (buffer[:2], buffer[2:], buffer[1])])


def test_inputs_on_different_devices() -> None:
    host, device = arrays.view(np.zeros(3)), arrays.view(cuda_interface())
    assert arrays.common_device([host, host]) == CPU
    with pytest.raises(ArgumentError, match=r"^WF107: .*input 0 on cpu, input 1 on cuda:1"):
        arrays.common_device([host, device])
    with pytest.raises(ArgumentError, match=r"^WF107: .*input 0 on cpu, input 1 on cuda:1"):
        wf.reduce(np.zeros(5, np.float32), cuda_interface(shape=(5,)), what="dot", device="emulator")


# --- files -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("limit", [1, 1 << 30], ids=["mapped", "read"])
def test_npy_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    monkeypatch.setattr(arrays, "MAP_FROM_BYTES", limit)
    for x in (
        np.arange(12.0).reshape(3, 4),
        np.asfortranarray(np.arange(6, dtype=np.int8).reshape(2, 3)),
        np.zeros(()),
    ):
        np.save(tmp_path / "x.npy", x)
        found = arrays.load_npy(tmp_path / "x.npy")
        assert np.array_equal(found, x)
        assert arrays.view(found).strides == arrays.view(x).strides


@pytest.mark.parametrize("limit", [1, 1 << 30], ids=["mapped", "read"])
def test_invalid_npy_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    monkeypatch.setattr(arrays, "MAP_FROM_BYTES", limit)
    np.save(tmp_path / "whole.npy", np.arange(100.0))
    whole = (tmp_path / "whole.npy").read_bytes()
    np.save(tmp_path / "objects.npy", np.array([None, {}]), allow_pickle=True)
    np.savez(tmp_path / "archive.npz", np.zeros(3))
    for name, content, code in (
        ("empty", b"", "WF507"),
        ("mark", whole[:4], "WF507"),
        ("header", whole[:40], "WF507"),
        ("body", whole[:-8], "WF507"),
        ("nothing", whole[:128], "WF507"),
        ("size", whole.replace(b"(100,)", b"(9999999999999,)"), "WF507"),
        ("words", whole[:10] + b"\xff\x00((((".ljust(118, b"(") + whole[128:], "WF507"),
        ("objects", (tmp_path / "objects.npy").read_bytes(), "WF508"),
        ("pickle", pickle.dumps([1, 2]), "WF508"),
        ("archive", (tmp_path / "archive.npz").read_bytes(), "WF509"),
        ("text", b"1, 2, 3\n", "WF509"),
    ):
        path = tmp_path / f"{name}.bad"
        path.write_bytes(content)
        with pytest.raises(FileError, match=f"^{code}: .*{name}"):
            arrays.load_npy(path)
    with pytest.raises(FileError, match=r"it is an archive \(\.npz\)\n  help: write one array with numpy\.save$"):
        arrays.load_npy(tmp_path / "archive.npz")
    for missing in (tmp_path / "missing.npy", tmp_path):
        with pytest.raises(FileError, match=r"^WF506: "):
            arrays.load_npy(missing)


def test_a_pickle_is_never_run(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return (Path.touch, (tmp_path / "sprung",))

    (tmp_path / "x.npy").write_bytes(pickle.dumps(Trap()))
    with expect("WF508"):
        arrays.load_npy(tmp_path / "x.npy")
    assert not (tmp_path / "sprung").exists()


# --- costs -------------------------------------------------------------------------------------------------------
def test_no_library_is_imported() -> None:
    """Reading NumPy arrays must not pull in CUDA, MLIR or another array library."""
    code = (
        "import sys, numpy as np; from warpfold.runtime.arrays import conversion as arrays;"
        "arrays.view(np.zeros(3)); arrays.view([1]);"
        "arrays.allocate(np.zeros(3), (), arrays.view(1).dtype); arrays.stream_of([1]);"
        "print(sorted({m.partition('.')[0] for m in sys.modules} & {'torch','cupy','jax','cuda','numba_cuda_mlir'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
