"""The stage of a warp: its lanes exchange states in registers."""

from typing import Any

from ...mlir import ext
from ..base import Fold, bool_attr, check_lanes, check_result, coded, one_combine


class WarpReduceOp(Fold.Operation, name="warp_reduce"):  # type: ignore[misc]
    """Combines the states of ``lanes`` lanes that are ``stride`` lanes apart.

    ``fold.warp_reduce state {lanes, stride, ordered} ({combine})``: all these lanes get the result.
    ``ordered`` keeps lower lanes on the left.
    """

    state: ext.Operand[Any]
    result_: ext.Result[Any]
    lanes: Any
    stride: Any
    ordered: Any
    combine: ext.Region

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        check_result(op, op.operands[0].type)
        check_lanes(op)
        bool_attr(op, "ordered")

    verify_region_invariants = one_combine
