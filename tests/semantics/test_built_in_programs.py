"""docs/semantics.md: built-in programs."""

from __future__ import annotations

import numpy as np
import pytest
from meanings import (
    BF16,
    F16,
    F32,
    F64,
    INF,
    NAN,
    batch_norm,
    cross_entropy,
    f32,
    layer_norm,
    log_softmax,
    normal,
    on_emulator,
    quantize,
    rms_norm,
    softmax,
)

import warpfold as wf

HALVES = (F16, BF16)


def test_arrays_are_no_axes() -> None:
    x = normal(2, 5)
    np.testing.assert_array_equal(softmax(x, 0), softmax(x, axis=0))
    np.testing.assert_array_equal(softmax(x, np.int64(0)), softmax(x, axis=0))
    np.testing.assert_array_equal(softmax(x, [0, 1]), softmax(x, axis=None))
    for name in ("softmax", "softmin", "log_softmax"):
        for axis in (x, x[0], 1.0, [0.0, 1.0]):
            for call in (on_emulator(name), wf.program(getattr(wf, name))):
                with pytest.raises(
                    TypeError, match=rf"WF277: {name} got .* as axis.*\n.*\n.*bias=: wf.{name}\(x, bias=b\)"
                ):
                    call(x, axis)


def test_weights_are_arrays() -> None:
    x, w = normal(2, 4, 5), normal(5)
    for name in ("layer_norm", "rms_norm"):
        for shape, axes in (((5,), "-1"), ([5], "-1"), (5, "-1"), ((4, 5), r"\(-2, -1\)")):
            for rest in ((), (w,), (w, w)):
                with pytest.raises(
                    TypeError, match=f"WF285: weight is of type .*: expected an array\n.*\n.*axis={axes}"
                ):
                    on_emulator(name)(x, shape, *rest)
            with pytest.raises(TypeError, match="WF285: weight"):
                wf.program(lambda x: getattr(wf, name)(x, shape))(x)  # noqa: B023
        for own in (1.0, np.float32(1), True, "a", [1.0] * 5):
            with pytest.raises(TypeError, match="WF285: weight"):
                on_emulator(name)(x, weight=own)
    for own in ({"weight": [1.0] * 4}, {"running_mean": 0.0, "running_var": w}, {"bias": 1}):
        with pytest.raises(TypeError, match="WF285: "):
            batch_norm(x, **{"training": "running_mean" not in own, **own})
    with pytest.raises(ValueError, match=r"WF124: instance_norm takes 1 input.*\n.*\n.*weight= bias="):
        wf.instance_norm(x, w, w)
    with pytest.raises(ValueError, match=r"WF124: batch_norm .*\n.*\n.*residual= training="):
        batch_norm(x, w[:4], w[:4], w[:4], w[:4], True)


def test_bits_are_arrays() -> None:
    x = normal(2, 5)
    backwards = [getattr(wf, f"{name}_backward") for name in ("relu", "add_relu", "leaky_relu", "clip", "dropout")]
    backwards.append(lambda dy, bits: wf.batch_norm_backward(dy, x, x[0], x[0], bits=bits, activation="relu"))
    for backward in backwards:
        for bits in (7, 1, 0.5, True, "bits"):
            with pytest.raises(TypeError, match=r"WF285: bits is of type .*\n.*\n.*keep='bits'"):
                backward(x, bits)
        for array in (np.bool_(True), x[:1] > 0, np.ones((3, 2, 5), bool)):
            with pytest.raises(TypeError, match="WF289: bits have shape"):
                backward(x, array)
        with pytest.raises(TypeError, match=r"WF246: a mask has elements of type f32.*\n.*\n.*mask != 0"):
            backward(x, x)
        with pytest.raises(TypeError, match="WF285: dy is of type float"):
            backward(2.0, x > 0)


def test_residuals_broadcast_to_the_array() -> None:
    x = normal(2, 5)
    for name in ("add_rms_norm", "add_layer_norm", "add_relu"):
        function = getattr(wf, name)
        for a, b in zip(function(x, x[:1]), function(x, np.broadcast_to(x[:1], x.shape)), strict=True):
            np.testing.assert_array_equal(a, b)
        with pytest.raises(TypeError, match=r"WF255: \w+ has shape \(2, 5\), which does not broadcast to \(1, 5\)"):
            function(x[:1], x)
        with pytest.raises(TypeError, match="WF285: "):
            function(x, 1.0)


def test_options_out_of_range() -> None:
    x, t = normal(2, 5), np.array([0, 1])
    for name in ("layer_norm", "rms_norm", "normalize", "standardize"):
        for eps in (-1, -1e-5, NAN, INF):
            with pytest.raises(ValueError, match=r"WF138: eps cannot be .*: expected a finite number from 0 on"):
                getattr(wf, name)(x, eps=eps)
    for name in ("softmax", "softmin", "log_softmax"):
        for dtype in ("int32", "bool", "complex64"):
            with pytest.raises(TypeError, match=f"WF278: {name} cannot have a result of type .*\n.*\n.*wf.cast"):
                getattr(wf, name)(x, dtype=dtype)
    for own in ({"z_loss": NAN}, {"z_loss": INF}, {"softcap": NAN}):
        with pytest.raises(ValueError, match=r"WF138: .*: expected a finite number"):
            cross_entropy(x, t, **own)
    for call in (wf.var, wf.standardize, wf.norm, wf.allclose):
        option = {wf.norm: "ord", wf.allclose: "rtol"}.get(call, "correction")
        with pytest.raises(ValueError, match=f"WF138: {option} cannot be nan"):
            call(*(x, x)[: 1 + (call is wf.allclose)], **{option: NAN})


def test_types_of_built_in_programs() -> None:
    x, w = normal(2, 5), normal(5, dtype=F64)
    for kind in (*HALVES, F32, F64):
        for found in (softmax(x.astype(kind), bias=w), layer_norm(x.astype(kind), w), rms_norm(x.astype(kind), w)):
            assert found.dtype == kind
        wide_kind = F64 if kind == F64 else F32
        assert cross_entropy(x.astype(kind), np.array([0, 1])).dtype == wide_kind
        output, mean, var = batch_norm(x.astype(kind), training=True)
        assert (output.dtype, mean.dtype, var.dtype) == (kind, wide_kind, wide_kind)
    assert softmax(np.arange(3)).dtype == F64


def test_one_rounding_of_halves() -> None:
    for kind in HALVES:
        x = normal(4, 40).astype(kind)
        for function in (softmax, layer_norm, rms_norm):
            exact = function(x.astype(F64)).astype(F32)
            np.testing.assert_allclose(function(x).astype(F32), exact.astype(kind).astype(F32), rtol=0.01, atol=1e-6)
            assert (function(x) == exact.astype(kind)).mean() > 0.99


def test_exponentials_of_halves() -> None:
    for kind in HALVES:
        x = (4 * normal(4, 400)).astype(kind)
        exact = np.exp(x.astype(F64) - x.astype(F64).max(1, keepdims=True)).sum(1)
        found = wf.cross_entropy(x, np.argmax(x, axis=1), reduction="none").astype(F64)
        np.testing.assert_allclose(np.exp(found), exact, rtol=2.0**-20)
        kernels = {how: wf.softmax.compile(x, determinism=how).artifact.kernels for how in ("run", "portable")}
        assert {how: "ex2.approx.ftz.f32" in k.ptx for how, (k,) in kernels.items()} == {"run": True, "portable": False}


def test_exponentials_of_halves_in_reductions() -> None:
    for kind in HALVES:
        x = (4 * normal(4, 400)).astype(kind)
        exact = np.log(np.exp(x.astype(F64)).sum(1)).astype(kind)
        for how in ("run", "portable"):
            assert (wf.logsumexp(x, axis=1, determinism=how) == exact).all()


def test_empty_rows_of_built_in_programs() -> None:
    for function in (softmax, layer_norm, rms_norm, on_emulator("standardize")):
        assert function(normal(3, 0)).shape == (3, 0)
        assert function(normal(0, 3)).shape == (0, 3)
    for call in (lambda: wf.quantize(normal(3, 0)), lambda: wf.cross_entropy(normal(3, 0), np.zeros(3, np.int64))):
        with pytest.raises(wf.WarpfoldError, match="WF104"):
            call()


def test_softmax_of_finite_elements() -> None:
    for row in ((3e38, -3e38, 3e38), (-3e38, -3e38), (88, 89, 90), (1e-45, 0, -1e-45)):
        found = softmax(f32(*row))
        assert np.isfinite(found).all()
        assert abs(found.sum() - 1) < 1e-6


def test_softmax_of_minus_infinity() -> None:
    np.testing.assert_array_equal(softmax(f32(-INF, 1, 1)), [0, 0.5, 0.5])
    assert log_softmax(f32(-INF, 1))[0] == -INF


def test_softmax_of_one_element() -> None:
    for x in (5, -3e38, 1e-45):
        assert softmax(f32(x)) == 1
        assert log_softmax(f32(x)) == 0
    assert len(set(softmax(f32(2, 2, 2)).tolist())) == 1


def test_softmax_without_a_value() -> None:
    for row in ((NAN, 1), (INF, 1), (INF, INF), (-INF, -INF)):
        assert np.isnan(softmax(f32(*row))).all()
        assert np.isnan(log_softmax(f32(*row))).all()


def test_softmax_under_a_mask() -> None:
    x, where = np.array([[1, NAN, 1, INF], [1, 2, 3, 4]], F32), np.array([[True, False, True, False], [False] * 4])
    found = softmax(x, where=where)
    assert found[0].tolist() == [0.5, 0, 0.5, 0]
    assert np.isnan(found[1]).all()


def test_norms_of_a_constant() -> None:
    x = np.full((2, 4, 3), 7, F32)
    norms = {n: on_emulator(n) for n in ("layer_norm", "instance_norm")}
    norms |= {"group_norm": lambda x, **how: on_emulator("group_norm")(x, 2, **how)}
    norms |= {"batch_norm": lambda x, **how: batch_norm(x, training=True, **how)[0]}
    for norm in norms.values():
        assert (norm(x) == 0).all()
        assert np.isnan(norm(x, eps=0.0)).all()


def test_norms_of_infinities() -> None:
    for norm in (layer_norm, rms_norm):
        assert np.isnan(norm(f32(NAN, 1, 2))).all()
    assert np.isnan(layer_norm(f32(INF, 1, 2))).all()
    np.testing.assert_array_equal(rms_norm(f32(INF, 1, 2)), [NAN, 0, 0])


def test_norms_of_great_elements() -> None:
    assert np.isfinite(layer_norm(np.array([65504, -65504, 1], np.float16))).all()
    assert np.isfinite(rms_norm(np.array([65504] * 100, np.float16))).all()
    assert np.isfinite(layer_norm(f32(1e18, -1e18, 1))).all()
    assert rms_norm(f32(1e20, 1)).tolist() == [0, 0]


def test_statistics_of_batch_norm() -> None:
    x = normal(5, 3, 4)
    _, mean, var = batch_norm(x, training=True)
    np.testing.assert_allclose(mean, x.mean((0, 2)), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(var, x.var((0, 2)), rtol=1e-5)


def test_normalize_of_zeros() -> None:
    assert on_emulator("normalize")(np.zeros((2, 3), F32)).tolist() == [[0] * 3] * 2


def test_ignored_targets() -> None:
    x, target = normal(3, 4), np.array([1, -100, 2])
    losses = cross_entropy(x, target, reduction="none")
    assert losses[1] == 0
    np.testing.assert_allclose(cross_entropy(x, target), losses.sum() / 2, rtol=1e-6)
    none = np.full(3, -100)
    assert np.isnan(cross_entropy(x, none))
    assert cross_entropy(x, none, reduction="sum") == 0


def test_targets_outside_of_the_classes() -> None:
    x, target, out = normal(3, 4), np.array([1, 4, -1]), np.zeros(3, F32)
    assert np.isnan(cross_entropy(x, target, reduction="none")).tolist() == [False, True, True]
    with pytest.raises(wf.WarpfoldError, match="WF189"):
        cross_entropy(x, target, reduction="none", check=True, out=out)
    assert out[0] != 0


def test_losses_of_far_logits() -> None:
    x, target = np.round(normal(4, 5) * 8) / 8, np.array([0, 1, 2, 3])
    far = x + F32(2.0**20)
    assert np.array_equal(cross_entropy(far, target, reduction="none"), cross_entropy(x, target, reduction="none"))


def test_z_loss_is_not_weighted() -> None:
    x, target, weight = normal(3, 4), np.array([0, 1, 2]), f32(2, 2, 2, 2)
    plain, both = (cross_entropy(x, target, weight, reduction="none", z_loss=z) for z in (0.0, 0.5))
    squares = on_emulator("logsumexp")(x, 1) ** 2
    np.testing.assert_allclose(both - plain, 0.5 * squares, rtol=1e-5)


def test_scales_of_finite_rows() -> None:
    x = np.array([[0, 0], [1e-45, 0], [3.4e38, 1], [1e-38, -1e-38], [-2, 1]], F32)
    for to in ("float8_e4m3fn", "float8_e5m2", "int8"):
        q, scale = quantize(x, to)
        assert scale[0] == 1
        assert (scale >= 2.0**-126).all()
        assert np.isfinite(scale).all()
        assert np.isfinite(q.astype(F32)).all()
        assert q[0].astype(F32).tolist() == [0, 0]


def test_scales_of_other_rows() -> None:
    for to in ("float8_e4m3fn", "int8"):
        _, scale = quantize(np.array([[NAN, 1], [INF, 1], [-INF, INF]], F32), to)
        assert np.isnan(scale[0])
        assert (scale[1:] == INF).all()


def test_nearest_8_bit_numbers() -> None:
    halves = np.arange(-127, 127, dtype=F32) + F32(0.5)
    q, scale = quantize(np.append(halves, F32(127)), "int8")
    assert scale == 1
    np.testing.assert_array_equal(q[:-1], np.rint(halves))
    assert quantize(f32(-300, 300), "int8")[0].tolist() == [-127, 127]
    x = np.append(normal(500, seed=2) * 100, F32(448))
    q, _ = quantize(x)
    np.testing.assert_array_equal(q, x.astype(q.dtype))


def test_factors_of_exponentials() -> None:
    logsumexp = on_emulator("logsumexp")
    assert logsumexp(f32(NAN, INF, 3), b=f32(0, 0, 1)) == 3
    assert np.isnan(logsumexp(f32(1, 2), b=f32(1, -1)))
    np.testing.assert_allclose(logsumexp(f32(1, 2), b=f32(-1, 1)), np.log(np.e**2 - np.e), rtol=1e-6)


def test_out_in_place() -> None:
    x = normal(3, 40)
    expected = softmax(x)
    assert softmax(x, out=x) is x
    assert np.array_equal(x, expected)
    memory = normal(3, 41)
    with pytest.raises(wf.WarpfoldError, match="WF186"):
        softmax(memory[:, 1:], out=memory[:, :-1])


def test_empty_training_batches() -> None:
    mean, var = np.full(3, 2.0), np.full(3, 5.0)
    found = wf.batch_norm(np.zeros((0, 3)), mean, var, training=True, device="emulator")
    assert found.output.shape == (0, 3)
    assert (mean.tolist(), var.tolist()) == ([2.0] * 3, [5.0] * 3)
