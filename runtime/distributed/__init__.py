"""Reductions and programs of arrays of which every rank of a process group has a shard: states travel alone."""

from __future__ import annotations

from .library import batch_norm, cross_entropy, layer_norm, log_softmax, rms_norm, softmax
from .programs import run
from .reductions import reduce

__all__ = ["batch_norm", "cross_entropy", "layer_norm", "log_softmax", "reduce", "rms_norm", "run", "softmax"]
