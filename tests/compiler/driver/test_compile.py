"""The driver: names that PTX can spell, and PTX that needs no library."""

from __future__ import annotations

import pytest

import warpfold as wf
from warpfold.compiler.driver.compile import check_linked
from warpfold.compiler.errors import WarpfoldError


@pytest.mark.parametrize(("name", "entry"), [
    ("mine", "mine"), ("<lambda>", "lambda"), ("größe", "gr__e"), ("_private_", "private"),
    ("9lives", "reduction_9lives"),
    ("partials_0", "partials_0"), ("held_0", "reduction_held_0"), ("ü", "reduction"),
])  # fmt: skip
def test_kernel_names_are_valid_in_ptx(name: str, entry: str) -> None:
    def f(x: object) -> object:
        return wf.fold(wf.SUM, x)

    f.__name__ = name
    assert f".entry {entry}(" in wf.compile(f, (5000,)).ptx


def test_a_call_that_nothing_links_is_refused() -> None:
    assert check_linked("add.rn.f32 %f1, %f2, %f3;") == "add.rn.f32 %f1, %f2, %f3;"
    with pytest.raises(WarpfoldError, match="WF332: __nv_expf is in the PTX but nothing links it"):
        check_linked("call.uni (retval0), __nv_expf, (param0);")
