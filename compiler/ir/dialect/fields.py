"""What an op declares: its operands, results, attributes and regions, each with the check that its kind makes.

An op's class has at most four tables, made by ``fields``: ``ins``, ``outs``, ``attrs`` and ``bodies``. What no kind
says is the class's method ``check``, and ``check_bodies`` for its regions. Attributes are checked first, since the
number of operands may depend on them.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..mlir import ext, ir
from .base import (
    Fold,
    bool_attr,
    check_combine,
    check_fragment,
    check_straight,
    check_yield,
    coded,
    count_up_to,
    element,
    expect,
    int_attr,
    power_of_two,
    str_attr,
    values,
)

Kind = Callable[[Any, Any, int], None]
"""Checks of an op the type of an operand, which has this number, or of a result, whose number is -1."""
AttributeKind = Callable[[Any, str], object]
"""Checks the attribute of an op that has this name."""
RegionKind = Callable[[Any, Any], None]
"""Checks a region of an op."""


class Several(NamedTuple):
    """The kind of the last operands, or results, of which there may be any number."""

    check: Callable[[Any, Sequence[Any], int], None]


class Exact(NamedTuple):
    """The kind of an operand or a result whose type follows from the others: ``wanted`` gives it."""

    wanted: Callable[[Any], Any]

    def __call__(self, op: Any, t: Any, position: int) -> None:
        """Compares the type ``t``."""
        wanted = self.wanted(op)
        found = str(t) if isinstance(wanted, str) else t
        article = "an" if str(wanted)[0] == "i" else "a"
        expected = f"a result of type {wanted}" if position < 0 else f"{article} {wanted} as operand {position}"
        expect(found == wanted, op, expected, found)


class Optional(NamedTuple):
    """The kind of an attribute that may be missing."""

    check: AttributeKind


class Op(Fold.Operation):  # type: ignore[misc]
    """An op of the dialect, which declares its fields."""

    def __init_subclass__(cls, *, name: str, **how: Any) -> None:
        """Gives the bindings the fields, and the verifiers that check them."""
        ins, outs, attrs, bodies = (cls.__dict__.get(k, {}) for k in ("ins", "outs", "attrs", "bodies"))
        required = {k: Any for k, kind in attrs.items() if not isinstance(kind, Optional)}
        cls.__annotations__ = {
            **{k: _annotation(ext.Operand[Any], kind) for k, kind in ins.items()},
            **{k: _annotation(ext.Result[Any], kind) for k, kind in outs.items()},
            **required,
            **dict.fromkeys(bodies, ext.Region),
        }
        operands, results = tuple(ins.values()), tuple(outs.values())
        counts = [("operand(s)", *_count(operands)), ("result(s)", *_count(results))]
        own, own_bodies = cls.__dict__.get("check"), cls.__dict__.get("check_bodies")

        def verify(op: Any) -> None:
            types, given = [v.type for v in op.operands], [r.type for r in op.results]
            for (what, least, more), found in zip(counts, (len(types), len(given)), strict=True):
                holds = found >= least if more else found == least
                expect(holds, op, f"{least} {what}" + " or more" * more, found)
            for key, kind in attrs.items():
                if not isinstance(kind, Optional):
                    kind(op, key)
                elif key in op.attributes:
                    kind.check(op, key)
            _check_each(op, operands, types)
            _check_results(op, results, given)
            if own:
                own(op)

        def verify_bodies(op: Any) -> None:
            for kind, region in zip(bodies.values(), op.regions, strict=True):
                kind(op, region)
            if own_bodies:
                own_bodies(op)

        cls.verify_invariants = coded(verify)
        if bodies:
            cls.verify_region_invariants = coded(verify_bodies)
        super().__init_subclass__(name=name, **how)


def fields(**kinds: Any) -> dict[str, Any]:
    """A table of an op's fields: their names and kinds, in order."""
    return kinds


def _annotation(one: Any, kind: object) -> Any:
    return Sequence[one] if isinstance(kind, Several) else one


def _count(kinds: Sequence[object]) -> tuple[int, bool]:
    """How many there are, and whether there may be more."""
    several = sum(isinstance(k, Several) for k in kinds)
    return len(kinds) - several, bool(several)


def _check_each(op: Any, kinds: Sequence[Any], types: Sequence[Any], first: int | None = None) -> None:
    """Checks types of operands, or of results where ``first`` is -1."""
    for i, kind in enumerate(kinds):
        position = i if first is None else first
        if isinstance(kind, Several):
            kind.check(op, types[i:], position)
        else:
            kind(op, types[i], position)


def _check_results(op: Any, kinds: Sequence[Any], types: Sequence[Any]) -> None:
    """Checks types of results: several that follow from the operands are compared together."""
    if len(kinds) > 1 and all(isinstance(k, Exact) for k in kinds):
        wanted, found = [str(k.wanted(op)) for k in kinds], [str(t) for t in types]
        expect(found == wanted, op, f"results of type {', '.join(wanted)}", ", ".join(found))
    else:
        _check_each(op, kinds, types, -1)


# --- operands and results ---
def anything(op: Any, t: Any, position: int) -> None:
    """The kind of a value that the op's own check sees."""


def index(op: Any, t: Any, position: int) -> None:
    """The kind of an index or a number of elements: an i32 or i64."""
    found = str(t)
    expect(found in ("i32", "i64"), op, f"an i32 or i64 as operand {position}", found)


def flag(op: Any, t: Any, position: int) -> None:
    """The kind of a truth value."""
    expect(str(t) == "i1", op, f"an i1 as operand {position}", t)


def pointer(*spaces: str) -> Kind:
    """The kind of a pointer into one of these memories."""
    return lambda op, t, p: expect(str(t) in spaces, op, f"a {' or '.join(spaces)} as operand {p}", t)


def fragment(op: Any, t: Any, _: int) -> None:
    """The kind of what a thread holds of a tensor in an access."""
    check_fragment(op, t)


def state(op: Any, t: Any, _: int) -> None:
    """The kind of a state whose values are fragments."""
    for v in values(t):
        check_fragment(op, v)


def elements(what: str, *types: str) -> Kind:
    """The kind of scalars, fragments or tensors of elements of one of these types; ``what`` says what they are."""
    return lambda op, t, _: expect(str(element(t)) in types, op, f"{what} of {' or '.join(types)}", t)


def several(kind: Kind) -> Several:
    """Any number of values of a kind."""

    def check(op: Any, types: Sequence[Any], position: int) -> None:
        for i, t in enumerate(types):
            kind(op, t, position + i)

    return Several(check)


def typed(name: str) -> Exact:
    """The kind of a value that always has one type, of this name."""
    return Exact(lambda _: name)


def like(operand: int) -> Exact:
    """The kind of a value of the type of the operand with this number."""
    return Exact(lambda op: op.operands[operand].type)


def ranked(op: Any, t: Any, position: int) -> None:
    """The kind of a ranked tensor."""
    expect(isinstance(t, ir.RankedTensorType), op, "a ranked tensor" + " result" * (position < 0), t)


# --- attributes ---
def one_of(*choices: str) -> AttributeKind:
    """The kind of a name that is one of ``choices``."""
    return lambda op, name: str_attr(op, name, choices)


def power(limit: int) -> AttributeKind:
    """The kind of a power of two up to ``limit``."""
    return lambda op, name: power_of_two(op, name, limit)


def up_to(limit: int) -> AttributeKind:
    """The kind of a number from 1 to ``limit``."""
    return lambda op, name: count_up_to(op, name, limit)


def number(holds: Callable[[int], bool], expected: str) -> AttributeKind:
    """The kind of a number of which ``holds`` is true; ``expected`` says which these are."""

    def check(op: Any, name: str) -> None:
        value = int_attr(op, name)
        expect(holds(value), op, expected, value)

    return check


def sixteens(expected: str, least: int = 16) -> AttributeKind:
    """The kind of a multiple of 16 that is ``least`` at least."""
    return number(lambda n: n >= least and n % 16 == 0, expected)


def _stride(op: Any, name: str) -> None:
    """The kind of the distance of lanes that are lanes of one warp."""
    lanes, stride = power_of_two(op, "lanes", 32), power_of_two(op, name, 32)
    expect(lanes * stride <= 32, op, "lanes times stride of at most 32", lanes * stride)


whole, truth = int_attr, bool_attr
"""The kinds of any integer, and of true or false."""
STEPS = number(lambda n: 0 <= n <= 31, "from 0 to 31 steps")
"""The steps of a search among bins."""
LANES = fields(lanes=power(32), stride=_stride)
"""The lanes of a result, which are so many lanes apart."""


# --- regions ---
def combines(of: Callable[[Any], Any]) -> RegionKind:
    """The kind of a region that combines two states of scalars, of the type of fragments that ``of`` gives."""
    return lambda op, region: check_combine(op, region, of(op))


combines_result = combines(lambda op: op.results[0].type)
"""The kind of a region that combines two states of the type of the result."""


def ends(op: Any, region: Any) -> None:
    """The kind of a region that yields nothing."""
    check_yield(op, region, [])


def straight(op: Any, region: Any) -> None:
    """The kind of a region that is copied op by op, and yields nothing."""
    ends(op, region)
    check_straight(op, region)
