"""WF74 and WF75: what is measured of a device."""

from __future__ import annotations

from ..kinds import ArgumentError, BackendError, Entries, FileError

ENTRIES: Entries = {
    ArgumentError: {
        "WF740": (
            "the benchmark has no case {name!r}{near}: expected one of {groups}, a case's name, or a pattern",
            "name groups, row.sum.*, or a shape of your own: row.sum.f32.1000x1000, softmax.bf16.1000x1000; "
            "cases.py and programs/cases.py of commands/bench list all cases",
        ),
        "WF741": ("the benchmark has no peer {name!r}{near}: expected some of {known}, or none", "name some of them"),
        "WF753": (
            "no layout of the grid matches {pattern!r}: its kinds are {kinds}",
            "write a kind and a pattern, such as --only 'short.*'; --list shows all names",
        ),
        "WF754": ("the grid has no cells of type {dtype!r}: expected some of {known}", "write --dtypes f32,bf16"),
    },
    BackendError: {
        "WF742": (
            "{command} times a GPU, and there is none: {reason}",
            "run it on a machine with a CUDA device; {instead}",
        ),
        "WF745": (
            "the answers of the grid are checked on the GPU by PyTorch, which {problem}",
            "install a PyTorch with CUDA: python -m pip install torch",
        ),
    },
    FileError: {
        "WF743": (
            "{path} holds results of {command}, version {found}: expected {expected}",
            "measure again: {command} --out {path}",
        ),
        "WF744": (
            "{path} holds no results of {command}, or damaged ones: {reason}",
            "measure again: {command} --out {path}",
        ),
        "WF752": (
            "{path} was measured on {found}: expected {expected}, the device of this run",
            "compare with a grid of the same device",
        ),
    },
}
