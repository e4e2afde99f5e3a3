"""``torch.compile`` has ops for our functions, and breaks its graph at others; in a fresh interpreter."""

from __future__ import annotations

import subprocess
import sys

import pytest

BODY = """
import sys, warnings
warnings.simplefilter("ignore")
import warpfold as wf
from warpfold.runtime.arrays.torch_compile import _Watch

def watches():
    return sum(type(finder) is _Watch for finder in sys.meta_path)

wf.sum, wf.segment_reduce  # before there is a PyTorch
assert watches() == 1  # each import asks it
import torch

kernel = wf.compile("sum", (3, 4), axis=1)
whole = [
    lambda t: wf.sum(t * 2, axis=1) + 1,
    lambda t: wf.reduce(t * 2, lambda x: wf.fold(wf.SUM, x * x), axis=1) + 1,
    lambda t: wf.dot(t[0] * 2, t[1]) + 1,
]
broken = [
    lambda t: kernel(t * 2) + 1,
    lambda t: wf.segment_reduce(t * 2, [0, 1, 3], "sum") + 1,
]
t = torch.arange(12.0).reshape(3, 4)
for way in whole:
    assert torch.equal(torch.compile(way, backend="eager", fullgraph=True)(t), way(t))
for way in broken:
    assert torch.equal(torch.compile(way, backend="eager")(t), way(t))
    torch._dynamo.reset()
    try:
        torch.compile(way, backend="eager", fullgraph=True)(t)
    except torch._dynamo.exc.Unsupported as e:
        assert "this function of warpfold is no custom op" in str(e), e
    else:
        raise AssertionError("a graph of the whole")
late = torch.compile(lambda t: wf.prod(t * 2, axis=1) + 1, backend="eager")
assert torch.equal(late(t), (t * 2).prod(1) + 1)
assert watches() == 0
print("fine")
"""


def test_graphs_have_our_ops_and_break_at_other_functions() -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    done = subprocess.run([sys.executable, "-c", BODY], capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.strip() == "fine", done.stderr


def test_pytorch_is_not_imported_for_compile() -> None:
    code = "import sys, warpfold as wf; wf.sum([1]); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
