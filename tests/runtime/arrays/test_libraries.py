"""Invalid array interfaces, arrays over several devices, and results too large for memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold.compiler.errors import ArgumentError, DTypeError, WarpfoldError

KEPT = np.ones(3, np.float32)
SOUND = {"data": (KEPT.ctypes.data, False), "shape": (3,), "typestr": "<f4", "version": 3}
BOTH = ("__array_interface__", "__cuda_array_interface__")


def holder(**attributes: Any) -> Any:
    """An object with these attributes."""
    given = {name: staticmethod(a) if callable(a) else a for name, a in attributes.items()}
    return type("Holder", (), given)()


def refused(x: Any, text: str) -> None:
    """Whatever the object is passed for, the error is a coded one."""
    for use in (lambda: wf.sum(x), lambda: wf.sum(KEPT, (), out=x), lambda: wf.sum(KEPT, where=x)):
        with pytest.raises(WarpfoldError, match=text):
            use()


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize(
    "changed",
    [
        {"data": None}, {"data": "abc"}, {"shape": None}, {"shape": (-3,)}, {"shape": (3.5,)}, {"typestr": "??"},
        {"strides": (4, 4)}, {"data": ()},
    ],
    ids=str,
)  # fmt: skip
def test_an_invalid_interface(name: str, changed: dict[str, Any]) -> None:
    refused(holder(**{name: SOUND | changed}), "^WF114: a .*Holder .* its array interface is not sound: ")


@pytest.mark.parametrize("name", BOTH)
def test_an_interface_that_is_not_a_dictionary(name: str) -> None:
    for found in ("abc", [1], {}, 7):
        refused(holder(**{name: found}), "^WF114: .* its array interface is not sound")
    refused(holder(**{name: None}), "WF105|WF114")  # None says that there is no such interface
    read = holder(__cuda_array_interface__=None, __array_interface__=SOUND)
    assert wf.sum(read) == 3


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("address", [0, -8])
def test_an_invalid_address(name: str, address: int) -> None:
    if name == "__array_interface__" or address == 0:
        facts = SOUND | {"data": (address, False)}
        refused(
            holder(**{name: facts}),
            rf"^WF166: a .*Holder has no memory that holds its elements: .*its address is {address}",
        )


def _fails() -> Any:
    raise BufferError("no export today")


@pytest.mark.parametrize(
    ("export", "device", "text"),
    [
        (lambda **_: None, lambda: (1, 0), "no fresh capsule: None"),
        (_fails, lambda: (1, 0), "its DLPack export fails"),
        (lambda **_: None, _fails, "its DLPack export fails: no export today"),
        (lambda **_: None, lambda: None, "its DLPack export fails"),
        (None, None, "Holder"),
    ],
)
def test_an_invalid_export(export: Any, device: Any, text: str) -> None:
    refused(holder(__dlpack__=export, __dlpack_device__=device), rf"^WF1(05|14): .*{text}")


ONE = np.uint8(1)
LARGE: dict[str, Callable[[], Any]] = {
    "2^61": lambda: wf.sum(np.broadcast_to(ONE, (2**61, 2)), axis=1),
    "2^50": lambda: wf.max(np.broadcast_to(ONE, (2**50, 2)), axis=1),
    "several": lambda: wf.minmax(np.broadcast_to(ONE, (2**61, 2)), axis=1),
    "no axis": lambda: wf.sum(np.broadcast_to(ONE, (2**61,)), axis=()),
    "segments": lambda: wf.segment_reduce(np.broadcast_to(ONE, (2**61, 2)), [0, 2], "sum", axis=1),
    "compiled": lambda: wf.compile("sum", (2**61, 2), "uint8", axis=1)(np.broadcast_to(ONE, (2**61, 2))),
}


@pytest.mark.parametrize("case", LARGE)
def test_results_too_large_for_memory(case: str) -> None:
    with pytest.raises(
        ArgumentError, match=r"^WF167: there is no memory for a result of shape \(\d+.* takes \d+ bytes"
    ):
        LARGE[case]()


def test_pytorch_results_too_large_for_memory() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    for rows in (2**61, 2**48):
        with pytest.raises(ArgumentError, match="WF167"):
            wf.sum(torch.ones(1, dtype=torch.uint8).expand(rows, 2), axis=1)


JAX = """
import jax, numpy as np, warpfold as wf
from jax.sharding import Mesh, NamedSharding, PartitionSpec
mesh = Mesh(np.array(jax.devices()), ("d",))
x = jax.numpy.arange(8.0)
for how, spec in (("sharded", PartitionSpec("d")), ("replicated", PartitionSpec())):
    several = jax.device_put(x, NamedSharding(mesh, spec))
    for use in (lambda: wf.sum(several), lambda: wf.reduce(x, several, "dot"), lambda: wf.sum(x, (), out=several)):
        try:
            use()
        except wf.WarpfoldError as e:
            assert f"WF114: a jaxlib" in str(e) and f"{how} over 2 devices" in str(e) and "device_get" in str(e), e
        else:
            raise AssertionError(how)
    assert wf.sum(several.addressable_shards[1].data) == (22 if how == "sharded" else 28)
assert wf.sum(jax.device_put(x, jax.devices()[1])) == 28
print("fine")
"""


def test_jax_arrays_on_several_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jax", reason="JAX is not installed")
    monkeypatch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=2")
    done = subprocess.run([sys.executable, "-c", JAX], capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.strip() == "fine", done.stderr


def test_valid_objects_of_both_kinds_are_read() -> None:
    assert wf.sum(holder(__array_interface__=SOUND)) == 3
    assert wf.sum(holder(__array_interface__=SOUND | {"shape": (0,), "data": (0, False)})) == 0
    with pytest.raises(DTypeError, match="WF105"):
        wf.sum(holder(__array_interface__=SOUND | {"typestr": "|O8"}))
