"""The picture of docs/design.md is drawn from the code as it is."""

from __future__ import annotations

import design_picture

from warpfold.passes import PASSES


def test_the_picture_is_what_the_script_draws() -> None:
    assert design_picture.PICTURE.read_text(encoding="utf-8") == design_picture.picture(), (
        "run python tests/design_picture.py"
    )


def test_each_pass_that_lowers_a_stage_has_a_level() -> None:
    """All passes except those that do not join states."""
    others = {
        "distribute",
        "lower-tile-copy",
        "lower-tile-write",
        "lower-thread-map",
        "lower-global-access",
        "lower-residency",
        "lower-tally",
        "lower-tickets",
        "lower-cache-hints",
        "lower-bin-search",
        "lower-gather",
        "lower-ballot",
        "lower-matrix-load",
        "lower-matrix-store",
        "lower-matrix-reduce",
        "lower-philox",
        "lower-word",
        "expand-math",
        "unroll-loops",
        "fuse-math",
    }
    assert {one.name for one in PASSES} - others == design_picture.level_of_passes().keys()
    assert set(design_picture.level_of_passes().values()) == design_picture.LEVELS.keys()


def test_each_folder_of_the_compiler_is_in_the_picture() -> None:
    steps = {step.folder for _, steps in design_picture.WAY.values() for step in steps}
    folders = {f"compiler.{path.parent.name}" for path in (design_picture.ROOT / "compiler").glob("*/__init__.py")}
    assert folders - {"compiler.errors"} <= steps
