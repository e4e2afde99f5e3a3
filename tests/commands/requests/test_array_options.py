"""The arrays of a program, as options describe them: order, names, types and counts."""

from __future__ import annotations

from typing import Any

import pytest

from warpfold.commands.requests.array_options import Asked, asked
from warpfold.compiler.dtypes import BF16, BOOL, F32, I32
from warpfold.compiler.errors import ArgumentError


def norm(x: Any, w: Any, b: Any = None, *, mask: Any = None, axis: int = -1) -> Any:
    return x, w, b, mask, axis


def several(*xs: Any) -> Any:
    return xs


def given(
    shapes: tuple[str, ...] = (), types: str | None = None, files: tuple[str, ...] = (), function: Any = norm
) -> Any:
    return asked(function, files, shapes, types, ("axis",))


def test_one_shape_for_each_array_in_order() -> None:
    in_order, by_name = given(("4x8", "8"))
    assert in_order == [Asked("", (4, 8), F32), Asked("", (8,), F32)]
    assert by_name == {}


def test_one_shape_describes_all_arrays_that_are_needed() -> None:
    assert given(("4x8",))[0] == [Asked("", (4, 8), F32)] * 2
    assert given()[0] == [Asked("", (1024, 1024), F32)] * 2
    assert given(("4x8",), function=several)[0] == [Asked("", (4, 8), F32)]


def test_arrays_by_name() -> None:
    in_order, by_name = given(("4x8", "8", "mask=4x8"), "bf16,mask=bool")
    assert in_order == [Asked("", (4, 8), BF16), Asked("", (8,), BF16)]
    assert by_name == {"mask": Asked("", (4, 8), BOOL)}
    assert given(("8", "x=4x8"))[0] == [Asked("", (4, 8), F32), Asked("", (8,), F32)]
    assert given(("4x8", "8", "b=8"))[0] == [Asked("", (4, 8), F32), *[Asked("", (8,), F32)] * 2]


def test_one_type_for_each_array_in_order() -> None:
    in_order, by_name = given(("4x8", "8", "mask=4x8"), "bf16,i32")
    assert [a.dtype for a in in_order] == [BF16, I32]
    assert by_name["mask"].dtype == F32


def test_files_and_random_arrays() -> None:
    in_order, by_name = given(("8", "mask=4x8"), "f32,bf16", ("x.npy", "random"))
    assert in_order == [Asked("x.npy", (), F32), Asked("", (8,), BF16)]
    assert by_name["mask"].shape == (4, 8)
    assert given((), None, ("x.npy", "w.npy", "mask=m.npy"))[1] == {"mask": Asked("m.npy")}
    assert given((), None, ("x.npy", "./a=b.npy"))[0][1] == Asked("./a=b.npy")


def test_a_number_has_the_shape_scalar() -> None:
    assert given(("4x8", "scalar"))[0][1].shape == ()


@pytest.mark.parametrize(
    ("shapes", "types", "files", "text"),
    [
        (("4", "4", "4", "4"), None, (), r"WF840: norm takes 2 to 3 array\(s\) \(x w \[b\]\), got 4"),
        ((), None, ("x.npy",), r"WF840: norm takes 2 to 3 array\(s\) \(x w \[b\]\), got 1"),
        (("4x8", "8"), "f32,f32,f32", (), "WF808: --dtype f32,f32,f32 names 3 types: expected one for all, or 2"),
        (("4x8", "8"), None, ("x.npy", "random"), r"WF841: 2 --shape for 1 random array\(s\) beside the files"),
        (("4x8", "8"), "mask=bool", (), "WF842: --dtype gives mask a type, and no --shape or --input gives mask"),
        (("4x8", "w=8", "w=9"), None, (), "WF817: parameter w is given twice: 8 and 9"),
        (("4x8", "4y8"), None, (), "WF802: '4y8' is not a shape"),
    ],
)
def test_mistakes(shapes: tuple[str, ...], types: str | None, files: tuple[str, ...], text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        given(shapes, types, files)
