"""Writes docs/peers.md, and README's table of it, from the committed times of programs beside their peers.

Run ``python benchmarks/peers_page.py`` after ``warpfold bench --cases CASES --out FILE`` for each of ``PARTS``; a test
fails while the page says anything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from readme_table import README, TITLES, filled, markdown, ratios_to, source, where, written

from warpfold.commands.bench.programs.report import summary, table
from warpfold.commands.bench.results import Results, load, mean
from warpfold.compiler.errors import WarpfoldError

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "peers.md"


@dataclass(frozen=True)
class Part:
    """A section of the page: its title, the cases that were run, and the committed file of the run."""

    title: str
    cases: str
    file: str

    @property
    def path(self) -> Path:
        """Where the file lies."""
        return ROOT / "benchmarks" / "results" / self.file


FORWARD = Part("Softmax, norms and losses", "standard,shapes", "forward-h100.json")
GRADIENTS = Part("Gradients", "backward", "backward-h100.json")
MASKS = Part("Elementwise programs and masks", "masks", "masks-h100.json")
PARTS = (FORWARD, GRADIENTS, MASKS)
TEXT = """\
# Programs beside their peers

Times of programs on one GPU, in microseconds, beside PyTorch, torch.compile, QuACK and Liger, and beside a copy of the
bytes that a program must move. Every answer was compared with float64 before it was timed. Each section is one run of
`warpfold bench`; numbers of different runs are not to be compared. `python benchmarks/peers_page.py` writes this page
from `benchmarks/results/`, and a test compares both. [The benchmark](../benchmarks/README.md) says how a time is taken
and what the columns mean; [performance](performance.md) says what limits the slow ones.
"""


def page() -> str:
    """The page, of the committed files."""
    return "\n".join([TEXT, *(section(part, load(part.path)) for part in PARTS)])


def section(part: Part, results: Results) -> str:
    """A section: how to run it, the machine and the versions, what holds of all cases, and a row for each."""
    run = f"`warpfold bench --cases {part.cases}`. {where(results)}"
    said = "\n".join(f"- {line}" for line in summary(results))
    titles, lines = table(results)
    return "\n\n".join([f"## {part.title}", filled(run), said, markdown(titles, lines)]) + "\n"


def speedups() -> str:
    """README's block: how many times as fast as each peer programs and gradients are, and a copy of their bytes."""
    parts = [load(part.path) for part in (FORWARD, GRADIENTS)]
    peers = {name: [_mean(ratios_to(r.programs, name)) for r in parts] for name in parts[0].peers}
    lines = [[TITLES[name], *(cell for pair in cells for cell in pair)] for name, cells in peers.items()]
    best = [_mean([row.ratio for row in r.programs]) for r in parts]
    lines.append(["the fastest of these in each case", *(cell for pair in best for cell in pair)])
    copies = [mean([r.best[1] / r.copy.median for r in part.programs if r.best and r.copy])[0] for part in parts]
    machine = parts[0].machine
    text = (
        f"Measured on one {machine['gpu']}, {machine['date'][:10]}, {source(machine)}. Against the fastest peer a copy "
        f"of the same bytes reaches {copies[0]:.2f} and {copies[1]:.2f}. [All cases](docs/peers.md)."
    )
    titles = ["programs compared with", "forward cases", "speedup, geometric mean", "gradients", "speedup"]
    return "\n\n".join([markdown(titles, lines), filled(text)])


def _mean(ratios: Sequence[float | None]) -> tuple[str, str]:
    """How many ratios there are, and their geometric mean."""
    found, count = mean(ratios)
    return str(count), f"{found:.2f}"


@click.command()
def main() -> None:
    """Write docs/peers.md, and the table of README, from benchmarks/results/."""
    try:
        text, block = page(), speedups()
    except WarpfoldError as e:
        raise SystemExit(e.render()) from None
    PAGE.write_text(text, encoding="utf-8")
    README.write_text(written(README.read_text(encoding="utf-8"), "peers_page.py", programs=block), encoding="utf-8")


if __name__ == "__main__":
    main()
