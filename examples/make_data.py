"""Writes temperatures to reduce: a year of hours at a hundred stations, f32, in degrees Celsius.

    python examples/make_data.py [temperature.npy]

The file holds an array of shape (365, 24, 100): days, hours, stations. It is the same on every machine.
"""

from __future__ import annotations

import sys

import numpy as np

DAYS, HOURS, STATIONS = 365, 24, 100


def temperatures(seed: int = 2026) -> np.ndarray[tuple[int, int, int], np.dtype[np.float32]]:
    """Seasons, days and nights, the climate of each station, and weather."""
    rng = np.random.default_rng(seed)
    day, hour = np.arange(DAYS)[:, None, None], np.arange(HOURS)[None, :, None]
    climate = rng.normal(11, 6, STATIONS)
    season = -9 * np.cos(2 * np.pi * (day - 20) / DAYS)
    sun = -4 * np.cos(2 * np.pi * (hour - 3) / HOURS)
    weather = np.cumsum(rng.normal(0, 1, (DAYS, 1, STATIONS)), axis=0)
    weather -= weather.mean(axis=0)
    field = climate + season + sun + 0.3 * weather + rng.normal(0, 0.5, (DAYS, HOURS, STATIONS))
    return field.astype(np.float32)


def main() -> None:
    """Writes the named file, ``temperature.npy`` by default."""
    path = sys.argv[1] if len(sys.argv) > 1 else "temperature.npy"
    field = temperatures()
    try:
        np.save(path, field)
    except OSError as e:
        sys.exit(f"cannot write {path}: {e.strerror}")
    shape = "x".join(map(str, field.shape))
    print(f"{path}: {field.dtype} {shape}, {field.nbytes / 2**20:.1f} MiB, {field.min():.1f} to {field.max():.1f} C")


if __name__ == "__main__":
    main()
