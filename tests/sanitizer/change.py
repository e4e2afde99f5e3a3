"""Mistakes in a launch: scenes with another argument, buffer or grid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from scene import At, Scene, Shape

Change = Callable[[Scene], Scene]


def argument(which: int, index: int, by: int) -> Change:
    """Adds to an integer argument, or moves a pointer by some bytes."""

    def change(scene: Scene) -> Scene:
        launch = scene.launches[which]
        old = launch.args[index]
        new = At(old.buffer, old.offset + by) if isinstance(old, At) else old + by
        return scene.with_launch(which, launch.argument(index, new))

    return change


def grid(which: int, shape: Callable[[Shape], Shape]) -> Change:
    """Changes the grid of a launch."""
    return lambda s: s.with_launch(which, replace(s.launches[which], grid=shape(s.launches[which].grid)))


def shorter(name: str, by: int) -> Change:
    """Cuts the last bytes off a buffer."""

    def change(scene: Scene) -> Scene:
        old = scene.buffers[name]
        size = old.nbytes - by
        return scene.with_buffer(name, replace(old, nbytes=size, data=None if old.data is None else old.data[:size]))

    return change


def null(scene: Scene) -> Scene:
    return scene.with_launch(0, scene.launches[0].argument(0, 0))


def second_alone(scene: Scene) -> Scene:
    return scene.with_launch(0, None)
