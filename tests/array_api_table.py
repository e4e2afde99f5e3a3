"""Which names of the Array API standard programs have, and why the others are missing: a table of docs/programs.md."""

from __future__ import annotations

from collections.abc import Iterator

import array_api_strict

from warpfold.compiler.program.arrays import namespace

REASONS: dict[str, tuple[str, ...]] = {
    "elements move": ("concat", "repeat", "roll", "stack", "tile"),
    "elements are sorted or searched": ("argsort", "isin", "searchsorted", "sort"),
    "the shape depends on values": ("nonzero", "unique_all", "unique_counts", "unique_inverse", "unique_values"),
    "a product of matrices": ("matmul", "tensordot"),
    "complex numbers": ("complex128", "complex64", "imag"),
    "a size that no array has": ("eye", "linspace"),
    "write `x[:, None]`": ("meshgrid",),
    "write `broadcast_arrays`": ("broadcast_shapes",),
    "write `bitcast`": ("nextafter",),
    "symbolic arrays have no memory": ("Device", "from_dlpack"),
}
"""The names that are missing, by reason."""


def standard() -> dict[str, str]:
    """The group of each name of the standard, as its reference implementation has it."""
    return dict(_standard())


def _standard() -> Iterator[tuple[str, str]]:
    for name in dir(array_api_strict):
        if name.startswith("_") or "array_api_strict" in name or name in ("ArrayAPIStrictFlags", "ModuleType"):
            continue
        module = getattr(getattr(array_api_strict, name), "__module__", "") or "constants"
        yield name, module.rpartition("._")[2].replace("_functions", "").replace("_", " ")


def table() -> str:
    """For each group the names that there are, and those that are missing, with the reason."""
    groups = standard()
    why = {name: reason for reason, names in REASONS.items() for name in names}
    rows = ["| group | there | missing, because |", "|---|---|---|"]
    for group in sorted(set(groups.values())):
        own = sorted(name for name in groups if groups[name] == group)
        there = " ".join(f"`{name}`" for name in own if name in dir(namespace))
        missing = [f"{_names(n for n in own if why.get(n) == reason)}: {reason}" for reason in REASONS
                   if any(why.get(n) == reason for n in own)]  # fmt: skip
        rows.append(f"| {group} | {there} | {'; '.join(missing)} |")
    return "\n".join(rows) + "\n"


def _names(names: Iterator[str]) -> str:
    return " ".join(f"`{name}`" for name in names)
