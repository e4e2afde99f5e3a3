"""A small transformer written with PyTorch alone, and its training.

    python tests/runtime/torch_modules/transformer.py

trains a larger one on a GPU, twice with PyTorch's modules and twice with ours, and prints losses, memory and times:
with batches so small that the host decides how long a step takes, and with larger ones, where the GPU does.
"""

from __future__ import annotations

import time
from itertools import product
from statistics import median
from typing import Any, NamedTuple

import torch
from torch import nn


class Sizes(NamedTuple):
    """The sizes of the model and of a batch."""

    layers: int
    width: int
    heads: int
    vocabulary: int
    length: int
    batch: int


class Block(nn.Module):
    """Attention and a feed-forward network, each behind a layer norm and beside a residual."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.heads = sizes.heads
        self.norm1, self.norm2 = nn.LayerNorm(sizes.width), nn.RMSNorm(sizes.width)
        self.qkv, self.out = nn.Linear(sizes.width, 3 * sizes.width), nn.Linear(sizes.width, sizes.width)
        self.mlp = nn.Sequential(
            nn.Linear(sizes.width, 4 * sizes.width), nn.GELU(), nn.Linear(4 * sizes.width, sizes.width)
        )

    def forward(self, x: Any) -> Any:
        shape = (*x.shape[:2], self.heads, -1)
        q, k, v = (part.view(shape).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, -1))
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


class Transformer(nn.Module):
    """Predicts the next token of each place."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.tokens, self.places = (
            nn.Embedding(sizes.vocabulary, sizes.width), nn.Embedding(sizes.length, sizes.width),
        )  # fmt: skip
        self.blocks = nn.Sequential(*(Block(sizes) for _ in range(sizes.layers)))
        self.norm, self.head = nn.LayerNorm(sizes.width), nn.Linear(sizes.width, sizes.vocabulary, bias=False)
        self.loss = nn.CrossEntropyLoss()

    def forward(self, tokens: Any) -> Any:
        x = self.tokens(tokens[:, :-1])
        x = x + self.places(torch.arange(x.shape[1], device=x.device))
        logits = self.head(self.norm(self.blocks(x)))
        return self.loss(logits.flatten(0, 1), tokens[:, 1:].flatten())


def model(sizes: Sizes, device: str = "cpu", dtype: Any = torch.float32) -> Any:
    """A transformer, the same one each time."""
    torch.manual_seed(0)
    with torch.device(device):
        return Transformer(sizes).to(dtype)


def batches(sizes: Sizes, steps: int, device: str = "cpu") -> Any:
    """Tokens that follow a rule, with some noise: about (token * 3 + 1) modulo the vocabulary."""
    source = torch.Generator().manual_seed(1)
    first = torch.randint(sizes.vocabulary, (steps, sizes.batch, 1), generator=source)
    found = [first]
    for _ in range(sizes.length):
        found.append((found[-1] * 3 + torch.randint(2, first.shape, generator=source)) % sizes.vocabulary)
    return torch.cat(found, 2).to(device)


def losses(net: Any, tokens: Any, rate: float = 1e-3) -> list[float]:
    """The loss of each step of a training."""
    found = []
    optimizer = torch.optim.SGD(net.parameters(), rate)
    for own in tokens:
        loss = net(own)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.detach())
    return [float(loss) for loss in found]


# --- on a GPU ----------------------------------------------------------------------------------------------------
LARGE = Sizes(layers=4, width=1024, heads=16, vocabulary=32000, length=512, batch=8)
LARGER = LARGE._replace(length=1024, batch=16)
STEPS = 50
PRECISIONS = ("bf16", "f32", "f32 with autocast to bf16")


class Run(NamedTuple):
    """A training: the loss of each step, of 256 tokens in f32; the greatest memory in MiB; the median ms of a step."""

    losses: list[float]
    memory: float
    step: float


def trained(ours: bool, precision: str, sizes: Sizes = LARGE, steps: int = STEPS) -> Run:
    """Trains the model on a GPU, in one of ``PRECISIONS``."""
    autocast = precision == "f32 with autocast to bf16"
    net = model(sizes, device="cuda", dtype=torch.bfloat16 if precision == "bf16" else torch.float32)
    if ours:
        import warpfold.torch

        warpfold.torch.replace_modules(net)
    optimizer = torch.optim.AdamW(net.parameters(), 3e-4, fused=True)
    tokens = batches(sizes, steps, "cuda")
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    found, times, kept = [], [], []
    rows = 256 // sizes.batch
    net.head.register_forward_hook(lambda _, __, logits: kept.append(logits.detach()[:, :rows].float()))
    for own in tokens:
        start = time.perf_counter()
        with torch.autocast("cuda", torch.bfloat16, enabled=autocast):
            loss = net(own)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) * 1e3)
        found.append(float(nn.functional.cross_entropy(kept.pop().flatten(0, 1), own[:, 1 : 1 + rows].flatten())))
    return Run(found, torch.cuda.max_memory_allocated() / 2**20, median(times[len(times) // 5 :]))


def main() -> None:
    """Prints the table."""
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, {STEPS} steps")
    for sizes, precision in product((LARGE, LARGER), PRECISIONS):
        turns = ("PyTorch", "warpfold", "PyTorch again", "warpfold again")
        runs = {name: trained("warpfold" in name, precision, sizes) for name in turns}
        first = runs["PyTorch"].losses
        print(f"{precision}, {sizes.batch} x {sizes.length}")
        for name, run in runs.items():
            apart = max(abs(a - b) for a, b in zip(run.losses, first, strict=True))
            curve = " ".join(f"{run.losses[i]:.4f}" for i in (0, 9, 19, 29, 39, 49))
            print(f"{name:14} {run.step:7.2f} ms {run.memory:8.0f} MiB  apart {apart:.5f}  loss {curve}", flush=True)


if __name__ == "__main__":
    main()
