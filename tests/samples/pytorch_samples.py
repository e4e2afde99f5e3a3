"""The samples by which PyTorch tests its own operators, for the operations that are here, too.

``python tests/samples/pytorch.py`` runs all of them. Each is traced and evaluated in f64, forward and gradient, beside
PyTorch; with ``--emulator`` it is called, so that kernels run.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db

sys.path.insert(0, str(Path(__file__).parents[1] / "compiler"))
from array_programs import traced

import warpfold as wf
from warpfold.commands.checking.array_values import evaluate
from warpfold.compiler.errors import WarpfoldError
from warpfold.compiler.program.gradients.vjp import backward

Function = Callable[..., Any]


NO_GRADIENT = ("topk",)
"""Operators without a gradient here."""
FIRST = ("nn.functional.cross_entropy", "nn.functional.nll_loss")
"""Operators whose first tensor alone has a gradient in PyTorch."""


DIFFERENCES: tuple[tuple[str, str, str], ...] = (
    (r".*", r"WF(256|292): .*", "a number has no axes, so that axis 0 of it is refused"),
    (r".*_norm", r"WF138: eps cannot be -0\.5: .*", "a negative eps is refused"),
    (r"masked\.norm", r"WF133: .*", "an extreme that a mask may leave without elements has no value"),
    (r"masked\.norm", r"gradient 0: nan .* 0\.0 in PyTorch", "an element that a mask leaves out is squared before"),
    (r"masked\.prod", r"gradient 0: -?inf .* nan in PyTorch", "the product of all others is infinite, as it stands"),
)
"""Where results differ by choice: the operator, what is found, and why."""


class UnservedError(Exception):
    """There is no such call here; the text says what it asks for."""


class Case(NamedTuple):
    """One sample.

    Attributes:
        name: the name of PyTorch's operator, and the number of the sample.
        ours: the call here, of the arrays.
        theirs: PyTorch's.
        arrays: the tensors; the others are in the calls.
        wanted: those whose gradients are compared.
    """

    name: str
    ours: Function
    theirs: Function
    arrays: list[torch.Tensor]
    wanted: list[int]


def _axes(dim: Any) -> Any:
    return None if dim is None or dim == () or dim == [] else tuple(dim) if isinstance(dim, list | torch.Size) else dim


def _call(function: Function, *names: str, axis: str = "dim") -> Function:
    """What makes a call of ``function`` of a sample whose further arguments have these names.

    The argument ``axis`` is ``axis=`` here, and ``keepdim`` is ``keepdims``.
    """

    def made(args: tuple[Any, ...], how: dict[str, Any]) -> Function:
        given = {**dict(zip(names, args, strict=False)), **how}
        if len(args) > len(names):
            raise UnservedError(f"{len(args)} arguments")
        own, masked = dict[str, Any](), False
        for key, value in given.items():
            if key == axis:
                own["axis"] = _axes(value)
            elif key == "keepdim":
                own["keepdims"] = value
            elif key == "mask":
                masked = value is not None
            elif key == "dtype":
                own["dtype"] = None if value is None else str(value).removeprefix("torch.")
            elif key == "unbiased":
                own["correction"] = float(value)
            elif key == "correction":
                own["correction"] = 1.0 if value is None else float(value)
            else:
                own[key] = value
        if masked:
            return lambda x, mask: function(x, where=mask, **own)
        return lambda x: function(x, **own)

    return made


def _unary(function: Function) -> Function:
    def made(args: tuple[Any, ...], how: dict[str, Any]) -> Function:
        if args or how:
            raise UnservedError(f"arguments {args} {how}")
        return function

    return made


def _binary(function: Function) -> Function:
    def made(args: tuple[Any, ...], how: dict[str, Any]) -> Function:
        (other, *rest), alpha = args, how.get("alpha", 1)
        if rest or set(how) - {"alpha"}:
            raise UnservedError(f"arguments {rest} {how}")
        if isinstance(other, torch.Tensor):
            return lambda x, y: function(x, y if alpha == 1 else y * alpha)
        return lambda x: function(x, other * alpha if alpha != 1 else other)

    return made


def _moment(function: Function) -> Function:
    """A variance or a deviation, whose divisor is the count less 1 in PyTorch unless it is given."""
    plain = _call(function, "dim", "unbiased", "keepdim")

    def made(args: tuple[Any, ...], how: dict[str, Any]) -> Function:
        if args and isinstance(args[0], bool):
            args, how = args[1:], {"unbiased": args[0], **how}
        known = "unbiased" in how or "correction" in how or len(args) > 1
        return plain(args, how if known else {**how, "correction": 1.0})

    return made


def _norm(args: tuple[Any, ...], how: dict[str, Any]) -> Function:
    given = {**dict(zip(("ord", "dim", "keepdim"), args, strict=False)), **how}
    return _call(wf.norm)((), given)


def _layer_norm(function: Function) -> Function:
    def made(args: tuple[Any, ...], how: dict[str, Any]) -> Function:
        names = (
            ("normalized_shape", "weight", "bias", "eps")
            if function is wf.layer_norm
            else ("normalized_shape", "weight", "eps")
        )
        given = {**dict(zip(names, args, strict=False)), **how}
        axis = tuple(range(-len(given.pop("normalized_shape")), 0))
        eps = {} if given.get("eps") is None else {"eps": given["eps"]}
        own = [n for n in ("weight", "bias") if isinstance(given.get(n), torch.Tensor)]
        return lambda x, *rest: function(x, **dict(zip(own, rest, strict=True)), axis=axis, **eps)

    return made


def _group_norm(args: tuple[Any, ...], how: dict[str, Any]) -> Function:
    given = {**dict(zip(("num_groups", "weight", "bias", "eps"), args, strict=False)), **how}
    own = [n for n in ("weight", "bias") if isinstance(given.get(n), torch.Tensor)]
    eps, groups = given.get("eps", 1e-5), given["num_groups"]
    return lambda x, *rest: wf.group_norm(x, groups, **dict(zip(own, rest, strict=True)), eps=eps)


def _softmax(function: Function) -> Function:
    def made(args: tuple[Any, ...], how: dict[str, Any]) -> Function:
        given = {**dict(zip(("dim",), args, strict=False)), **how}
        return _call(function)((), given)

    return made


def _normalize(args: tuple[Any, ...], how: dict[str, Any]) -> Function:
    given = {**dict(zip(("p", "dim", "eps"), args, strict=False)), **how}
    return lambda x: wf.normalize(
        x, p=given.get("p", 2.0), axis=_axes(given.get("dim", 1)), eps=given.get("eps", 1e-12)
    )


def _loss(function: Function) -> Function:
    def made(args: tuple[Any, ...], how: dict[str, Any]) -> Function:
        target, *rest = args
        if target.is_floating_point():
            raise UnservedError("probabilities as targets")
        if rest or how.get("size_average") is not None or how.get("reduce") is not None:
            raise UnservedError("deprecated arguments")
        own = {k: v for k, v in how.items() if k in ("reduction", "ignore_index", "label_smoothing")}
        weighted = isinstance(how.get("weight"), torch.Tensor)
        return lambda x, t, *w: function(x, t, *w, **own) if weighted else function(x, t, **own)

    return made


def _clamp(args: tuple[Any, ...], how: dict[str, Any]) -> Function:
    low, high = {**dict(zip(("min", "max"), args, strict=False)), **how}.get("min"), None
    given = {**dict(zip(("min", "max"), args, strict=False)), **how}
    low, high = given.get("min"), given.get("max")
    own = [n for n, v in (("low", low), ("high", high)) if isinstance(v, torch.Tensor)]
    fixed = {n: v for n, v in (("low", low), ("high", high)) if n not in own}
    return lambda x, *rest: wf.clip(x, **dict(zip(own, rest, strict=True)), **fixed)


def _leaky(args: tuple[Any, ...], how: dict[str, Any]) -> Function:
    given = {**dict(zip(("negative_slope", "inplace"), args, strict=False)), **how}
    return lambda x: wf.leaky_relu(x, negative_slope=given.get("negative_slope", 0.01))


def _rsub(args: tuple[Any, ...], how: dict[str, Any]) -> Function:
    (other,), alpha = args, how.get("alpha", 1)
    if isinstance(other, torch.Tensor):
        return lambda x, y: y - x * alpha
    return lambda x: other - x * alpha


def _where(args: tuple[Any, ...], how: dict[str, Any]) -> Function:
    return lambda x, c, y: wf.where(c, x, y)


def _scan(function: Function) -> Function:
    return _call(function, "dim")


def _topk(args: tuple[Any, ...], how: dict[str, Any]) -> Function:
    given = {**dict(zip(("k", "dim", "largest", "sorted"), args, strict=False)), **how}
    return lambda x: wf.topk(x, given["k"], axis=given.get("dim", -1), largest=given.get("largest", True))[0]


UNARY = [
    "abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "exp", "exp2", "expm1", "floor", "isfinite",
    "isinf", "isnan", "log", "log10", "log1p", "log2", "reciprocal", "rsqrt", "sigmoid", "sign", "sin", "sinh",
    "sqrt", "square", "tan", "tanh",
]  # fmt: skip
FOLDS = {
    "sum": wf.sum, "prod": wf.prod, "mean": wf.mean, "amax": wf.max, "amin": wf.min, "all": wf.all, "any": wf.any,
    "argmax": wf.argmax, "argmin": wf.argmin, "count_nonzero": wf.count_nonzero, "logsumexp": wf.logsumexp,
    "nansum": wf.nansum, "nanmean": wf.nanmean, "masked.sum": wf.sum, "masked.prod": wf.prod, "masked.mean": wf.mean,
    "masked.logsumexp": wf.logsumexp,
}  # fmt: skip
CALLS: dict[str, Function] = {
    **{name: _unary(getattr(wf, name)) for name in UNARY}, "round": _unary(wf.round), "neg": _unary(lambda x: -x),
    "nn.functional.relu": _unary(wf.relu),
    **{name: _call(f, "dim", "keepdim") for name, f in FOLDS.items()},
    "var": _moment(wf.var), "std": _moment(wf.std), "masked.var": _moment(wf.var), "masked.std": _moment(wf.std),
    "linalg.vector_norm": _norm, "masked.norm": _norm,
    "add": _binary(lambda x, y: x + y), "sub": _binary(lambda x, y: x - y), "mul": _binary(lambda x, y: x * y),
    "div": _binary(lambda x, y: x / y), "true_divide": _binary(lambda x, y: x / y),
    "__radd__": _binary(lambda x, y: y + x), "__rsub__": _binary(lambda x, y: y - x),
    "__rmul__": _binary(lambda x, y: y * x), "__rdiv__": _binary(lambda x, y: y / x),
    "__rpow__": _binary(lambda x, y: y**x), "rsub": _rsub,
    "maximum": _binary(wf.maximum), "minimum": _binary(wf.minimum), "atan2": _binary(wf.atan2),
    "pow": _binary(lambda x, y: x**y), "float_power": _binary(lambda x, y: x**y),
    "remainder": _binary(lambda x, y: x % y), "floor_divide": _binary(lambda x, y: x // y),
    "eq": _binary(lambda x, y: x == y), "ne": _binary(lambda x, y: x != y), "lt": _binary(lambda x, y: x < y),
    "le": _binary(lambda x, y: x <= y), "gt": _binary(lambda x, y: x > y), "ge": _binary(lambda x, y: x >= y),
    "dot": _binary(wf.dot), "vdot": _binary(wf.dot), "linalg.vecdot": lambda a, h: _vecdot(a, h),
    "clamp": _clamp, "where": _where, "nn.functional.leaky_relu": _leaky,
    "softmax": _softmax(wf.softmax), "log_softmax": _softmax(wf.log_softmax),
    "nn.functional.softmin": _softmax(wf.softmin), "masked.softmax": _softmax(wf.softmax),
    "masked.log_softmax": _softmax(wf.log_softmax), "masked.softmin": _softmax(wf.softmin),
    "nn.functional.layer_norm": _layer_norm(wf.layer_norm), "nn.functional.rms_norm": _layer_norm(wf.rms_norm),
    "nn.functional.group_norm": _group_norm, "nn.functional.normalize": _normalize,
    "nn.functional.cross_entropy": _loss(wf.cross_entropy), "nn.functional.nll_loss": _loss(wf.nll_loss),
    "cumsum": _scan(wf.cumulative_sum), "cumprod": _scan(wf.cumulative_prod), "cummax": _scan(wf.cummax),
    "cummin": _scan(wf.cummin), "logcumsumexp": _scan(wf.logcumsumexp), "topk": _topk,
}  # fmt: skip
"""By the name of PyTorch's operator what makes our call of the further arguments of a sample."""


def _vecdot(args: tuple[Any, ...], how: dict[str, Any]) -> Function:
    axis = how.get("dim", -1)
    return lambda x, y: wf.vecdot(x, y, axis=axis)


def cases(only: str = "", dtype: torch.dtype = torch.float64) -> Iterator[Case]:
    """The samples, in the order of PyTorch's operators; those of calls that are not here are left out.

    With ``only`` the sample of this name, or those of this operator.
    """
    name, _, place = only.partition(" ")
    for op in op_db:
        make = CALLS.get(op.name)
        if make is None or op.variant_test_name or not op.supports_dtype(dtype, "cpu") or (name and op.name != name):
            continue
        torch.manual_seed(0)
        for number, s in enumerate(op.sample_inputs("cpu", dtype, requires_grad=False)):
            if place and int(place) != number:
                continue
            try:
                ours = make(s.args, dict(s.kwargs))
            except UnservedError:
                continue
            tensors = [s.input, *s.args, *s.kwargs.values()]
            arrays = [t for t in tensors if isinstance(t, torch.Tensor)]
            if not isinstance(s.input, torch.Tensor) or any(
                t.is_complex() or t.layout != torch.strided for t in arrays
            ):
                continue
            floats = [] if op.name in NO_GRADIENT else [i for i, a in enumerate(arrays) if a.is_floating_point()]
            wanted = floats[:1] if op.name in FIRST else floats
            yield Case(f"{op.name} {number}", ours, _theirs(op, s), arrays, wanted)


def _theirs(op: Any, s: Any) -> Function:
    """PyTorch's operator of the tensors of a sample."""

    def call(*arrays: torch.Tensor) -> Any:
        rest = iter(arrays)
        swap = lambda v: next(rest) if isinstance(v, torch.Tensor) else v  # noqa: E731
        x, args, how = swap(s.input), [swap(a) for a in s.args], {k: swap(v) for k, v in s.kwargs.items()}
        found = op.op(x, *args, **how)
        return found[0] if isinstance(found, tuple) else found

    return call


def unexplained(case: Case, *, emulator: bool = False) -> str:
    """What the call here has that PyTorch's has not, and no choice explains; empty if there is nothing."""
    try:
        found = difference(case, emulator=emulator)
    except WarpfoldError as e:
        found = f"{e.code}: {e.message}"
    known = any(re.fullmatch(op, case.name.rpartition(" ")[0]) and re.fullmatch(p, found) for op, p, _ in DIFFERENCES)
    return "" if known else found


def difference(case: Case, *, emulator: bool = False) -> str:
    """What the call here has that PyTorch's has not; empty if they agree."""
    leaves = _leaves(case)
    want = case.theirs(*leaves)
    differentiable = want.requires_grad and "NotImplemented" not in (want.grad_fn.name() if want.grad_fn else "")
    gradient = torch.randn(want.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    wanted = [want.detach()]
    if differentiable:
        own = [leaves[i] for i in case.wanted]
        found = torch.autograd.grad(want, own, gradient.to(want.dtype), allow_unused=True)
        wanted += [torch.zeros_like(a) if g is None else g for a, g in zip(own, found, strict=True)]
    got = _called(case, gradient, differentiable) if emulator else _evaluated(case, gradient, differentiable)
    for i, (g, w) in enumerate(zip(got, wanted, strict=True)):
        what = f"gradient {i - 1}" if i else "result"
        w = w.numpy()
        if np.shape(g) != w.shape:
            return f"{what}: shape {np.shape(g)}, and {w.shape} in PyTorch"
        if not np.allclose(g, w, rtol=1e-7, atol=1e-8, equal_nan=True):
            at = np.unravel_index(np.argmax(~np.isclose(g, w, rtol=1e-7, atol=1e-8, equal_nan=True)), w.shape)
            return f"{what}: {np.asarray(g)[at]} at {[int(i) for i in at]}, and {w[at]} in PyTorch"
    return ""


def _leaves(case: Case) -> list[torch.Tensor]:
    """The tensors; those whose gradients are compared require them."""
    return [a.detach().clone().requires_grad_(i in case.wanted) for i, a in enumerate(case.arrays)]


def _evaluated(case: Case, gradient: torch.Tensor, differentiable: bool) -> list[Any]:
    arrays = [a.detach().numpy() for a in case.arrays]
    found = _of_arrays(case, len(arrays))
    program = traced(found, *arrays)
    results = evaluate(program, arrays)[: len(program.outputs) - len(program.checks)]
    if differentiable:
        g = gradient.numpy()
        pulled = backward(found, 1, [f"x{i}" for i in case.wanted])
        results += evaluate(traced(pulled, g, *arrays), [g, *arrays])
    return results


def _of_arrays(case: Case, count: int) -> Function:
    """The call as a function of so many arrays by position."""
    names = ", ".join(f"x{i}" for i in range(count))
    made: Function = eval(f"lambda {names}: ours({names})", {"ours": case.ours})
    return made


def _called(case: Case, gradient: torch.Tensor, differentiable: bool) -> list[Any]:
    leaves = _leaves(case)
    found = wf.program(_of_arrays(case, len(leaves)))(*leaves)
    results = [found.detach().numpy()]
    if differentiable:
        own = [leaves[i] for i in case.wanted]
        got = torch.autograd.grad(found, own, gradient.to(found.dtype), allow_unused=True)
        results += [np.zeros(a.shape) if g is None else g.numpy() for a, g in zip(own, got, strict=True)]
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--emulator", action="store_true")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    count = 0
    for case in cases(args.only):
        count += 1
        found = unexplained(case, emulator=args.emulator)
        if found:
            print(f"{case.name}  {found}  {[tuple(a.shape) for a in case.arrays]}")
    print(count, "samples")


if __name__ == "__main__":
    main()
