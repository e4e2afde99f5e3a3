"""WF3: IR and passes."""

from __future__ import annotations

from ..kinds import CompileError, Entries

ENTRIES: Entries = {
    CompileError: {
        "WF301": (
            "no MLIR bindings with the NVPTX backend were found (looked for 'mlir' and 'numba_cuda_mlir')",
            "python -m pip install 'numba-cuda-mlir>=0.5.2,<0.7'",
        ),
        "WF310": ("{op} expects {expected}, got {found}", "see the op's description in compiler/ir/dialect"),
        "WF311": ("{op} expects the attribute {attribute} to be {expected}", "see the op in compiler/ir/dialect"),
        "WF312": ("{op} expects a combine region with arguments {expected}, got {found}", "two states: left, right"),
        "WF313": ("{op} expects a region that yields {expected}, got {found}", "end the region with fold.yield"),
        "WF314": ("{op} expects increasing dims from 0 to {rank} - 1, got {dims}", "name every reduced dim once"),
        "WF315": (
            "{op} expects a region that uses only its own values and constants, got a {found} from outside in {inner}",
            "compute the value inside of the region, or make it a value of the state",
        ),
        "WF316": (
            "{op} expects a region of straight-line code, got {inner}, which has a region of its own",
            "write it with arith.select and other operations on scalars",
        ),
        "WF317": (
            "{op} expects states of scalars, or of vectors of a power of two of them, got {found}",
            "a scalar is one of {known}",
        ),
        "WF318": ("the verifier of {op} failed: {reason}", "report it with the IR"),
        "WF319": (
            "pass {name} cannot lower this IR: {reason}",
            "see the ops' descriptions in compiler/ir/dialect; if the IR follows them, report it",
        ),
        "WF320": (
            "distribute expects a function with {expected}, got {found}",
            "write the program through wf.fold, or give the function the attributes that docs/design.md lists",
        ),
        "WF321": ("{stage} has no rule for {op} on {dtype}", "rewrite the function with operations that have one"),
        "WF322": (
            "{attribute} of @{function} expects {field} = {expected}, got {found}",
            "docs/design.md lists the fields; warpfold compile OP --emit program writes them",
        ),
        "WF323": (
            "{attribute} of @{function} has no field {field}{near}: it has {known}",
            "correct its name, or leave it out",
        ),
        "WF324": (
            "{op} expects a {expected} around it, got none",
            "run distribute before this pass: it makes the kernel",
        ),
        "WF325": ("{op} has no instruction on {arch}", "compile for sm_80 or newer, or reduce by fold.warp_reduce"),
        "WF326": (
            "a fold.thread_reduce that is summed adds f16, bf16 or bytes, as f32 or integers: this one combines {type}",
            "leave out summed",
        ),
        "WF330": (
            "pass {name} left {count} {op} behind",
            "report it with the output of: warpfold compile OP --emit program",
        ),
        "WF331": ("pass {name} failed: {reason}", "the IR before it is in {path}; reproduce with: {command}"),
        "WF332": ("{name} is in the PTX but nothing links it", "report it: a math function lacks its expansion"),
        "WF333": (
            "the kernels of {name} would give wrong numbers, so none runs: {reason}",
            "report it with the function, and with the shapes and strides of its arrays",
        ),
    },
}
