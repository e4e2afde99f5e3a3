"""Whether views share bytes, against a count of every byte."""

from __future__ import annotations

import random
import time
from collections import Counter
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from warpfold.compiler.dtypes import F32, F64
from warpfold.runtime.arrays import overlap
from warpfold.runtime.view import Device, View

CPU, GPU = Device("cpu"), Device("cuda", 0)

views = st.lists(st.tuples(st.integers(0, 3), st.integers(-6, 6)), max_size=3).flatmap(
    lambda dims: st.builds(
        View,
        st.integers(1050, 1070).map(lambda a: a * 4),
        st.just(tuple(size for size, _ in dims)),
        st.just(tuple(stride for _, stride in dims)),
        st.sampled_from([F32, F64]),
        st.just(GPU),
    )
)


def touched(v: View) -> Counter[int]:
    """The number of elements that each byte belongs to."""
    item = v.dtype.itemsize
    places = product(*(range(n) for n in v.shape))
    starts = [v.address + item * sum(i * s for i, s in zip(p, v.strides, strict=True)) for p in places]
    return Counter(start + b for start in starts for b in range(item))


@settings(max_examples=200)
@given(views, views)
def test_views_share_the_bytes_that_belong_to_both(v: View, w: View) -> None:
    assert overlap.share(v, w) == bool(touched(v) & touched(w))


@settings(max_examples=200)
@given(views)
def test_a_view_overlaps_itself_where_a_byte_belongs_to_two_elements(v: View) -> None:
    assert overlap.overlaps_itself(v) == any(count > 1 for count in touched(v).values())


def test_devices_have_memory_of_their_own() -> None:
    assert not overlap.share(View(4096, (4,), (1,), F32, GPU), View(4096, (4,), (1,), F32, CPU))


def test_views_too_hard_to_compare_count_as_overlapping() -> None:
    """Strides without a common pattern make this as hard as a knapsack problem, and are given up in milliseconds."""
    draw = random.Random(1)
    first, second = (tuple(draw.randrange(1 << 30, 1 << 36) for _ in range(16)) for _ in range(2))
    v = View(1 << 20, (2,) * 16, first, F32, GPU)
    w = View((1 << 20) + 4 * (abs(sum(first) - sum(second)) // 2), (2,) * 16, second, F32, GPU)
    start = time.perf_counter()
    assert overlap.share(v, w)
    assert time.perf_counter() - start < 1
