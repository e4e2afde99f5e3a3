"""What the planner chooses for the benchmark's plain cases on an H100, and what becomes of it: a page for reviewers.

``python tests/plain_plans.py`` writes the page anew; ``tests/compiler/planner/test_plain_cases.py`` compares it
with the code. The diff of a change to the planner or a pass shows which cases change, and why. Each case is a block:

- ``plan`` and ``launch``: what is compiled, and its grid; ``access`` as in the facts of docs/design.md;
- ``because`` and ``not``: the planner's reasons, and what it rejected;
- a line for each kernel: ``step`` is what its busiest block reads from global memory, which is the main loop's; then
  instructions in all of the PTX;
- ``sm_90a``: registers of a thread, in eights as a GPU allots them, bytes spilled and bytes of shared memory.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

from warpfold.commands.bench.cases import PLAIN, Case
from warpfold.commands.levels import plan_words
from warpfold.runtime.api import plan_for
from warpfold.runtime.prepare import artifact
from warpfold.runtime.ptxas import assemble

PAGE = Path(__file__).parent / "data" / "plans" / "plain.txt"
ARCH = "sm_90a"
KINDS = {"shuffles": "shfl", "votes": ("vote", "redux"), "barriers": ("bar.", "barrier."), "atomics": ("atom", "red.")}
"""What is counted, by how its instructions begin."""
_ENTRY = re.compile(r"\.entry (\w+)\((.*?)^\}", re.DOTALL | re.MULTILINE)
_LOAD = re.compile(r"^ld\.global\.(?:\w+\.)*?(?:v(\d)\.)?[a-z](\d+)\s", re.MULTILINE)
_LABEL = re.compile(r"^\$\w+:$", re.MULTILINE)


def planned(case: Case) -> Any:
    """The case as the planner sees it."""
    return plan_for(case.what, case.shape, case.dtype, axis=case.axis, arch=ARCH)


def block(case: Case) -> str:
    """The lines of a case."""
    ready = planned(case)
    choice, compiled = ready.choice, artifact(ready)
    run, assembly = choice.run, assemble(compiled.ptx, ARCH)
    found = [case.name, f"  plan    {plan_words(choice.plan)}"]
    found.append(
        f"  launch  {run.tiles} x {run.split} CTAs, {run.chunk} elements each; {', '.join(choice.facts.access)}"
    )
    found += [f"  because {reason}" for reason in choice.reasons]
    found += [f"  not     {what}: {why}" for what, why in choice.rejected]
    for name, text in _ENTRY.findall(compiled.ptx):
        used = assembly.kernels[name]
        found.append(f"  {name}: step {step(text)}; {counts(text)}")
        found.append(f"  {ARCH}: {-(-used.registers // 8) * 8} registers, {used.spills} spilled, {used.shared} shared")
    return "\n".join(found)


def instructions(text: str) -> list[str]:
    """The instructions of a kernel, without predicates."""
    lines = (line.strip() for line in text.splitlines())
    return [re.sub(r"^@!?%p\d+\s+", "", line) for line in lines if line.endswith(";") and not line.startswith(".")]


def widths(text: str) -> Counter[int]:
    """Loads from global memory, by bits."""
    return Counter(int(count or 1) * int(bits) for count, bits in _LOAD.findall("\n".join(instructions(text))))


def step(text: str) -> str:
    """What the block that reads most reads: ``8 x 128 bits``."""
    blocks = [widths(part) for part in _LABEL.split(text)]
    busiest = max(blocks, key=lambda found: sum(bits * n for bits, n in found.items()))
    return " + ".join(f"{n} x {bits} bits" for bits, n in sorted(busiest.items(), reverse=True))


def counts(text: str) -> str:
    """Instructions of all blocks."""
    every = instructions(text)
    loads = " + ".join(f"{n} x {bits}" for bits, n in sorted(widths(text).items(), reverse=True))
    kinds = [f"{sum(i.startswith(begin) for i in every)} {name}" for name, begin in KINDS.items()]
    return f"{len(every)} instructions, loads {loads}, {', '.join(kinds)}"


def page() -> str:
    """All cases."""
    return "\n\n".join(block(case) for case in PLAIN.values()) + "\n"


def recorded() -> dict[str, str]:
    """The page's blocks, by the name of their case."""
    blocks = PAGE.read_text(encoding="utf-8").strip().split("\n\n")
    return {text.partition("\n")[0]: text for text in blocks}


if __name__ == "__main__":
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
