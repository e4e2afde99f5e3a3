"""First calls from several threads and processes at once, each in a fresh interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from warpfold.compiler.driver.compile import session

COMMON = """
import asyncio, faulthandler, multiprocessing, os, sys, threading, time, warnings
from concurrent.futures import ProcessPoolExecutor
import numpy as np
import warpfold as wf

faulthandler.enable()
x = np.arange(64, dtype=np.float32).reshape(8, 8)
names = ["sum", "max", "prod", "var", "std", "mean", "argmax", "any"]

def check(name):
    assert np.allclose(getattr(wf, name)(x, axis=1), getattr(np, name)(x, axis=1)), name
    return name
"""

THREADS = """
sys.setswitchinterval(1e-6)
together, done = threading.Barrier(len(names)), []

def work(name):
    together.wait()
    done.append(check(name))

threads = [threading.Thread(target=work, args=(name,)) for name in names]
for t in threads: t.start()
for t in threads: t.join()
assert sorted(done) == sorted(names), done
"""

FORKS = """
warnings.simplefilter("ignore", DeprecationWarning)  # a fork of several threads is what this is about

def work(mine):
    for name in mine: check(name)

threads = [threading.Thread(target=work, args=(names[i::3],)) for i in range(3)]
for t in threads: t.start()
for pause in (0.02, 0.1, 0.1, 0.2):
    time.sleep(pause)
    child = os.fork()
    if child == 0:
        faulthandler.dump_traceback_later(40, exit=True)
        try:
            check("min"), check("sum"), check("mean")
        except BaseException as e:
            sys.stderr.write(f"{e!r}\\n")
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
for t in threads: t.join()
"""

POOLS = """
async def main():
    loop = asyncio.get_running_loop()
    return await asyncio.gather(*(loop.run_in_executor(None, check, name) for name in names))

if __name__ == "__main__":
    warnings.simplefilter("ignore", DeprecationWarning)
    assert asyncio.run(main()) == names
    for method in ("fork", "spawn"):
        with ProcessPoolExecutor(2, multiprocessing.get_context(method)) as pool:
            assert list(pool.map(check, names[:2])) == names[:2], method
"""


def run(body: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """The output of a fresh interpreter that runs ``body``, with its cache in ``tmp_path``."""
    script = tmp_path / "script.py"
    script.write_text(COMMON + body)
    command = [sys.executable, str(script)]
    own = os.environ | {"WARPFOLD_CACHE_DIR": str(tmp_path / "cache")}
    return subprocess.run(command, capture_output=True, text=True, env=own, timeout=240, check=False)


def test_one_thread_at_a_time_is_in_the_context() -> None:
    entered = threading.Event()

    def enter() -> None:
        with session():
            entered.set()

    thread = threading.Thread(target=enter)
    with session():
        thread.start()
        assert not entered.wait(0.2)
    thread.join()
    assert entered.is_set()


def test_several_threads_may_make_the_first_call_at_once(tmp_path: Path) -> None:
    for cache in ("cold", "warm"):
        done = run(THREADS, tmp_path)
        assert done.returncode == 0, f"{cache}: {done.returncode}\n{done.stderr}"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_child_forked_while_threads_import_and_compile_works(tmp_path: Path) -> None:
    done = run(FORKS, tmp_path)
    assert done.returncode == 0, f"{done.returncode}\n{done.stderr}"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_executors_of_threads_and_of_processes(tmp_path: Path) -> None:
    done = run(POOLS, tmp_path)
    assert done.returncode == 0, f"{done.returncode}\n{done.stderr}"
