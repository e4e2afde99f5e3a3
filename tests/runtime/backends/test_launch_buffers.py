"""Repeatable launches: the layout of the arguments, and what the driver gets."""

from __future__ import annotations

import ctypes

import pytest
from fake_driver import FakeDriver

from warpfold.compiler.driver.artifact import CompiledKernel
from warpfold.compiler.errors import BackendError
from warpfold.compiler.plan.abi import Param
from warpfold.compiler.plan.facts import Facts
from warpfold.compiler.plan.plan import Plan
from warpfold.runtime.backends.cuda_backend import CudaBackend
from warpfold.runtime.backends.kernel_calls import Call
from warpfold.runtime.backends.launch_buffers import Function, PackedLaunch

ROLES = ("input", "output", "n_kept", "partial", "chunk", "count")
CALL = Call("k", (3, 2, 1), (64, 1, 1), (1 << 40, 1 << 41, -5, 1 << 42, 6, 7))


def function(bits: int) -> Function:
    params = tuple(Param(role) for role in ROLES)  # type: ignore[arg-type]
    return Function(9, CompiledKernel("k", "main", Plan(), Facts(1, 1, bits, ("strided",), False), params))


@pytest.mark.parametrize(("bits", "offsets"), [(32, [0, 8, 16, 24, 32, 36]), (64, [0, 8, 16, 24, 32, 40])])
def test_each_argument_is_at_a_multiple_of_its_size(bits: int, offsets: list[int]) -> None:
    made = PackedLaunch(function(bits), CALL, 5)
    assert made.function.offsets == offsets
    assert list(made.pointers) == [made.words.buffer_info()[0] + o for o in offsets]
    number = ctypes.c_int32 if bits == 32 else ctypes.c_int64
    kinds = [ctypes.c_uint64 if n in (0, 1, 3) else number for n in range(6)]
    assert tuple(k.from_buffer(made.words, o).value for k, o in zip(kinds, offsets, strict=True)) == CALL.args


def test_a_copy_has_memory_of_its_own_and_an_address_is_a_word() -> None:
    made = PackedLaunch(function(32), CALL, 0)
    other = made.copy()
    before = bytes(made.words)
    assert bytes(other.words) == before
    other.words[0], other.words[3] = 11, 13
    assert bytes(made.words) == before
    assert bytes(other.words) == (11).to_bytes(8, "little") + before[8:24] + (13).to_bytes(8, "little") + before[32:]


def test_the_arguments_of_the_driver() -> None:
    driver = FakeDriver()
    driver.layout = (8, 8, 4, 8, 4, 4)
    entries = CudaBackend(driver=driver).entries
    driver.current, module = 1000, (b"",)
    driver.functions.append((module, "k"))
    driver.owners[id(module)] = 1000
    held = function(32)
    held.handle = 1
    assert entries.launch(*PackedLaunch(held, CALL, 1 << 40).arguments) == 0
    assert driver.launches == [("k", (3, 2, 1), (64, 1, 1), 1 << 40, CALL.args, 1000, 0, 0)]
    assert entries.launch(*PackedLaunch(held, CALL, 0).arguments) == 0
    assert driver.launches[-1].stream == 0


def test_a_launch_has_the_shared_memory_of_its_call() -> None:
    assert PackedLaunch(function(32), CALL._replace(shared=4096), 0).copy().config.shared == 4096


def test_a_driver_without_the_function() -> None:
    driver = FakeDriver()
    driver.cuGetProcAddress = lambda *_: (0, 0, 1)  # type: ignore[method-assign]
    with pytest.raises(BackendError, match=r"^WF604: .*older than CUDA 12: it has no cuLaunchKernelEx"):
        CudaBackend(driver=driver)


def test_ctas_that_wait_for_each_other_are_launched_together() -> None:
    """The attribute is the driver's ``CU_LAUNCH_ATTRIBUTE_COOPERATIVE``, with the value 1."""
    config = PackedLaunch(function(32), CALL._replace(cooperative=True), 0).copy().config
    words = (ctypes.c_uint * 3).from_address(config.attributes)
    assert (config.count, words[0], words[2]) == (1, 2, 1)
    assert PackedLaunch(function(32), CALL, 0).config.count == 0
