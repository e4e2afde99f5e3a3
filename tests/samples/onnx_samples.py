"""The node tests of ONNX, for the operators that are here, too: one node each, with its inputs and outputs."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from onnx import helper
from onnx.backend.test.loader import load_model_tests

sys.path.insert(0, str(Path(__file__).parents[1] / "compiler"))
from array_programs import traced

import warpfold as wf
from warpfold.commands.checking.array_values import evaluate

Function = Callable[..., Any]
Attributes = dict[str, Any]


class UnservedError(Exception):
    """There is no such call here; the text says what it asks for."""


class Case(NamedTuple):
    """One node: its name, what makes our call, its arrays, and its outputs."""

    name: str
    call: Function
    arrays: list[Any]
    outputs: list[Any]


def _elementwise(function: Function) -> Function:
    return lambda own, fixed: function


def _folded(function: Function) -> Function:
    """A reduction over the axes of an attribute, or of an input that is known."""

    def made(own: Attributes, fixed: list[Any]) -> Function:
        axes = own.get("axes", fixed[0].tolist() if fixed else None)
        if not axes:
            axes = () if own.get("noop_with_empty_axes") else None
        return lambda x: function(x, axis=axes if axes is None else tuple(axes), keepdims=bool(own.get("keepdims", 1)))

    return made


def _found(function: Function) -> Function:
    def made(own: Attributes, fixed: list[Any]) -> Function:
        if own.get("select_last_index"):
            raise UnservedError("the last of equal elements")
        return lambda x: function(x, axis=own.get("axis", 0), keepdims=bool(own.get("keepdims", 1)))

    return made


def _several(join: Function, *, mean: bool = False) -> Function:
    def made(own: Attributes, fixed: list[Any]) -> Function:
        def call(*xs: Any) -> Any:
            found = xs[0]
            for x in xs[1:]:
                found = join(found, x)
            return found / float(len(xs)) if mean else found

        return call

    return made


def _shares(function: Function) -> Function:
    return lambda own, fixed: lambda x: function(x, axis=own.get("axis", -1))


def _rows(function: Function) -> Function:
    """A norm of the axes from one on."""

    def made(own: Attributes, fixed: list[Any]) -> Function:
        first, eps = own.get("axis", -1), own.get("epsilon", 1e-5)

        def call(x: Any, *weights: Any) -> Any:
            axes = tuple(range(first % len(x.shape), len(x.shape)))
            return function(x, *weights, axis=axes, eps=eps)

        return call

    return made


def _cumulative(own: Attributes, fixed: list[Any]) -> Function:
    (axis,) = fixed
    if own.get("exclusive"):
        return lambda x: wf.scan(x, "sum", axis=int(axis), exclusive=True, reverse=bool(own.get("reverse")))
    return lambda x: wf.cumulative_sum(x, axis=int(axis), reverse=bool(own.get("reverse")))


def _chosen(own: Attributes, fixed: list[Any]) -> Function:
    k = int(fixed[0][0])
    return lambda x: tuple(wf.topk(x, k, axis=own.get("axis", -1), largest=bool(own.get("largest", 1))))


def _loss(function: Function) -> Function:
    def made(own: Attributes, fixed: list[Any]) -> Function:
        how = {"reduction": own.get("reduction", b"mean").decode()}
        if "ignore_index" in own:
            how["ignore_index"] = own["ignore_index"]
        return lambda x, target, *weight: function(x, target, *weight, axis=1, **how)

    return made


def _instance_norm(own: Attributes, fixed: list[Any]) -> Function:
    return lambda x, w, b: wf.instance_norm(x, weight=w, bias=b, eps=own.get("epsilon", 1e-5))


def _batch_norm(own: Attributes, fixed: list[Any]) -> Function:
    if own.get("training_mode"):
        raise UnservedError("a running variance that is biased")
    return lambda x, scale, bias, mean, var: wf.batch_norm(x, mean, var, scale, bias, eps=own.get("epsilon", 1e-5))


def _norm(own: Attributes, fixed: list[Any]) -> Function:
    return lambda x: wf.normalize(x, p=float(own.get("p", 2)), axis=own.get("axis", -1))


def _clipped(own: Attributes, fixed: list[Any]) -> Function:
    names = [n for n, given in zip(("low", "high"), own["inputs"][1:], strict=False) if given]
    return lambda x, *bounds: wf.clip(x, **dict(zip(names, bounds, strict=True)))


def _isinf(own: Attributes, fixed: list[Any]) -> Function:
    signs = [s for s, name in ((math.inf, "detect_positive"), (-math.inf, "detect_negative")) if own.get(name, 1)]
    if len(signs) == 2:
        return wf.isinf
    return lambda x: x == signs[0] if signs else x != x


def _mod(own: Attributes, fixed: list[Any]) -> Function:
    if own.get("fmod"):
        raise UnservedError("fmod")
    return lambda x, y: x % y


def _l1(x: Any, **how: Any) -> Any:
    return wf.sum(wf.abs(x), **how)


NODES: dict[str, Function] = {
    **{name: _elementwise(getattr(wf, name.lower())) for name in [
    "Abs", "Acos", "Asin", "Atan", "Ceil", "Cos", "Cosh", "Erf", "Exp", "Floor", "IsNaN", "Log", "Reciprocal",
    "Round", "Sigmoid", "Sign", "Sin", "Sinh", "Sqrt", "Tan", "Tanh", "Relu", "Where",
]},
    "Neg": _elementwise(lambda x: -x), "Not": _elementwise(lambda x: ~x), "Mod": _mod, "IsInf": _isinf,
    "Add": _several(lambda x, y: x + y), "Sub": _several(lambda x, y: x - y), "Mul": _several(lambda x, y: x * y),
    "Sum": _several(lambda x, y: x + y), "Mean": _several(lambda x, y: x + y, mean=True),
    "Max": _several(wf.maximum), "Min": _several(wf.minimum), "Div": _several(lambda x, y: x / y),
    "And": _several(lambda x, y: x & y), "Or": _several(lambda x, y: x | y), "Xor": _several(lambda x, y: x ^ y),
    "BitwiseAnd": _several(lambda x, y: x & y), "BitwiseOr": _several(lambda x, y: x | y),
    "BitwiseXor": _several(lambda x, y: x ^ y), "BitwiseNot": _elementwise(lambda x: ~x),
    "Equal": _several(lambda x, y: x == y), "Less": _several(lambda x, y: x < y),
    "LessOrEqual": _several(lambda x, y: x <= y), "Greater": _several(lambda x, y: x > y),
    "GreaterOrEqual": _several(lambda x, y: x >= y),
    "ReduceSum": _folded(wf.sum), "ReduceProd": _folded(wf.prod), "ReduceMean": _folded(wf.mean),
    "ReduceMax": _folded(wf.max), "ReduceMin": _folded(wf.min), "ReduceLogSumExp": _folded(wf.logsumexp),
    "ReduceL1": _folded(_l1), "ReduceL2": _folded(wf.norm),
    "ReduceLogSum": _folded(lambda x, **how: wf.log(wf.sum(x, **how))),
    "ReduceSumSquare": _folded(lambda x, **how: wf.sum(x * x, **how)),
    "ArgMax": _found(wf.argmax), "ArgMin": _found(wf.argmin), "CumSum": _cumulative, "TopK": _chosen,
    "Softmax": _shares(wf.softmax), "LogSoftmax": _shares(wf.log_softmax), "Clip": _clipped,
    "LeakyRelu": lambda own, fixed: lambda x: wf.leaky_relu(x, negative_slope=own.get("alpha", 0.01)),
    "LayerNormalization": _rows(wf.layer_norm), "RMSNormalization": _rows(wf.rms_norm),
    "InstanceNormalization": _instance_norm,
    "GroupNormalization": lambda own, fixed: lambda x, *w: wf.group_norm(
        x, own["num_groups"], *w, eps=own.get("epsilon", 1e-5)
    ),
    "BatchNormalization": _batch_norm, "LpNormalization": _norm,
    "NegativeLogLikelihoodLoss": _loss(wf.nll_loss), "SoftmaxCrossEntropyLoss": _loss(wf.cross_entropy),
    "Pow": _several(lambda x, y: x**y),
}  # fmt: skip
"""By the name of an operator what makes our call of its attributes and of the inputs that are known."""
KNOWN = {"CumSum": 1, "TopK": 1, **{name: 1 for name in NODES if name.startswith("Reduce")}}
"""The inputs of an operator from which on they are no arrays here, such as axes."""


def cases() -> Iterator[Case]:
    """The nodes, in the order of their names; those of calls that are not here are left out."""
    for own in load_model_tests(kind="node"):
        nodes = own.model.graph.node
        if len(nodes) != 1 or nodes[0].op_type not in NODES:
            continue
        node = nodes[0]
        attributes = {"inputs": node.input, **{a.name: helper.get_attribute_value(a) for a in node.attribute}}
        for inputs, outputs in own.data_sets:
            if any(
                not isinstance(x, np.ndarray | np.generic) or x.dtype.kind not in "fiub" for x in (*inputs, *outputs)
            ):
                continue
            if node.op_type == "Div" and inputs[0].dtype.kind in "iu":
                continue  # of integers towards zero, where Python's operator gives a fraction
            first = KNOWN.get(node.op_type, len(inputs))
            try:
                call = NODES[node.op_type](attributes, list(inputs[first:]))
            except UnservedError:
                continue
            yield Case(own.name, call, [np.asarray(x) for x in inputs[:first]], list(outputs))


def difference(case: Case) -> str:
    """What the call here has that the node has not; empty if they agree."""
    names = ", ".join(f"x{i}" for i in range(len(case.arrays)))
    call: Function = eval(f"lambda {names}: call({names})", {"call": case.call})
    program = traced(call, *case.arrays)
    found = evaluate(program, case.arrays)[: len(program.outputs) - len(program.checks)]
    for got, want in zip(found, case.outputs, strict=False):
        if np.shape(got) != np.shape(want):
            return f"shape {np.shape(got)}, and {np.shape(want)} in ONNX"
        if not np.allclose(got, want.astype(np.float64), rtol=1e-3, atol=1e-6, equal_nan=True):
            return f"{np.ravel(got)[:4]}, and {np.ravel(want)[:4]} in ONNX"
    return ""


def main() -> None:
    count = 0
    for case in cases():
        count += 1
        found = difference(case)
        if found:
            print(f"{case.name}  {found}  {[(a.shape, a.dtype.name) for a in case.arrays]}")
    print(count, "nodes")


if __name__ == "__main__":
    main()
