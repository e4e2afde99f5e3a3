"""WF6: CUDA."""

from __future__ import annotations

from ..kinds import BackendError, Entries

ENTRIES: Entries = {
    BackendError: {
        "WF601": ("{call} failed with {name}: {text}{sticky}", "{remedy}"),
        "WF611": (
            "rank {own} of {count} waited for {others}: {reason}",
            "look at what the other ranks say; every rank must make the same calls in the same order",
        ),
        "WF602": (
            "the device has compute capability {capability}: expected {oldest} or newer",
            "run on the emulator: device='emulator' (--device emulator)",
        ),
        "WF603": (
            "out of memory on {device}: {call} asked for {bytes} bytes",
            "free arrays, or other libraries' memory pools, first",
        ),
        "WF604": (
            "no CUDA driver was found: {reason}",
            "install the NVIDIA driver, or run on the emulator: device='emulator' (--device emulator)",
        ),
        "WF605": (
            "there is no CUDA device {number}: {found} found",
            "check CUDA_VISIBLE_DEVICES and nvidia-smi, or run on the emulator: device='emulator' (--device emulator)",
        ),
        "WF606": (
            "ptxas was not found in WARPFOLD_PTXAS, in the nvidia-cuda-nvcc package or on PATH{reason}",
            "python -m pip install nvidia-cuda-nvcc",
        ),
        "WF607": ("ptxas refuses the PTX for {arch}: {message}", "{remedy}"),
        "WF608": (
            "no disassembler was found: neither nvdisasm nor cuobjdump is installed or on PATH",
            "python -m pip install nvidia-cuda-nvdisasm",
        ),
        "WF609": ("the driver cannot load {artifact}: {name}: {log}", "{remedy}"),
        "WF610": ("{tool} failed: {message}", "check that the cubin is whole and the tool as new as its architecture"),
    },
}
