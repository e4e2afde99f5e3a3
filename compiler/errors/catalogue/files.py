"""WF5: files: artifacts, cache, inputs, outputs."""

from __future__ import annotations

from ..kinds import Entries, FileError

ENTRIES: Entries = {
    FileError: {
        "WF501": ("cannot read {path}: {reason}", "check the path and its permissions"),
        "WF502": ("{path} is not a warpfold artifact of a known format", "save it again with artifact.save(path)"),
        "WF503": ("{path} is cut short or was altered: its checksum does not match", "save the artifact again"),
        "WF505": ("cannot write {path}: {reason}", "give a path in a folder that exists and may be written"),
        "WF506": ("cannot read {path}: {reason}", "check the path and its permissions"),
        "WF507": ("{path} is cut short or damaged: {reason}", "write it again with numpy.save"),
        "WF508": (
            "{path} holds pickled objects, which can run code when loaded: expected plain numbers",
            "load it where you trust it, and save it again as an array of numbers",
        ),
        "WF509": ("{path} is not a .npy file: {reason}", "write one array with numpy.save"),
        "WF510": (
            "{path} is refused before anything of it runs: {problem}",
            "save the artifact again; do not run files of people that you do not trust",
        ),
        "WF512": (
            "{path} holds no state of a reduction: {reason}",
            "pass a file that State.save wrote, or reduce the elements again",
        ),
        "WF513": (
            "{path} was compiled by an earlier version of warpfold, in the format {format}",
            "compile it again: wf.compile(...).save(path), or the program's .compile(...).save(path)",
        ),
        "WF511": (
            "the cache folder {path} is not used: {reason}",
            "make it yours alone (chmod 700 {path}) and remove what others put there, or set WARPFOLD_CACHE_DIR",
        ),
        "WF514": ("the tensor program of this artifact is invalid: {reason}", "save the artifact again"),
        "WF591": ("cannot read {path}: {reason}", "give the path of an MLIR text file, or - for standard input"),
        "WF592": ("cannot write {path}: {reason}", "give -o a path in a folder that exists and may be written"),
    },
}
