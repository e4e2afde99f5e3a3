"""Runs exported scenes on a GPU through the driver, under every tool of compute-sanitizer; needs only Python.

``python device.py all SCENES.json OUT.json`` runs each scene once a tool, several at a time, and writes the reports.
``python device.py one SCENES.json NAME`` runs one scene; the former starts it under the tools.
"""

from __future__ import annotations

import base64
import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
SECONDS = 12
"""The seconds after which a scene hangs. The tool is then asked to stop, and may still report."""
_LINE_INFO = 13  # CU_JIT_GENERATE_LINE_INFO
_SUMMARY = re.compile(r"(?:ERROR SUMMARY|RACECHECK SUMMARY): (\d+)")
_ASIDE = re.compile(r"COMPUTE-SANITIZER|SUMMARY|Host Frame|Saved host backtrace|Target application|Device Frame|^\s*$")


class Driver:
    """The CUDA driver with a context on the first device."""

    def __init__(self) -> None:
        self.cuda = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name: str, *args: Any) -> None:
        """Calls the driver; any failure ends the process with status 3."""
        status = getattr(self.cuda, name)(*args)
        if status:
            print(f"{name}: CUDA error {status}", flush=True)
            os._exit(3)

    def allocate(self, nbytes: int, data: bytes | None, skew: int) -> int:
        """The address of a buffer."""
        at = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(at), ctypes.c_size_t(nbytes + skew))
        address = at.value + skew
        if data is not None:
            self.call("cuMemcpyHtoD_v2", ctypes.c_uint64(address), data, ctypes.c_size_t(nbytes))
        return address

    def launch(self, ptx: str, entry: str, grid: list[int], block: list[int], args: list[int]) -> None:
        """Compiles, launches and waits."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        option, value = (ctypes.c_int * 1)(_LINE_INFO), (ctypes.c_void_p * 1)(1)
        self.call("cuModuleLoadDataEx", ctypes.byref(module), ptx.encode() + b"\0", 1, option, value)
        self.call("cuModuleGetFunction", ctypes.byref(function), module, entry.encode())
        cells = [ctypes.c_uint64(a & (1 << 64) - 1) for a in args]
        pointers = (ctypes.c_void_p * len(cells))(*(ctypes.addressof(c) for c in cells))
        self.call("cuLaunchKernel", function, *grid, *block, 0, None, pointers, None)
        self.call("cuCtxSynchronize")


def one(scene: dict[str, Any]) -> None:
    """Runs a scene."""
    driver = Driver()
    places = {}
    for name, b in scene["buffers"].items():
        data = None if b["data"] is None else zlib.decompress(base64.b64decode(b["data"]))
        places[name] = driver.allocate(b["nbytes"], data, b["skew"])
    for x in scene["launches"]:
        args = [a if isinstance(a, int) else places[a[0]] + a[1] for a in x["args"]]
        driver.launch(x["ptx"], x["entry"], x["grid"], x["block"], args)


def under(tool: str, options: list[str], file: str, name: str) -> dict[str, Any]:
    """The report of one tool on one scene."""
    words = [_sanitizer(), "--tool", tool, "--report-api-errors", "no", "--print-limit", "5", *options]
    words += [sys.executable, "-I", "-S", __file__, "one", file, name]
    begun = time.monotonic()
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    try:
        out, _ = process.communicate(timeout=SECONDS)
        hangs = False
    except subprocess.TimeoutExpired:
        out, hangs = _stopped(process), True
    count = sum(int(n) for n in _SUMMARY.findall(out))
    said = [line.removeprefix("=========").strip() for line in out.splitlines() if line.startswith("=========")]
    message = next((s for s in said if not _ASIDE.search(s)), "")
    message = re.sub(r"\b0x[0-9a-f]{6,}\b", "0x...", message)
    failed = re.search(r"CUDA error (\d+)", out)
    return {
        "reports": bool(message) and (count > 0 or hangs),
        "message": message.split(", (active")[0][:120],
        "hangs": hangs,
        "error": int(failed[1]) if failed else 0,
        "seconds": round(time.monotonic() - begun, 1),
        "output": "" if message or not (failed or hangs) else out[-600:],
    }


def _stopped(process: subprocess.Popen[str]) -> str:
    """The output of a process that is interrupted, and killed if that does not stop it."""
    for how in (signal.SIGINT, signal.SIGKILL):
        os.killpg(process.pid, how)
        try:
            return process.communicate(timeout=4)[0]
        except subprocess.TimeoutExpired:
            continue
    return ""


def _sanitizer() -> str:
    return shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"


def everything(file: str, out: str) -> None:
    """Runs all scenes under all tools and writes a table."""
    scenes = json.loads(Path(file).read_text())
    version = subprocess.run([_sanitizer(), "--version"], capture_output=True, text=True, check=False).stdout
    card = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    gpu, driver = subprocess.run(card, capture_output=True, text=True, check=True).stdout.strip().split(", ")
    found = re.search(r"Version ([\d.]+[^\n]*)", version)
    report: dict[str, Any] = {"gpu": gpu, "driver": driver, "version": found[1] if found else version, "scenes": {}}
    options: dict[str, list[str]] = {t: [] for t in TOOLS}
    options["racecheck"] = ["--racecheck-deadlock-timeout", "4000"]
    quick = [n for n, s in scenes.items() if not s["may hang"]]
    slow = [n for n in scenes if n not in quick]
    for names in (quick, slow):
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            jobs = {(n, t): pool.submit(under, t, options[t], file, n) for n in names for t in TOOLS}
            for (n, t), job in jobs.items():
                report["scenes"].setdefault(n, {})[t] = job.result()
                Path(out).write_text(json.dumps(report, indent=1))
        print(len(names), "done", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "one":
        one(json.loads(Path(sys.argv[2]).read_text())[sys.argv[3]])
    else:
        everything(sys.argv[2], sys.argv[3])
