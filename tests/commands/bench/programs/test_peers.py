"""QuACK and Liger as peers: what each is called with, and which cases it refuses."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from warpfold.commands.bench import peers
from warpfold.commands.bench.peers import MissingError, UnservedError, liger, quack
from warpfold.commands.bench.programs.case import ProgramCase, parse
from warpfold.commands.bench.programs.cases import FUSED
from warpfold.commands.bench.programs.inputs import inputs

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


def case(name: str) -> ProgramCase:
    found = parse(name)
    assert found is not None, name
    return found


results = {
    "_softmax_forward": 4, "layer_norm_forward": 6, "rms_norm_forward": 6, "fused_add_rms_norm_forward": 7,
    "group_norm_forward": 5, "cross_entropy_forward": 5, "cross_entropy_fwd": 2, "rmsnorm_bwd": 4,
}  # fmt: skip
"""How many results functions have, if not three."""


def recorder(name: str, log: list[Any]) -> Any:
    """A function that notes its name, the shapes and types of its tensors, and its other arguments."""

    def call(*args: Any, **kw: Any) -> Any:
        log.append((name, *map(_said, args), {key: _said(value) for key, value in kw.items()}))
        return (args[0].float(),) * results.get(name, 3)

    return call


def _said(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Both libraries, faked: the calls that their functions got."""
    log: list[Any] = []
    fakes: dict[str, Any] = {
        "quack": {},
        "quack.softmax": {"softmax_fwd": "", "softmax_bwd": ""},
        "quack.rmsnorm": {"layernorm_fwd": "", "rmsnorm_fwd": "", "layernorm_bwd": "", "rmsnorm_bwd": ""},
        "quack.cross_entropy": {"cross_entropy_fwd": "", "cross_entropy_bwd": ""},
        "liger_kernel": {"ops": SimpleNamespace()},
        "liger_kernel.ops": {},
        "liger_kernel.ops.softmax": {"_softmax_forward": "", "_softmax_backward": ""},
        "liger_kernel.ops.layer_norm": {"layer_norm_forward": "", "layer_norm_backward": ""},
        "liger_kernel.ops.rms_norm": {"rms_norm_forward": "", "rms_norm_backward": ""},
        "liger_kernel.ops.fused_add_rms_norm": {"fused_add_rms_norm_forward": "", "fused_add_rms_norm_backward": ""},
        "liger_kernel.ops.group_norm": {"group_norm_forward": "", "group_norm_backward": ""},
        "liger_kernel.ops.cross_entropy": {"cross_entropy_forward": ""},
    }
    for module, names in fakes.items():
        made = {name: recorder(name, log) if given == "" else given for name, given in names.items()}
        monkeypatch.setitem(sys.modules, module, SimpleNamespace(**made))
    for module in (quack, liger):
        monkeypatch.setattr(module, "version", lambda _: "9.9")
        monkeypatch.setattr(module, "module", lambda: torch)
    return log


def called(peer: Any, name: str, log: list[Any]) -> Any:
    this = case(name)
    log.clear()
    peer.call(this, inputs(torch, this, 0, "cpu"))()
    return log[0]


def test_what_quack_is_asked_for(log: list[Any]) -> None:
    peer = quack.open_peer(None)  # type: ignore[arg-type]
    assert peer.version == "9.9"
    for name, expected in {
        "softmax.bf16.8x64": ("softmax_fwd", "bfloat16[8, 64]", {}),
        "softmax.bf16.2x3x4x64": ("softmax_fwd", "bfloat16[24, 64]", {}),
        "layernorm.bf16.8x64": ("layernorm_fwd", "bfloat16[8, 64]", "float32[64]", "float32[64]", 1e-5, {}),
        "rmsnorm.f16.2x8x64": ("rmsnorm_fwd", "float16[16, 64]", "float32[64]", {"eps": 1e-6}),
        "add_rmsnorm.bf16.8x64": (
            "rmsnorm_fwd", "bfloat16[8, 64]", "float32[64]", {"residual": "bfloat16[8, 64]", "eps": 1e-6},
        ),
        "cross_entropy.f32.8x64": ("cross_entropy_fwd", "float32[8, 64]", "int64[8]", {}),
    }.items():  # fmt: skip
        assert called(peer, name, log) == expected


def test_what_liger_is_asked_for(log: list[Any]) -> None:
    peer = liger.open_peer(None)  # type: ignore[arg-type]
    assert peer.version == "9.9"
    for name, expected in {
        "softmax.bf16.2x3x4x77": ("_softmax_forward", "bfloat16[2, 3, 4, 77]", {}),
        "layernorm.bf16.8x64": ("layer_norm_forward", "bfloat16[8, 64]", "bfloat16[64]", "bfloat16[64]", 1e-5, {}),
        "rmsnorm.bf16.8x64": ("rms_norm_forward", "bfloat16[8, 64]", "bfloat16[64]", 1e-6, 0.0, "llama", None, {}),
        "groupnorm.f32.2x64x3x3": (
            "group_norm_forward", "float32[2, 64, 3, 3]", 64, 32, "float32[64]", "float32[64]", 1e-5, {},
        ),
    }.items():  # fmt: skip
        assert called(peer, name, log) == expected
    assert called(peer, "add_rmsnorm.bf16.8x64", log)[0] == "fused_add_rms_norm_forward"
    assert called(peer, "cross_entropy.f32.8x99999", log)[0] == "cross_entropy_forward"


def test_backwards_follow_their_forwards(log: list[Any]) -> None:
    of_quack, of_liger = quack.open_peer(None), liger.open_peer(None)  # type: ignore[arg-type]
    for peer, name, expected in (
        (of_quack, "softmax_bwd.bf16.8x64", "softmax_fwd softmax_bwd"),
        (of_quack, "layernorm_bwd.bf16.8x64", "layernorm_fwd layernorm_bwd"),
        (of_quack, "rmsnorm_bwd.bf16.8x64", "rmsnorm_fwd rmsnorm_bwd"),
        (of_quack, "add_rmsnorm_bwd.bf16.8x64", "rmsnorm_fwd rmsnorm_bwd"),
        (of_quack, "cross_entropy_fwdbwd.bf16.8x64", "cross_entropy_fwd cross_entropy_bwd"),
        (of_liger, "softmax_bwd.bf16.8x77", "_softmax_forward _softmax_backward"),
        (of_liger, "layernorm_bwd.bf16.8x64", "layer_norm_forward layer_norm_backward"),
        (of_liger, "rmsnorm_bwd.bf16.8x64", "rms_norm_forward rms_norm_backward"),
        (of_liger, "add_rmsnorm_bwd.bf16.8x64", "fused_add_rms_norm_forward fused_add_rms_norm_backward"),
        (of_liger, "groupnorm_bwd.f32.2x64x3x3", "group_norm_forward group_norm_backward"),
        (of_liger, "cross_entropy_fwdbwd.bf16.8x64", "cross_entropy_forward"),
    ):
        called(peer, name, log)
        assert " ".join(entry[0] for entry in log) == expected


@pytest.mark.parametrize(
    ("name", "of_quack", "of_liger"),
    [
        ("log_softmax.bf16.8x64", "no such function", "no such function"),
        ("batchnorm.f32.8x64", "no such function", "no such function"),
        ("softmax0.bf16.8x64", "the last axis only", "the last axis only"),
        ("softmax.bf16.8x77", "a multiple of 16 bytes only", ""),
        ("softmax.f32.8x66", "a multiple of 16 bytes only", ""),
        ("softmax.f64.8x64", "no f64", ""),
        ("softmax.bf16.2x131072", "", "at most 65,536 elements"),
        ("softmax.f32.1x1M", "at most 3584 KiB", "at most 65,536 elements"),
    ],
)
def test_what_they_refuse(log: list[Any], name: str, of_quack: str, of_liger: str) -> None:
    this = case(name)
    arrays = inputs(torch, this, 0, "cpu")
    for peer, reason in ((quack.Quack(), of_quack), (liger.Liger(), of_liger)):
        if not reason:
            peer.call(this, arrays)
            continue
        with pytest.raises(UnservedError, match=reason):
            peer.call(this, arrays)
    assert not log  # nothing has run


def test_what_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (quack, liger):
        monkeypatch.setattr(module, "module", lambda: torch)
    for name in ("quack", "liger_kernel", "liger_kernel.ops"):
        monkeypatch.setitem(sys.modules, name, None)
    assert peers.open_peers(("quack", "liger"), None) == dict.fromkeys(  # type: ignore[arg-type]
        ("quack", "liger"), "not installed"
    )
    with pytest.raises(MissingError):
        quack.Quack()


def test_who_is_asked() -> None:
    from warpfold.commands.bench.cases import PLAIN

    program, reduction = next(iter(FUSED.values())), next(iter(PLAIN.values()))
    assert [n for n in peers.NAMES if peers.serves(n, program)] == ["torch", "compile", "quack", "liger"]
    assert [n for n in peers.NAMES if peers.serves(n, reduction)] == ["torch", "compile", "cupy", "cub", "triton"]
