"""Reductions and programs of arrays of which every rank of a process group has a shard: states travel alone."""

from __future__ import annotations

from .programs import run
from .reductions import reduce

__all__ = ["reduce", "run"]
