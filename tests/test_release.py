"""What a release says of itself: one version everywhere, and the tree that its bits come from."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import warpfold as wf
from warpfold.compiler.driver import artifact_file, program_file
from warpfold.compiler.plan.plan import Plan

ROOT = Path(__file__).parents[1]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def test_one_version() -> None:
    assert wf.__version__ == VERSION
    assert re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.M)[1] == VERSION  # type: ignore[index]
    assert re.search(r"^## ([\d.]+)", (ROOT / "CHANGELOG.md").read_text(), re.M)[1] == VERSION  # type: ignore[index]


def test_the_changes_name_the_tree() -> None:
    assert f"`{Plan().tree}`" in (ROOT / "CHANGELOG.md").read_text().split("\n## ")[1]


def test_the_versions_of_files_are_those_of_the_page() -> None:
    page = (ROOT / "docs" / "versions.md").read_text()
    assert f"`{artifact_file.MAGIC.decode().strip()}`" in page
    assert f"`{program_file.MAGIC.decode().strip()}`" in page


def test_every_issue_template_asks_for_doctor() -> None:
    forms = [p for p in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if p.stem != "config"]
    assert forms
    assert all("warpfold doctor" in p.read_text() for p in forms)
