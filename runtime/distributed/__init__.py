"""Reductions of arrays of which every rank of a process group has a shard: states travel, elements do not."""

from __future__ import annotations

from .reductions import reduce

__all__ = ["reduce"]
