"""The laws of a monoid: proved from its graph, tried on every state, or searched for values that break them.

Values are computed in the state's own types. ``program/analysis/proofs.py`` proves, ``sample_states.py`` makes states,
and ``counterexamples.py`` searches them, and tells a broken law from rounding.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from ..dtypes import F32, DType
from ..errors import WarpfoldWarning, error
from ..program.analysis.proofs import Proof, proof
from ..program.closures import is_own
from ..program.dtype_names import dtype as as_dtype
from ..program.fold import count_of
from ..program.frames import outermost
from ..program.monoid import Monoid
from ..program.signatures import Bound
from ..program.spelling import missing_parameter
from .counterexamples import FULL, QUICK, TERMS, Counterexample, Effort, Name, Search
from .sample_states import Source

Verdict = Literal["proved", "exhaustive", "held", "untested", "refuted"]
MADE_UP = "the states were made up: with lift= only states are tried that elements lead to"


@dataclass(frozen=True)
class Law:
    """What was found about one law.

    Attributes:
        law: ``identity``, ``associativity``, ``commutativity``, ``idempotence``, or the ``structure`` that is declared.
        verdict: ``proved`` from the graph, ``exhaustive`` when every state was tried, ``held`` when no values of those
            tried break it, ``untested`` where those tried tell nothing, ``refuted``.
        claimed: whether the monoid promises it.
        tries: how many tuples of states were tried.
        rounding: whether it holds only apart from rounding.
        counterexample: the simplest values found that break it.
    """

    law: Name
    verdict: Verdict
    claimed: bool
    tries: int = 0
    rounding: bool = False
    counterexample: Counterexample | None = None

    @property
    def words(self) -> str:
        """The verdict in words."""
        rounding = ", apart from rounding" if self.rounding else ""
        held = f"no counterexample in {self.tries:,} {'try' if self.tries == 1 else 'tries'}"
        words = {
            "proved": "proved", "exhaustive": f"holds for all {self.tries:,} combinations", "held": held,
            "untested": "no evidence",
        }  # fmt: skip
        return words.get(self.verdict, "refuted" if self.claimed else "does not hold") + rounding


@dataclass(frozen=True)
class Laws:
    """What was found about a monoid.

    Attributes:
        name: the monoid's.
        elements: the types given: of its elements.
        laws: one entry per law.
        made_up: whether some tried states of several values may never occur, because the monoid has no ``lift``.
        values: the number of values in a state.
        alike: which values of the state are the same in all tried states; all of them if there was one state.
    """

    name: str
    elements: tuple[DType, ...]
    laws: tuple[Law, ...]
    made_up: bool = False
    values: int = 1
    alike: tuple[int, ...] = ()

    @property
    def untested(self) -> tuple[Law, ...]:
        """The claimed laws that the tried states say nothing about."""
        return tuple(law for law in self.laws if law.claimed and law.verdict == "untested")

    @property
    def notes(self) -> list[str]:
        """What to know about the states that were tried."""
        return [MADE_UP] * self.made_up + ([self._alike()] if self.untested else [])

    def _alike(self) -> str:
        if len(self.alike) == self.values:
            return "no evidence: all elements that were tried lead to one state, and laws of that tell nothing"
        which = " and ".join(map(str, self.alike))
        return f"no evidence: value {which} of the state is the same in all states that were tried"

    @property
    def refuted(self) -> tuple[Law, ...]:
        """The claimed laws that do not hold."""
        return tuple(law for law in self.laws if law.claimed and law.verdict == "refuted")

    def __getitem__(self, name: str) -> Law:
        return next(law for law in self.laws if law.law == name)

    def __str__(self) -> str:
        lines = [f"{self.name} of {', '.join(t.name for t in self.elements)}"]
        for law in self.laws:
            lines.append(f"{law.law:<13}  {'claimed' if law.claimed else 'not claimed':<11}  {law.words}")
            if law.counterexample is not None:
                lines += [f"    {line}" for line in str(law.counterexample).splitlines()]
        lines += self.notes
        return "\n".join(lines)


@outermost
def check_monoid(m: Monoid, *dtypes: object) -> Laws:
    """Checks whether a monoid obeys its laws.

    Args:
        m: the monoid.
        dtypes: the type of each array it reduces: what its ``lift`` takes or, without one, the values of its state.
            f32 for all by default.

    Returns:
        For each law whether it was proved, holds for every state, was not broken by any values tried, or which values
        break it.

    Raises:
        TraceError: WF219 for what is no monoid, WF220 for a wrong number of types, or when it cannot be traced on them.
        ArgumentError: WF151 for a missing parameter.

    >>> import warpfold as wf
    >>> @wf.monoid(identity=0)
    ... def less(a, b):
    ...     return a - b
    >>> print(wf.check_monoid(less, "i32")["associativity"].counterexample)
    combine(combine(0, 0), 1) = -1
    combine(0, combine(0, 1)) = 1
    """
    if not isinstance(m, Monoid):
        raise error("WF219", kind=type(m).__name__)
    types = _types(m, dtypes)
    search = Search(Source.of(m, types), FULL)
    given = {"identity": m.identity, "structure": m.structure}
    laws = tuple(_judge(m, search, law) for law in TERMS if given.get(law, law) is not None)
    made_up = m.lift is None and len(search.source.graph.state) > 1 and not search.complete
    made_up = made_up and any(law.verdict != "proved" for law in laws)
    return Laws(m.name, types, laws, made_up, len(search.states), search.alike)


def refuted(m: Monoid, dtypes: Sequence[object], effort: Effort = QUICK) -> list[Law]:
    """The claimed laws that a search refutes, the same each time; a short one takes some milliseconds."""
    search = Search(Source.of(m, _types(m, dtypes)), effort)
    laws = (_judge(m, search, law) for law in TERMS if _claims(m, law))
    return [law for law in laws if law.verdict == "refuted"]


@lru_cache(maxsize=1024)
def warn_once(m: Monoid, dtypes: tuple[DType, ...]) -> None:
    """Warns, once in a process, when a user's monoid claims laws that a short search refutes (WF221)."""
    if not _is_ours(m) and (laws := refuted(m, dtypes)):
        _tell(m, laws)


def warn_thoroughly(m: Monoid, dtypes: tuple[DType, ...]) -> None:
    """Warns of the laws that ``check_monoid`` refutes, except those that ``warn_once`` warned of."""
    if _is_ours(m):
        return
    known = [law.law for law in refuted(m, dtypes)]
    if laws := [law for law in refuted(m, dtypes, FULL) if law.law not in known]:
        _tell(m, laws)


def _is_ours(m: Monoid) -> bool:
    return is_own(getattr(m.function, "function", m.function))


def _tell(m: Monoid, laws: Sequence[Law]) -> None:
    _warn(error("WF221", name=m.name, laws="".join(map(_in_a_line, laws)), where=m.location).render(), m)


def _in_a_line(law: Law) -> str:
    """A law with the values that break it, on a line of its own."""
    values = "; ".join(" ".join(line.split()) for line in str(law.counterexample).splitlines())
    return f"\n  {law.law}: {values}"


def _warn(text: str, m: Monoid) -> None:
    """Warns at the monoid's own line, since the calls that led here mean nothing to a user."""
    place = m.location
    if place is None:
        warnings.warn(text, WarpfoldWarning, stacklevel=3)
    else:
        warnings.warn_explicit(text, WarpfoldWarning, place.file, place.line)


def _types(m: Monoid, dtypes: Sequence[object]) -> tuple[DType, ...]:
    bound = {k for f in (m.function, m.lift) if isinstance(f, Bound) for k, _, _ in f.params}
    for name, default in m.parameters.items():
        if default is inspect.Parameter.empty and name not in bound:
            raise missing_parameter(m.name, name, where=m.location)
    expected = _arity(m)
    types = tuple(as_dtype(t) for t in dtypes) or (F32,) * (expected or 1)
    if expected is not None and len(types) != expected:
        raise error("WF220", name=m.name, expected=expected, found=len(types))
    return types


def _arity(m: Monoid) -> int | None:
    """How many arrays a monoid reduces; None where any number will do."""
    return count_of(m.identity if m.lift is None else m.lift)


def _claims(m: Monoid, law: Name) -> bool:
    claims = {"identity": m.has_identity, "commutativity": m.commutative, "idempotence": m.idempotent}
    return claims.get(law, law != "structure" or m.structure is not None)


def _judge(m: Monoid, search: Search, law: Name) -> Law:
    graph = search.source.graph
    if law == "structure":
        found: Proof | None = "exact" if graph.combine == search.source.declared.combine else None
    else:
        found = proof(graph, law)
    if found is not None:
        return Law(law, "proved", _claims(m, law), rounding=found == "rounding")
    tries, rounding, counterexample = search.search(law)
    held: Verdict = "untested" if search.alike else "exhaustive" if search.complete else "held"
    verdict: Verdict = "refuted" if counterexample else held
    return Law(law, verdict, _claims(m, law), tries, rounding and not counterexample, counterexample)
