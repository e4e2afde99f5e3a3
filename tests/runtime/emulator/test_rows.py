"""Loads whose elements lie in rows are read in place, and give what a gather gives, errors too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulator_harness import aligned, run

from warpfold.compiler.errors import EmulatorError
from warpfold.runtime.emulator.instructions import load_store
from warpfold.runtime.emulator.machine import address_resolution

X = np.random.default_rng(0).integers(0, 1 << 32, 1 << 16, dtype=np.uint32)
GLOBAL = """
ld.param.b64 d2, [k_in0]; mov.u32 r1, %ctaid.x; mad.lo.u32 r2, r1, {step}, r0; mul.wide.s32 d3, r2, 16;
add.u64 d2, d2, d3; add.u64 d2, d2, {skip};
mad.lo.u32 r3, r1, 1024, r0; mad.wide.u32 d4, r3, 16, d0;
"""


def loaded(step: int, skip: int = 0, body: str = "", x: np.ndarray = X) -> np.ndarray:
    """What three CTAs of 1024 threads read, each thread four words, at ``step`` threads from CTA to CTA."""
    text = GLOBAL.format(step=step, skip=skip) + "ld.global.v4.u32 {r4, r5, r6, r7}, [d2];"
    text += body + "st.global.v4.u32 [d4], {r4, r5, r6, r7};"
    return run(text, threads=1024, ctas=3, size=3 * 4096, inputs=[x]).reshape(3, 4096)


@pytest.mark.parametrize(("step", "skip"), [(1024, 0), (2048, 64), (512, 16), (0, 32), (-1024, 32768), (1000, 0)])
def test_rows_are_what_a_gather_gives(step: int, skip: int, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = np.array([X[(skip // 4 + 4 * c * step) :][:4096] for c in range(3)])
    seen: list[Any] = []

    def noted(*given: Any) -> Any:
        seen.append(address_resolution.seen_at(*given))
        return seen[-1]

    monkeypatch.setattr(load_store, "seen_at", noted)
    np.testing.assert_array_equal(loaded(step, skip), wanted)
    assert [s is not None for s in seen] == [True]


def test_other_orders_are_gathered() -> None:
    text = "ld.param.b64 d2, [k_in0]; xor.b32 r1, r0, 5; mad.wide.u32 d3, r1, 4, d2; ld.global.u32 r4, [d3];"
    found = run(text + "st.global.u32 [d1], r4;", threads=1024, inputs=[X])
    np.testing.assert_array_equal(found, X[np.arange(1024) ^ 5])


def test_a_later_store_does_not_change_what_was_loaded() -> None:
    x = aligned(X.nbytes).view(np.uint32)
    x[:] = X
    out = loaded(1024, body="mov.u32 r9, 7; st.global.v4.u32 [d2], {r9, r9, r9, r9};", x=x)
    np.testing.assert_array_equal(out.reshape(-1), X[: 3 * 4096])
    assert (x[: 3 * 4096] == 7).all()


def test_nor_does_one_to_single_words() -> None:
    x = aligned(X.nbytes).view(np.uint32)
    x[:] = X
    text = "ld.param.b64 d2, [k_in0]; mad.wide.u32 d3, r0, 4, d2; ld.global.u32 r4, [d3];"
    out = run(text + "mov.u32 r9, 7; st.global.u32 [d3], r9; st.global.u32 [d1], r4;", threads=1024, inputs=[x])
    np.testing.assert_array_equal(out, X[:1024])


@pytest.mark.parametrize(("step", "skip", "text"), [(1024, 4, "WF711"), (8192, 0, "WF710"), (-1024, 0, "WF710")])
def test_errors_say_what_a_gather_says(step: int, skip: int, text: str) -> None:
    with pytest.raises(EmulatorError, match=text):
        loaded(step, skip)
