"""The program cases of the benchmark, in the groups that ``--cases`` names."""

from __future__ import annotations

from .case import ProgramCase, parse


def _all(text: str) -> dict[str, ProgramCase]:
    found = {name: parse(name) for name in text.split()}
    return {name: case for name, case in found.items() if case}


STANDARD = _all("""
    softmax.f32.1048576x64 softmax.f32.32768x1024 softmax.bf16.32768x4096 softmax.bf16.16384x32768
    softmax.bf16.4096x131072 softmax.f32.8191x8191 softmax.bf16.64x1048576 softmax.bf16.12x128x1000x77
    softmax0.f32.8192x8192 softmax1.f32.64x256x56x56 log_softmax.bf16.8192x32000
    layernorm.bf16.32768x4096 layernorm.bf16.32768x8192 layernorm.f32.65536x768 layernorm.bf16.50000x1000
    rmsnorm.bf16.32768x4096 rmsnorm.bf16.8192x32768 rmsnorm.f32.4096x5000 add_rmsnorm.bf16.32768x4096
    quant_fp8.bf16.32768x4096 cross_entropy.bf16.8192x32000 cross_entropy.bf16.4096x131072
    groupnorm.f32.64x256x56x56 batchnorm.f32.64x256x56x56 batchnorm_nhwc.bf16.64x256x56x56
    var_norm_cols.f32.65536x1024
""")
"""The shapes for which the peers were built, and some that they serve badly."""
SHAPES = _all("""
    softmax.bf16.32768x4097 softmax.f32.65536x1001 softmax.bf16.8192x32003 softmax.f16.131072x509
    softmax.f64.8191x4097 log_softmax.f32.8191x8191 layernorm.bf16.32768x4097 layernorm.f32.65536x769
    rmsnorm.bf16.32768x4095 rmsnorm.bf16.8192x32001 add_rmsnorm.bf16.32768x4099 quant_fp8.bf16.65536x2047
    cross_entropy.bf16.8192x50257 cross_entropy.f32.8191x8191 logsumexp.bf16.8192x32001
    softmax.bf16.16x4M softmax.f32.64x1M softmax.bf16.132x262144 softmax.f32.1x64M log_softmax.bf16.64x1M
    layernorm.bf16.64x1M rmsnorm.f32.8x8M cross_entropy.bf16.64x1M logsumexp.f32.64x1M
    softmax0.bf16.8192x8192 softmax0.f32.1Mx64 softmax0.f32.64x1M softmax1.bf16.64x1024x1024 softmax1.f32.32x21x512x512
    softmax23.f32.64x256x56x56 log_softmax1.bf16.32x21x512x512 layernorm1.f32.64x256x56x56 layernorm0.bf16.8192x8192
    rmsnorm0.f32.4096x16384 standardize0.f32.8191x8191
    softmax.bf16.8x16x1024x1024 softmax.f16.64x12x577x577 layernorm.bf16.64x577x1024 rmsnorm.bf16.16x2048x4096
    softmax.f32.16Mx3 softmax.f32.4Mx10 softmax.bf16.1Mx197 softmax.f32.1Mx100 softmax.bf16.4Mx33
    layernorm.f32.1Mx32 layernorm.f32.1Mx96 rmsnorm.bf16.1Mx128 log_softmax.f32.4Mx10 cross_entropy.f32.4Mx10
    softmin.f32.32768x1024 standardize.f32.65536x1000 groupnorm.bf16.16x320x64x64 batchnorm.f32.65536x1024
    quant_fp8.f32.65536x1024
    softmax.f32.64x1024 softmax.bf16.64x1024 softmax.f32.8x128 log_softmax.f32.64x1000 layernorm.bf16.64x1024
    layernorm.f32.1x4096 rmsnorm.bf16.1x4096 rmsnorm.bf16.64x4096 cross_entropy.f32.64x1000
""")
"""Odd lengths, few long rows, other axes, more dims, short rows, and small arrays."""
MASKS = _all("""
    relu.f32.128M relu_bits.f32.128M relu_backward.f32.128M add.f32.128M add_relu.f32.128M add_relu_bits.f32.128M
    where.f32.128M relu.bf16.128M relu_bits.bf16.128M relu_backward.bf16.128M add_relu_bits.bf16.128M
    relu_bits.f32.134217x1000 relu_backward.f32.134217x1000 relu_bits.bf16.8191x8191 relu.bf16.64x256x56x56
    where.bf16.32768x4096
    batchnorm.f32.64x256x56x56 batchnorm_relu.f32.64x256x56x56 batchnorm_relu.bf16.64x256x56x56
    batchnorm_nhwc.bf16.64x256x56x56 batchnorm_relu_nhwc.bf16.64x256x56x56
    relu.f32.134217x1000 relu.bf16.8191x8191 add_relu.bf16.128M
    dropout.f32.128M dropout.bf16.128M dropout_backward.f32.128M dropout_backward.bf16.128M
    count_nonzero.bit.4096M array_equal.bit.4096M
    sum.f32.128M sum_where.f32.128M sum.bf16.128M sum_where.bf16.128M
    batchnorm_running_relu.f32.64x256x56x56 batchnorm_add_relu.f32.64x256x56x56
    batchnorm_relu_bwd.f32.64x256x56x56 batchnorm_add_relu_backward.f32.64x256x56x56
    batchnorm_running_relu_nhwc.bf16.64x256x56x56 batchnorm_add_relu_nhwc.bf16.64x256x56x56
    batchnorm_relu_nhwc_bwd.bf16.64x256x56x56 batchnorm_add_relu_backward_nhwc.bf16.64x256x56x56
""")
"""Masks as bits, elementwise programs, and batch norms with a ReLU."""
FUSED = STANDARD | SHAPES | MASKS
BACKWARD = _all("""
    softmax_bwd.bf16.32768x4096 softmax_bwd.f32.8191x8191 layernorm_bwd.bf16.32768x4096 layernorm_bwd.f32.65536x768
    rmsnorm_bwd.bf16.32768x4096 cross_entropy_fwdbwd.bf16.8192x32000 batchnorm_relu_bwd.f32.64x256x56x56
    relu_backward.f32.128M
    softmax_bwd.f32.32768x1024 softmax_bwd0.f32.8192x8192 log_softmax_bwd.bf16.8192x32000
    layernorm_bwd.bf16.50000x1000 layernorm_bwd.bf16.16384x8192 rmsnorm_bwd.f32.4096x5000
    add_rmsnorm_bwd.bf16.32768x4096 groupnorm_bwd.f32.64x256x56x56 batchnorm_bwd.f32.64x256x56x56
    batchnorm_nhwc_bwd.bf16.64x256x56x56 cross_entropy_fwdbwd.f32.8191x8191
""")
"""Gradients: first those of the shapes for which the peers were built, then odd lengths, other axes and channels."""
SCANS = _all("""
    cumsum.f32.256M cumsum.bf16.128M cumsum.f64.64M cumsum.f32.16M cumsum.f32.1M cumsum.f32.10000019
    cumsum.f32.4096x32000 cumsum.bf16.32768x4096 cumsum.f32.65536x1024 cumsum.f32.1Mx64 cumsum.f32.4096x8191
    cumsum.f32.300x100000 cumsum.f32.16x4M
    cumsum0.f32.8192x8192 cumsum0.f32.131072x512 cumsum0.bf16.8192x8192 cumsum0.f32.1Mx8 cumsum1.f32.64x1024x1024
    cummax.f32.256M cummax0.f32.8192x8192 logcumsumexp.f32.4096x32000 recurrence.f32.128M recurrence.f32.4096x16000
""")
"""Scans: along one axis, of rows and of columns, and the linear recurrence h = a h + b."""
CHOSEN = _all("""
    topk.f32.64M topk.f32.4096x32000 topk.f32.65536x1024 topk.f32.1Mx64 topk.f32.4096x4095 topk.bf16.4096x32000
    topk.f64.8192x8192 topk0.f32.8192x8192 topk0.bf16.8192x8192 topk1.f32.300x1000x100
""")
"""The greatest elements of rows and columns."""
BACKWARD_GOAL = 1.18
"""How many times as fast as the best peers they should be, as a geometric mean."""
