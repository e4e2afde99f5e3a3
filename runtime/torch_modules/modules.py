"""Modules with PyTorch's names, arguments and state: subclasses of its own, with another ``forward``.

Where the library has no program for a call (a type, a device or an option), the call is PyTorch's own.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from ...compiler.errors import error
from ...compiler.program import accumulation
from ...compiler.program.frames import outside_libraries
from ...compiler.program.library.programs import losses
from ..programs.function import program
from ..programs.library import (
    batch_norm,
    cross_entropy,
    dropout,
    group_norm,
    layer_norm,
    log_softmax,
    relu,
    rms_norm,
    softmax,
)

FLOATS = frozenset({torch.float16, torch.bfloat16, torch.float32, torch.float64})
DEVICES = frozenset({"cpu", "cuda"})


def _fits(x: Any) -> bool:
    """Whether programs take a tensor, so that PyTorch need not."""
    return x.dtype in FLOATS and x.device.type in DEVICES and x.layout is torch.strided


def _row_major(x: Any) -> Any:
    """A tensor in C order: PyTorch's results of rows are, and those of programs lie as their arguments do."""
    return x if x.is_contiguous() else x.contiguous()


class _Own:
    """What all modules of this library share."""

    def __prepare_scriptable__(self) -> None:
        """Tells ``torch.jit.script`` that it cannot compile this."""
        raise error("WF223", name=f"{type(self).__name__} of warpfold", where=outside_libraries())


class Softmax(_Own, nn.Softmax):  # type: ignore[misc]
    """``torch.nn.Softmax`` as one kernel."""

    def forward(self, input: Any) -> Any:
        if self.dim is None or not input.dim() or not _fits(input):
            return super().forward(input)
        return softmax(_row_major(input), axis=self.dim)


class LogSoftmax(_Own, nn.LogSoftmax):  # type: ignore[misc]
    """``torch.nn.LogSoftmax`` as one kernel."""

    def forward(self, input: Any) -> Any:
        if self.dim is None or not input.dim() or not _fits(input):
            return super().forward(input)
        return log_softmax(_row_major(input), axis=self.dim)


class LayerNorm(_Own, nn.LayerNorm):  # type: ignore[misc]
    """``torch.nn.LayerNorm`` as one kernel."""

    def forward(self, input: Any) -> Any:
        axes = _normalized(self, input)
        if axes is None:
            return super().forward(input)
        x, weight, bias = _row_major(input), self.weight, self.bias
        if weight is None:
            return layer_norm(x, axis=axes, eps=self.eps)
        if bias is None:
            return layer_norm(x, weight, axis=axes, eps=self.eps)
        return layer_norm(x, weight, bias, axis=axes, eps=self.eps)


class RMSNorm(_Own, nn.RMSNorm):  # type: ignore[misc]
    """``torch.nn.RMSNorm`` as one kernel."""

    def forward(self, x: Any) -> Any:
        axes = _normalized(self, x)
        if axes is None:
            return super().forward(x)
        x = _row_major(x)
        if self.weight is None:
            return rms_norm(x, axis=axes, eps=self.eps)
        return rms_norm(x, self.weight, axis=axes, eps=self.eps)


def _normalized(module: Any, x: Any) -> int | tuple[int, ...] | None:
    """The axes that a norm of rows goes over; None for an argument that PyTorch takes, or refuses."""
    shape = module.normalized_shape
    rank = len(shape)
    if not _fits(x) or x.shape[-rank:] != shape:
        return None
    return -1 if rank == 1 else tuple(range(-rank, 0))


class GroupNorm(_Own, nn.GroupNorm):  # type: ignore[misc]
    """``torch.nn.GroupNorm`` as one kernel."""

    def forward(self, input: Any) -> Any:
        if not _fits(input) or input.dim() < 2 or input.shape[1] != self.num_channels:
            return super().forward(input)
        if self.weight is None:
            return group_norm(input, self.num_groups, eps=self.eps)
        return group_norm(input, self.num_groups, self.weight, self.bias, eps=self.eps)


class _BatchNorm(_Own):
    """The ``forward`` of batch norms, before that of PyTorch's classes."""

    def forward(self: Any, input: Any) -> Any:
        fits = _fits(input) and input.dim() > 1 and input.shape[1] == self.num_features
        if self.momentum is None or self.eps <= 0 or not fits:
            return super().forward(input)  # type: ignore[misc]
        self._check_input_dim(input)
        affine = self._affine()
        if not (self.training or self.running_mean is None):
            return batch_norm(input, self.running_mean, self.running_var, *affine, eps=self.eps)
        normed = self._of_batch()
        if not (self.training and self.track_running_stats):
            return normed(input, None, None, *affine, training=True, eps=self.eps).output
        self.num_batches_tracked.add_(1)
        running = self.running_mean, self.running_var
        return normed(input, *running, *affine, training=True, momentum=self.momentum, eps=self.eps).output

    def _affine(self: Any) -> tuple[Any, ...]:
        """The weight and the bias, if there are any."""
        return () if self.weight is None else (self.weight, self.bias)

    def _of_batch(self) -> Any:
        """What normalises a batch by its own statistics."""
        return batch_norm


class BatchNorm1d(_BatchNorm, nn.BatchNorm1d):  # type: ignore[misc]
    """``torch.nn.BatchNorm1d`` as one or two kernels."""


class BatchNorm2d(_BatchNorm, nn.BatchNorm2d):  # type: ignore[misc]
    """``torch.nn.BatchNorm2d`` as one or two kernels."""


class BatchNorm3d(_BatchNorm, nn.BatchNorm3d):  # type: ignore[misc]
    """``torch.nn.BatchNorm3d`` as one or two kernels."""


class SyncBatchNorm(_BatchNorm, nn.SyncBatchNorm):  # type: ignore[misc]
    """``torch.nn.SyncBatchNorm`` by ``warpfold.distributed.batch_norm``, which takes tensors of the host, too.

    Gradients of the weight and the bias are sums over all ranks already. Each rank has its share of them, so that
    processes which then add or average gradients, as ``DistributedDataParallel`` does, get those of PyTorch's module.
    """

    def _affine(self) -> tuple[Any, ...]:
        count = self._count()
        return tuple(_shared(p, count) for p in super()._affine()) if count > 1 else super()._affine()

    def _of_batch(self) -> Any:
        from ..distributed import batch_norm as of_all_ranks  # not imported without this module

        return partial(of_all_ranks, group=self.process_group) if self._count() > 1 else batch_norm

    def _count(self) -> int:
        """How many ranks meet: those of the group in training, else this one alone."""
        meets = self.training and dist.is_available() and dist.is_initialized()
        return int(dist.get_world_size(self.process_group)) if meets else 1


def _shared(parameter: Any, count: int) -> Any:
    """A parameter that gets an equal share of its gradient on each of so many ranks."""
    if parameter is None or not (parameter.requires_grad and torch.is_grad_enabled()):
        return parameter
    own = parameter.view_as(parameter)
    own.register_hook(lambda gradient: gradient / count)
    return own


@program
def _cross_entropy(x: Any, target: Any, weight: Any = None, **how: Any) -> Any:
    """The loss in the type of the logits, as PyTorch has it."""
    return accumulation.cast(losses.cross_entropy(x, target, weight, **how), x.dtype)


class CrossEntropyLoss(_Own, nn.CrossEntropyLoss):  # type: ignore[misc]
    """``torch.nn.CrossEntropyLoss`` as one kernel, of targets that are classes; the loss of others is NaN."""

    def forward(self, input: Any, target: Any) -> Any:
        if not _fits(input) or target.is_floating_point() or input.dim() == 0:
            return super().forward(input, target)
        loss = cross_entropy if torch.is_autocast_enabled(input.device.type) else _cross_entropy
        xs = (input, target) if self.weight is None else (input, target, self.weight)
        return loss(*xs, ignore_index=self.ignore_index, reduction=self.reduction, label_smoothing=self.label_smoothing)


class ReLU(_Own, nn.ReLU):  # type: ignore[misc]
    """``torch.nn.ReLU`` by a program, unless it is to change its argument."""

    def forward(self, input: Any) -> Any:
        return super().forward(input) if self.inplace or not _fits(input) else relu(input)


class Dropout(_Own, nn.Dropout):  # type: ignore[misc]
    """``torch.nn.Dropout`` whose backward makes the mask again, from a seed of PyTorch's generator of the host.

    The elements that it drops are others than PyTorch's. In the capture of a CUDA graph, where each replay needs a seed
    of its own, the call is PyTorch's.
    """

    def forward(self, input: Any) -> Any:
        if not self.training or self.inplace or not _fits(input) or _captures(input):
            return super().forward(input)
        seed = torch.randint(1 << 62, ())
        return dropout(input, self.p, seed=seed if torch.compiler.is_compiling() else int(seed))


def _captures(x: Any) -> bool:
    return bool(x.is_cuda and torch.cuda.is_current_stream_capturing())
