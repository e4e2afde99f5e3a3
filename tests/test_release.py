"""What a release says of itself: one version everywhere, and the tree that its bits come from."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

import warpfold as wf
from warpfold.compiler.driver import artifact_file, checksummed_json, program_file
from warpfold.compiler.errors import FileError
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


def test_an_artifact_names_the_tree_that_it_was_made_with() -> None:
    body = artifact_file.to_json(wf.compile("sum", (4, 8), axis=1).artifact)
    text = json.dumps(body).replace(Plan().tree, "tree-v0")
    found = artifact_file.parse(checksummed_json.to_bytes(artifact_file.MAGIC, json.loads(text)), "old")
    assert found.plan.tree == "tree-v0"


def test_an_artifact_that_lacks_a_field_is_refused() -> None:
    body = artifact_file.to_json(wf.compile("sum", (4, 8), axis=1).artifact)
    del body["kernels"][0]["plan"]["reads"]
    with pytest.raises(FileError, match="WF502"):
        artifact_file.parse(checksummed_json.to_bytes(artifact_file.MAGIC, body), "old")


def test_every_issue_template_asks_for_doctor() -> None:
    forms = [p for p in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if p.stem != "config"]
    assert forms
    assert all("warpfold doctor" in p.read_text() for p in forms)
