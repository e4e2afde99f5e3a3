"""Programs of the library on shards, under their names: the other arrays lie as the shards of the first one do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...compiler.program.frames import outermost
from ...compiler.space.geometry import normalize_axes
from ..arrays.torch_compile import opaque
from ..programs import library
from .programs import on_ranks
from .together import together


@opaque
@together
@outermost
def softmax(x: Any, axis: Any = -1, *, bias: Any = None, where: Any = None, shards: int = -1, **how: Any) -> Any:
    """``wf.softmax`` of an array of which every rank has a shard along the axis ``shards``.

    A bias and a mask that lie along this axis are shards, too. Other arguments are those of ``run`` and ``wf.softmax``.
    """
    return _of_rows(library.softmax, x, bias, where, shards, how | {"axis": axis})


@opaque
@together
@outermost
def log_softmax(x: Any, axis: Any = -1, *, bias: Any = None, where: Any = None, shards: int = -1, **how: Any) -> Any:
    """``wf.log_softmax`` of an array of which every rank has a shard; arguments as in ``softmax``."""
    return _of_rows(library.log_softmax, x, bias, where, shards, how | {"axis": axis})


@opaque
@together
@outermost
def cross_entropy(
    x: Any, target: Any, weight: Any = None, *, axis: int | None = None, shards: int | None = None, **how: Any
) -> Any:
    """``wf.cross_entropy`` of logits of which every rank has a shard.

    Args:
        x: the logits.
        target: the classes of the rows, counted in the whole array: all of them where the classes are cut, else those
            of the rows of this rank.
        weight: a factor for each class: those of this rank's classes where these are cut.
        axis: the axis of the classes, as in ``wf.cross_entropy``.
        shards: the axis of the logits that is cut; None for that of the classes.
        how: other arguments of ``run`` and of ``wf.cross_entropy``.
    """

    def lying() -> dict[str, int]:
        rank = len(x.shape)
        (classes,) = normalize_axes(min(1, rank - 1) if axis is None else axis, rank)
        (cut,) = (classes,) if shards is None else normalize_axes(shards, rank)
        if cut == classes:
            return {"x": cut} | ({} if weight is None else {"weight": 0})
        return {"x": cut, "target": cut - (cut > classes)}

    return _called(library.cross_entropy, (x, target, weight), shards, lying, how | {"axis": axis})


@opaque
@together
@outermost
def layer_norm(x: Any, weight: Any = None, bias: Any = None, *, axis: Any = -1, shards: int = -1, **how: Any) -> Any:
    """``wf.layer_norm`` of an array of which every rank has a shard along the axis ``shards``.

    Where this axis is normalised, a weight and a bias are shards, too. Other arguments are those of ``run`` and
    ``wf.layer_norm``.
    """
    own = {"weight": weight, "bias": bias}
    return _called(
        library.layer_norm, (x, weight, bias), shards, lambda: _along(x, own, axis, shards), how | {"axis": axis}
    )


@opaque
@together
@outermost
def rms_norm(x: Any, weight: Any = None, *, axis: Any = -1, shards: int = -1, **how: Any) -> Any:
    """``wf.rms_norm`` of an array of which every rank has a shard; arguments as in ``layer_norm``."""
    own = {"weight": weight}
    return _called(library.rms_norm, (x, weight), shards, lambda: _along(x, own, axis, shards), how | {"axis": axis})


@opaque
@together
@outermost
def batch_norm(
    x: Any, running_mean: Any = None, running_var: Any = None, weight: Any = None, bias: Any = None,
    *, residual: Any = None, training: bool = False, channel_axis: int = 1, shards: int = 0, **how: Any,
) -> Any:  # fmt: skip
    """``wf.batch_norm`` of an array of which every rank has a shard along the axis ``shards``: synchronised batch norm.

    In training the mean and the variance of a channel are those of all ranks, and so is what running statistics become.
    A residual is a shard as ``x`` is; arrays with a value for each channel are whole on every rank, unless channels are
    cut. Other arguments are those of ``run`` and ``wf.batch_norm``.
    """
    given = (x, running_mean, running_var, weight, bias)
    own = dict(zip(("running_mean", "running_var", "weight", "bias"), given[1:], strict=True))
    how |= {} if residual is None else {"residual": residual}
    how["out"] = library.updated({**own, **how, "training": training}, how.get("out"))

    def lying() -> dict[str, int]:
        return _along(x, own, channel_axis, shards) | _alike(x, {"residual": residual}, shards)

    return _called(library.batch_norm, given, shards, lying, how | {"training": training, "channel_axis": channel_axis})


def _of_rows(program: Any, x: Any, bias: Any, where: Any, shards: int, how: dict[str, Any]) -> Any:
    """A softmax, with a bias and a mask that broadcast to ``x``."""
    others = {"bias": bias, "where": where}
    own = how | {name: value for name, value in others.items() if value is not None}
    return _called(program, (x,), shards, lambda: _alike(x, others, shards), own)


def _called(
    program: Any, xs: Sequence[Any], shards: int | None, lying: Callable[[], dict[str, int]], how: dict[str, Any]
) -> Any:
    """A program on the ranks, with the arguments of ``run`` among ``how``."""
    group, check, out = how.pop("group", None), how.pop("check", True), how.pop("out", None)
    return on_ranks(program, xs, how, ("library", shards), lying, group, check=check, out=out)


def _alike(x: Any, others: dict[str, Any], shards: int) -> dict[str, int]:
    """How arrays that broadcast to ``x`` are cut: along the same axis, unless they have one element there."""
    (cut,) = normalize_axes(shards, len(x.shape))
    found = {"x": cut}
    for name, own in others.items():
        axis = -1 if own is None else cut - len(x.shape) + len(own.shape)
        if axis >= 0 and own.shape[axis] == x.shape[cut]:
            found[name] = axis
    return found


def _along(x: Any, others: dict[str, Any], axis: Any, shards: int) -> dict[str, int]:
    """How arrays that lie along some axes of ``x`` are cut."""
    (cut,) = normalize_axes(shards, len(x.shape))
    axes = normalize_axes(axis, len(x.shape))
    found = {"x": cut}
    for name, own in others.items():
        if own is not None and len(own.shape) == len(axes) and cut in axes:
            found[name] = axes.index(cut)
        elif own is not None and len(own.shape) != len(axes):
            found |= _alike(x, {name: own}, shards)
    return found
