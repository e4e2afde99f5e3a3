"""Whether the parts of an artifact fit together, checked for every file before anything of it is launched.

Plans and facts are checked as the planner's are, and compared with what the tensor program says; kernels and parameters
with those that these facts give (``plan/kernels.py``), and with the entries of the PTX. What is left is code: see
``docs/artifacts.md``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields
from keyword import iskeyword
from typing import Any, get_args

from ..dtypes import DType
from ..errors import PlanError
from ..plan.abi import POINTERS, Param, params
from ..plan.checks import check as check_plan
from ..plan.facts import RARE, Facts
from ..plan.fields import Access
from ..plan.kernels import Outline, outlines
from ..plan.plan import STATIC_SHARED, Plan
from ..plan.shared_memory import waiting_bytes
from ..target import TARGETS
from .artifact import Artifact, CompiledKernel

RANKS = 64
"""Dims of an array at most."""
CHECKS = ("WF134", "WF135")
"""The errors that a kernel can find."""
_ENTRY = re.compile(r"\.entry\s+(\w+)\s*\(([^)]*)\)([^{]*)\{")
_PARAM = re.compile(r"\.param\s+\.(\w+)")
_THREADS = re.compile(r"\.maxntid (\d+), 1, 1\b")
_CLUSTER = re.compile(r"\.reqnctapercluster 1, (\d+), 1\b")
_SHARED = re.compile(r"\.shared \.align \d+ \.b8 \w+\[(\d+)\]")
_FUNCTION = r"func\.func @(\w+)\((.*?)\) -> (.*?) attributes \{(.*)\} ?[{]?"
_STATE = r"commutative = (?:true|false), dims = [^}]*\} : .* -> (.*)"
_TENSOR = r"tensor<(?:\?x)*(\w+)>"


class UnsoundError(ValueError):
    """Two parts of an artifact that do not fit together."""


def expect(holds: object, problem: str) -> None:
    """Raises ``UnsoundError`` with ``problem`` unless ``holds`` is true."""
    if not holds:
        raise UnsoundError(problem)


def expect_sound(a: Artifact) -> None:
    """Raises ``UnsoundError`` where parts of an artifact do not fit together."""
    expect(a.arch in TARGETS, f"arch is {a.arch!r}: expected one of {' '.join(TARGETS)}")
    mains = [k for k in a.kernels if k.role == "main"]
    expect(len(mains) == 1, f"it has {len(mains)} main kernels: expected one")
    reads = bool(a.inputs and a.state) or a.plan.resident  # a step without folds has no state, and may read nothing
    expect(a.outputs and reads, "it has no inputs, no outputs or no state")
    _facts(a, a.main.facts)
    _plan(a, a.plan)
    expected = outlines(a.name, a.main.facts, a.plan, len(a.state))
    names = [k.name for k in a.kernels]
    asked = [o.name for o in expected]
    expect(names == asked, f"it has the kernels {' '.join(names)}: expected {' '.join(asked)}")
    for kernel, outline in zip(a.kernels, expected, strict=True):
        _kernel(a, kernel, outline)
    _code(a)


def _plan(a: Artifact, plan: Plan) -> None:
    try:
        waiting = waiting_bytes(plan, a.main.facts, a.inputs)
        check_plan(plan, TARGETS[a.arch], sum(t.itemsize for t in a.state), waiting)
    except PlanError as e:
        raise UnsoundError(f"its plan is invalid: {e.message}") from e


def _facts(a: Artifact, facts: Facts) -> None:
    ranks = (facts.kept_rank, facts.reduced_rank)
    expect(
        all(1 <= n <= RANKS for n in ranks),
        f"it has {ranks[0]} kept and {ranks[1]} reduced dims: expected 1 to {RANKS} of each",
    )
    expect(facts.index_bits in (32, 64), f"index_bits is {facts.index_bits}: expected 32 or 64")
    fits = len(facts.access) == len(a.inputs) and set(facts.access) <= set(get_args(Access))
    expect(fits, f"access is {' '.join(facts.access)!r}: expected one for each of {len(a.inputs)} input(s)")
    expect(facts.numbers in ("", "up", "down"), f"numbers is {facts.numbers!r}: expected up, down or nothing")
    along = {"none", "kept", "reduced", "both"}
    expect(along.issuperset(facts.numberings), f"numberings is {facts.numberings}: expected {' '.join(sorted(along))}")
    expect(
        list(facts.waiting) == sorted({i for i in facts.waiting if i < len(a.inputs)}),
        f"waiting is {facts.waiting}: expected rising numbers of inputs",
    )
    operands = len(a.inputs) + len(a.outputs)
    expect(
        list(facts.runs) == sorted({i for i in facts.runs if i < operands}),
        f"runs is {facts.runs}: expected rising numbers of operands",
    )
    expect(
        not facts.block or (len(facts.block) == 2 and all(facts.block)),
        f"block is {facts.block}: expected two positive numbers",
    )


def _kernel(a: Artifact, kernel: CompiledKernel, outline: Outline) -> None:
    """One kernel against what the plan and the facts of the main one ask for."""
    name, main = kernel.name, kernel.role == "main"
    expect(kernel.role == outline.role, f"the role of {name} is {kernel.role}: expected {outline.role}")
    expect(kernel.facts == outline.facts, f"the facts of {name} do not match its main kernel")
    expect(main or kernel.plan == outline.plan, f"the plan of {name} does not match its main kernel")
    states = len(a.state)
    inputs = len(a.inputs) if main else states
    outputs = states if kernel.role == "init" else len(a.outputs)
    known = [_params(inputs, outputs, states, outline, i, c) for i in (False, main) for c in (False, True)]
    expect(kernel.params in known, f"the parameters of {name} do not match its plan and facts")


def _params(inputs: int, outputs: int, states: int, o: Outline, indexed: bool, counted: bool) -> tuple[Param, ...]:
    return params(inputs, outputs, states, o.facts, o.plan, indexed=indexed, counted=counted)


def _code(a: Artifact) -> None:
    """The entries of the PTX: names, parameters, threads, clusters and shared memory."""
    expect(a.ptx.isascii() and "\0" not in a.ptx, "its PTX is not ASCII text")
    expect(re.search(rf"^\.target {a.arch}\b", a.ptx, re.M), f"its PTX is not for {a.arch}")
    found = list(_ENTRY.finditer(a.ptx))
    names, expected = " ".join(sorted(e[1] for e in found)), " ".join(sorted(k.name for k in a.kernels))
    expect(names == expected, f"its PTX has the kernels {names}: expected {expected}")
    ends = [e.start() for e in found[1:]] + [len(a.ptx)]
    by_name = {e[1]: (e, a.ptx[e.end() : end]) for e, end in zip(found, ends, strict=True)}
    for kernel in a.kernels:
        entry, body = by_name[kernel.name]
        word = f"u{kernel.facts.index_bits}"
        types = ["u64" if p.role in POINTERS else word for p in kernel.params]
        expect(_PARAM.findall(entry[2]) == types, f"the parameters of {kernel.name} do not match its PTX")
        expect(
            _THREADS.findall(entry[3]) == [str(kernel.plan.threads)],
            f"the threads of {kernel.name} do not match its PTX",
        )
        clusters = [str(kernel.plan.cluster)] if kernel.plan.cluster > 1 else []
        expect(_CLUSTER.findall(entry[3]) == clusters, f"the clusters of {kernel.name} do not match its PTX")
        expect(
            sum(map(int, _SHARED.findall(body))) <= STATIC_SHARED,
            f"the PTX of {kernel.name} has more than {STATIC_SHARED} bytes of shared memory",
        )


def expect_source(a: Artifact) -> None:
    """Raises ``UnsoundError`` where the tensor program in MLIR has other types, facts or plans than the kernels.

    An entry of the cache is compared with what its caller would compile instead.
    """
    expected = outlines(a.name, a.main.facts, a.plan, len(a.state))
    functions = {f[1]: f for f in re.finditer(_FUNCTION, a.source)}
    states = [re.findall(_TENSOR, line[1]) for line in re.finditer(_STATE, a.source)]
    expect(len(functions) == len(states) == len(expected), "its program does not have one function for each kernel")
    expect(all(s == _spelled(a.state) for s in states), "its state does not match its program")
    for o in expected:
        function = functions.get(o.name)
        expect(function is not None, f"its program has no function {o.name}")
        assert function is not None
        text = f'fold.facts = {_attributes(o.facts)}, fold.plan = {_attributes(o.plan)}, fold.target = "{a.arch}"'
        expect(text in function[4], f"the facts, the plan or the target of {o.name} do not match its program")
        inputs, outputs = a.inputs if o.role == "main" else a.state, a.state if o.role == "init" else a.outputs
        types = [re.findall(_TENSOR, function[2]), re.findall(_TENSOR, function[3])]
        expect(types == [_spelled(inputs), _spelled(outputs)], f"the types of {o.name} do not match its program")


def expect_each(structure: Any, results: int) -> None:
    """Raises ``UnsoundError`` unless a structure names each of its results once, in order."""
    expect(leaves(structure) == list(range(results)), "its structure does not name each result once, in order")


def leaves(structure: Any) -> list[int]:
    """The results of a structure, in order."""
    if isinstance(structure, int):
        return [structure]
    expect(type(structure) is tuple and list(map(type, structure)) == [str, tuple, tuple], "its structure is invalid")
    _, fields, members = structure
    named = len(fields) == len(members) == len(set(fields)) and all(map(_is_field, fields))
    expect(named or not fields, f"its structure has the fields {fields}")
    return [leaf for member in members for leaf in leaves(member)]


def _is_field(name: Any) -> bool:
    return type(name) is str and name.isidentifier() and not name.startswith("_") and not iskeyword(name)


# --- as MLIR prints it ---------------------------------------------------------------------------------------------
def _spelled(types: Sequence[DType]) -> list[str]:
    """The names of element types, none of which has a sign."""
    return [t.name if t.is_float else f"i{t.bits}" for t in types]


def _attributes(value: Plan | Facts) -> str:
    """Plan or facts: what ``ir/attributes.py`` writes, by name."""
    held = sorted((f.name, getattr(value, f.name)) for f in fields(value))
    return "{" + ", ".join(f"{name} = {_attribute(v)}" for name, v in held if v or name not in RARE) + "}"


def _attribute(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_attribute, value))}]"
    if isinstance(value, str):
        return f'"{value}"'
    return str(value).lower() if isinstance(value, bool) else f"{value} : i64"
