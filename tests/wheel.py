"""Builds the wheel, checks that it holds the package and nothing else, and imports it in a clean environment.

Run by ``make wheel``; not a pytest module, because it takes the package index and half a minute.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Importing must bring neither MLIR nor CUDA, and both commands must be there.
_PROBE = """
import sys, warpfold
from importlib.metadata import entry_points
bad = sorted(m for m in sys.modules if m.split(".")[0] in ("mlir", "numba_cuda_mlir", "cuda"))
assert not bad, f"import warpfold brings {bad}"
assert "site-packages" in warpfold.__file__, warpfold.__file__
names = {e.name for e in entry_points(group="console_scripts") if e.value.startswith("warpfold")}
assert names == {"warpfold", "warpfold-opt"}, names
"""


def run(*command: str | Path, cwd: Path | None = None) -> None:
    """Runs a command that must succeed; no variable of ours leads it back to the source tree."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    subprocess.run([str(part) for part in command], check=True, cwd=cwd, env=environment)


def build(folder: Path) -> Path:
    """The wheel, built by the declared build backend in an environment of its own."""
    shutil.rmtree(ROOT / "build" / "lib", ignore_errors=True)  # setuptools would pack what an older build left there
    run(sys.executable, "-m", "build", "--wheel", "--outdir", folder, ROOT)
    (wheel,) = folder.glob("*.whl")
    return wheel


def expected() -> set[str]:
    """The package's files: every module of every listed package, and what else they list."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = [Path(*name.split(".")[1:]) for name in settings["packages"]]
    data = {Path(*name.split("."), file) for name, files in settings["package-data"].items() for file in files}
    modules = {"warpfold" / path.relative_to(ROOT) for folder in folders for path in (ROOT / folder).glob("*.py")}
    return {path.as_posix() for path in modules | data}


def check_contents(wheel: Path) -> None:
    """Exits with the difference when the wheel holds other files than the package's."""
    with zipfile.ZipFile(wheel) as archive:
        found = {name for name in archive.namelist() if ".dist-info/" not in name}
    wanted = expected()
    if found != wanted:
        sys.exit(f"{wheel.name}: missing {sorted(wanted - found)}, unexpected {sorted(found - wanted)}")


def check_release(wheel: Path) -> None:
    """What an index and pip expect of a wheel: metadata that renders, one top level name, no stray files."""
    run(sys.executable, "-m", "twine", "--no-color", "check", "--strict", wheel)
    run(sys.executable, "-m", "check_wheel_contents", wheel)


def check_import(wheel: Path, folder: Path) -> None:
    """Installs the wheel with its dependencies into a new environment and imports it there."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
    run(python, "-c", _PROBE, cwd=folder)
    run(folder / "bin" / "warpfold", "--help", cwd=folder)
    run(folder / "bin" / "warpfold-opt", "--list-passes", cwd=folder)


def main() -> None:
    """Builds and checks."""
    with tempfile.TemporaryDirectory() as scratch:
        wheel = build(Path(scratch) / "dist")
        check_contents(wheel)
        check_release(wheel)
        check_import(wheel, Path(scratch) / "venv")
        print(f"{wheel.name}: holds the package and imports in a clean environment")


if __name__ == "__main__":
    main()
