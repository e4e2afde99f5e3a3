"""``argmin`` and ``argmax`` of narrow elements in 32 bits: an element's rank and its number in one word.

Both take the least of 64-bit words (``program/words.py``). While the numbers fit beside the ranks in 32 bits, the least
of the narrow words belongs to the same element, and the program widens that word.

Range: a fold of one word, of a value that is a cast of an element of 8 or 16 bits (no f16), outside of masks.
"""

from __future__ import annotations

from dataclasses import replace

from ...dtypes import I32, I64
from ..graph import KEPT, Expr, Program, rewrite
from ..library.extremes import RANKED
from ..symbols import Sym
from ..words import WIDE, narrow, widened, word_bits


def with_narrow_words(program: Program) -> tuple[Program, int] | None:
    """``program`` with narrow words, and the most elements a result may then have; None if it has no such words."""
    (reduce,) = program.reduces
    word = narrow(reduce.args[0])
    if word is None or len(reduce.args) > 1:
        return None
    graph = replace(program.monoid, state=(I32,), combine=RANKED.typed(I32).combine, identity=(I32.highest,))
    least = Sym(Expr("result", (Expr("reduce", (word,), I32, KEPT, graph, reduce.where),), I32, KEPT, 0))
    old = Expr("result", (reduce,), I64, KEPT, 0)
    outputs = rewrite(program.outputs, {old.digest: widened(least, word).expr})
    return replace(program, outputs=outputs), 1 << WIDE - word_bits(word)
