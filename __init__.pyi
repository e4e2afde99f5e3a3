"""The public interface of warpfold for type checkers and editors. Written by ``python tests/interface.py``."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from .compiler.dtypes import (
    DType as DType,
)
from .compiler.errors import (
    WarpfoldError as WarpfoldError,
    WarpfoldWarning as WarpfoldWarning,
)
from .compiler.laws.check import (
    Laws as Laws,
    check_monoid as check_monoid,
)
from .compiler.plan.plan import (
    Plan as Plan,
)
from .compiler.program.dtype_names import (
    dtype as dtype,
)
from .compiler.program.fold import (
    count as count,
    index as index,
)
from .compiler.program.library.monoids import (
    ALL as ALL,
    ANY as ANY,
    ARGMAX as ARGMAX,
    ARGMIN as ARGMIN,
    COMPENSATED as COMPENSATED,
    LOGSUMEXP as LOGSUMEXP,
    MAX as MAX,
    MIN as MIN,
    PROD as PROD,
    SUM as SUM,
    WELFORD as WELFORD,
)
from .compiler.program.monoid import (
    Monoid as Monoid,
    monoid as monoid,
)
from .compiler.program.public_fold import (
    fold as fold,
)
from .compiler.program.structure import (
    First as First,
)
from .compiler.program.symbols import (
    Sym as Sym,
)
from .runtime.api import (
    compile as compile,
    reduce as reduce,
)
from .runtime.histograms import (
    bincount as bincount,
    histogram as histogram,
)
from .runtime.load import (
    load as load,
)
from .runtime.named_reductions import (
    array_equal as array_equal,
    dot as dot,
    vecdot as vecdot,
)
from .runtime.programs.compiled import (
    Compiled as Compiled,
)
from .runtime.programs.function import (
    ArrayFunction as ArrayFunction,
    program as program,
)
from .runtime.programs.gradients import (
    stop_gradient as stop_gradient,
    value_and_grad as value_and_grad,
    vjp as vjp,
)
from .runtime.programs.library import (
    add_layer_norm as add_layer_norm,
    add_relu as add_relu,
    add_relu_backward as add_relu_backward,
    add_rms_norm as add_rms_norm,
    batch_norm as batch_norm,
    batch_norm_backward as batch_norm_backward,
    clip_backward as clip_backward,
    cross_entropy as cross_entropy,
    cummax as cummax,
    cummin as cummin,
    cumulative_prod as cumulative_prod,
    cumulative_sum as cumulative_sum,
    dropout as dropout,
    dropout_backward as dropout_backward,
    group_norm as group_norm,
    instance_norm as instance_norm,
    layer_norm as layer_norm,
    leaky_relu as leaky_relu,
    leaky_relu_backward as leaky_relu_backward,
    log_softmax as log_softmax,
    logcumsumexp as logcumsumexp,
    nll_loss as nll_loss,
    normalize as normalize,
    quantize as quantize,
    random_bits as random_bits,
    relu as relu,
    relu_backward as relu_backward,
    rms_norm as rms_norm,
    softmax as softmax,
    softmin as softmin,
    standardize as standardize,
    topk as topk,
)
from .runtime.programs.packing import (
    pack as pack,
    unpack as unpack,
)
from .runtime.programs.scans import (
    scan as scan,
)
from .runtime.segments import (
    segment_reduce as segment_reduce,
)
from .runtime.states.calls import (
    finish as finish,
    merge as merge,
    partial as partial,
    reduce_stream as reduce_stream,
    update as update,
)
from .runtime.states.files import (
    load_state as load_state,
)
from .runtime.states.state import (
    State as State,
)
from .runtime.tuning.autotune import (
    Tuned as Tuned,
    autotune as autotune,
)
from .runtime.unique import (
    unique as unique,
)

__version__: str

def sum(
    x: Any,
    axis: int | Sequence[int] | None = None,
    *,
    dtype: object = None,
    initial: Any = None,
    accumulate: object = None,
    keepdims: bool = False,
    out: Any = None,
    where: Any = None,
    nan: str = "propagate",
    determinism: str = "run",
    device: str = "auto",
    plan: str = "",
) -> Any:
    """The sum; integers and bools widen to 64 bits, halves accumulate in f32."""

def prod(
    x: Any,
    axis: int | Sequence[int] | None = None,
    *,
    dtype: object = None,
    initial: Any = None,
    accumulate: object = None,
    keepdims: bool = False,
    out: Any = None,
    where: Any = None,
    nan: str = "propagate",
    determinism: str = "run",
    device: str = "auto",
    plan: str = "",
) -> Any:
    """The product; integers and bools widen to 64 bits, halves accumulate in f32."""

def min(
    x: Any,
    axis: int | Sequence[int] | None = None,
    *,
    initial: Any = None,
    keepdims: bool = False,
    out: Any = None,
    where: Any = None,
    nan: str = "propagate",
    determinism: str = "run",
    device: str = "auto",
    plan: str = "",
) -> Any:
    """The least element; NaN if any is NaN."""

def max(
    x: Any,
    axis: int | Sequence[int] | None = None,
    *,
    initial: Any = None,
    keepdims: bool = False,
    out: Any = None,
    where: Any = None,
    nan: str = "propagate",
    determinism: str = "run",
    device: str = "auto",
    plan: str = "",
) -> Any:
    """The greatest element; NaN if any is NaN."""

class _Minmax(NamedTuple):
    min: Any
    max: Any

def minmax(
    x: Any,
    axis: int | Sequence[int] | None = None,
    *,
    keepdims: bool = False,
    out: Any = None,
    where: Any = None,
    nan: str = "propagate",
    determinism: str = "run",
    device: str = "auto",
    plan: str = "",
) -> _Minmax:
    """The least and the greatest element, from one read."""

def ptp(
    x: Any,
    axis: int | Sequence[int] | None = None,
    *,
    keepdims: bool = False,
    out: Any = None,
    where: Any = None,
    nan: str = "propagate",
    determinism: str = "run",
    device: str = "auto",
    plan: str = "",
) -> Any:
    """The greatest element less the least; integers wrap around as NumPy's do."""

def argmin(
    x: Any,
    axis: int | Sequence[int] | None = None,
    *,
    keepdims: bool = False,
    out: Any = None,
    where: Any = None,
    nan: str = "propagate",
    determinism: str = "run",
    device: str = "auto",
    plan: str = "",
) -> Any:
    """Where the least element is: the first of equals, the first NaN if there is any."""

def argmax(
    x: Any,
    axis: int | Sequence[int] | None = None,
    *,
    keepdims: bool = False,
    out: Any = None,
    where: Any = None,
    nan: str = "propagate",
    determinism: str = "run",
    device: str = "auto",
    plan: str = "",
) -> Any:
    """Where the greatest element is: the first of equals, the first NaN if there is any."""

def any(
    x: Any,
    axis: int | Sequence[int] | None = None,
    *,
    keepdims: bool = False,
    out: Any = None,
    where: Any = None,
    nan: str = "propagate",
    determinism: str = "run",
    device: str = "auto",
    plan: str = "",
) -> Any:
    """Whether some element is not zero."""

def all(
    x: Any,
    axis: int | Sequence[int] | None = None,
    *,
    keepdims: bool = False,
    out: Any = None,
    where: Any = None,
    nan: str = "propagate",
    determinism: str = "run",
    device: str = "auto",
    plan: str = "",
) -> Any:
    """Whether no element is zero."""

def count_nonzero(
    x: Any,
    axis: int | Sequence[int] | None = None,
    *,
    keepdims: bool = False,
    out: Any = None,
    where: Any = None,
    nan: str = "propagate",
    determinism: str = "run",
    device: str = "auto",
    plan: str = "",
) -> Any:
    """How many elements are not zero."""

def mean(
    x: Any,
    axis: int | Sequence[int] | None = None,
    *,
    dtype: object = None,
    accumulate: object = None,
    keepdims: bool = False,
    out: Any = None,
    where: Any = None,
    nan: str = "propagate",
    determinism: str = "run",
    device: str = "auto",
    plan: str = "",
) -> Any:
    """The arithmetic mean; of integers in f64, of halves accumulated in f32; of nothing NaN."""

def var(
    x: Any,
    axis: int | Sequence[int] | None = None,
    *,
    correction: float = 0.0,
    dtype: object = None,
    accumulate: object = None,
    keepdims: bool = False,
    out: Any = None,
    where: Any = None,
    nan: str = "propagate",
    determinism: str = "run",
    device: str = "auto",
    plan: str = "",
) -> Any:
    """The variance with divisor ``count - correction``, by Welford's update; NaN where the divisor is not positive."""

def std(
    x: Any,
    axis: int | Sequence[int] | None = None,
    *,
    correction: float = 0.0,
    dtype: object = None,
    accumulate: object = None,
    keepdims: bool = False,
    out: Any = None,
    where: Any = None,
    nan: str = "propagate",
    determinism: str = "run",
    device: str = "auto",
    plan: str = "",
) -> Any:
    """The standard deviation: the square root of ``var``."""

class _MeanVar(NamedTuple):
    mean: Any
    var: Any

def mean_var(
    x: Any,
    axis: int | Sequence[int] | None = None,
    *,
    correction: float = 0.0,
    dtype: object = None,
    accumulate: object = None,
    keepdims: bool = False,
    out: Any = None,
    where: Any = None,
    nan: str = "propagate",
    determinism: str = "run",
    device: str = "auto",
    plan: str = "",
) -> _MeanVar:
    """The mean and the variance, from one read."""

def norm(
    x: Any,
    *,
    axis: int | Sequence[int] | None = None,
    ord: float = 2.0,
    accumulate: object = None,
    keepdims: bool = False,
    out: Any = None,
    where: Any = None,
    nan: str = "propagate",
    determinism: str = "run",
    device: str = "auto",
    plan: str = "",
) -> Any:
    """The vector norm of any order: 2, 1, 0 (how many are not zero), inf, -inf, or any p: (sum of |x|^p)^(1/p)."""

def logsumexp(
    x: Any,
    axis: int | Sequence[int] | None = None,
    *,
    keepdims: bool = False,
    out: Any = None,
    where: Any = None,
    nan: str = "propagate",
    determinism: str = "run",
    device: str = "auto",
    plan: str = "",
    b: Any = None,
) -> Any:
    """The logarithm of the sum of exponentials, without overflow; minus infinity of nothing."""

def nansum(
    x: Any,
    axis: int | Sequence[int] | None = None,
    *,
    dtype: object = None,
    initial: Any = None,
    accumulate: object = None,
    keepdims: bool = False,
    out: Any = None,
    where: Any = None,
    nan: str = "propagate",
    determinism: str = "run",
    device: str = "auto",
    plan: str = "",
) -> Any:
    """``sum`` of the elements that are not NaN."""

def nanprod(
    x: Any,
    axis: int | Sequence[int] | None = None,
    *,
    dtype: object = None,
    initial: Any = None,
    accumulate: object = None,
    keepdims: bool = False,
    out: Any = None,
    where: Any = None,
    nan: str = "propagate",
    determinism: str = "run",
    device: str = "auto",
    plan: str = "",
) -> Any:
    """``prod`` of the elements that are not NaN."""

def nanmin(
    x: Any,
    axis: int | Sequence[int] | None = None,
    *,
    initial: Any = None,
    keepdims: bool = False,
    out: Any = None,
    where: Any = None,
    nan: str = "propagate",
    determinism: str = "run",
    device: str = "auto",
    plan: str = "",
) -> Any:
    """``min`` of the elements that are not NaN."""

def nanmax(
    x: Any,
    axis: int | Sequence[int] | None = None,
    *,
    initial: Any = None,
    keepdims: bool = False,
    out: Any = None,
    where: Any = None,
    nan: str = "propagate",
    determinism: str = "run",
    device: str = "auto",
    plan: str = "",
) -> Any:
    """``max`` of the elements that are not NaN."""

def nanmean(
    x: Any,
    axis: int | Sequence[int] | None = None,
    *,
    dtype: object = None,
    accumulate: object = None,
    keepdims: bool = False,
    out: Any = None,
    where: Any = None,
    nan: str = "propagate",
    determinism: str = "run",
    device: str = "auto",
    plan: str = "",
) -> Any:
    """``mean`` of the elements that are not NaN."""

def nanargmin(
    x: Any,
    axis: int | Sequence[int] | None = None,
    *,
    keepdims: bool = False,
    out: Any = None,
    where: Any = None,
    nan: str = "propagate",
    determinism: str = "run",
    device: str = "auto",
    plan: str = "",
) -> Any:
    """``argmin`` of the elements that are not NaN."""

def nanargmax(
    x: Any,
    axis: int | Sequence[int] | None = None,
    *,
    keepdims: bool = False,
    out: Any = None,
    where: Any = None,
    nan: str = "propagate",
    determinism: str = "run",
    device: str = "auto",
    plan: str = "",
) -> Any:
    """``argmax`` of the elements that are not NaN."""

def allclose(
    x: Any,
    y: Any,
    *,
    axis: int | Sequence[int] | None = None,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
    keepdims: bool = False,
    out: Any = None,
    where: Any = None,
    nan: str = "propagate",
    determinism: str = "run",
    device: str = "auto",
    plan: str = "",
) -> Any:
    """Whether |x - y| <= atol + rtol |y| for all elements; infinities are close to themselves only."""

class _Describe(NamedTuple):
    count: Any
    nonzero: Any
    min: Any
    max: Any
    argmin: Any
    argmax: Any
    mean: Any
    var: Any
    std: Any
    norm: Any

def describe(
    x: Any,
    axis: int | Sequence[int] | None = None,
    *,
    correction: float = 0.0,
    keepdims: bool = False,
    out: Any = None,
    where: Any = None,
    nan: str = "propagate",
    determinism: str = "run",
    device: str = "auto",
    plan: str = "",
) -> _Describe:
    """What one read can tell of an array: counts, extremes and where they are, moments and the 2-norm."""

def abs(
    x: Any,
    *,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    determinism: str = "run",
) -> Any:
    """The absolute value; of the least integer that integer; of a complex number its modulus."""

def acos(
    x: Any,
    *,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    determinism: str = "run",
) -> Any:
    """The angle from 0 to pi whose cosine is ``x``, within 2 ulp; NaN beyond -1 and 1."""

def asin(
    x: Any,
    *,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    determinism: str = "run",
) -> Any:
    """The angle from -pi/2 to pi/2 whose sine is ``x``, within 2 ulp; NaN beyond -1 and 1."""

def atan(
    x: Any,
    *,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    determinism: str = "run",
) -> Any:
    """The angle from -pi/2 to pi/2 whose tangent is ``x``, within 1 ulp."""

def atan2(
    y: Any,
    x: Any,
    *,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    determinism: str = "run",
) -> Any:
    """The angle from -pi to pi of the point (x, y), within 1 ulp; signs of zeros and infinities count, as in C."""

def bitcast(
    x: Any,
    to: object,
    *,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    determinism: str = "run",
) -> Any:
    """The bits of ``x`` read as a value of type ``to``, which has as many."""

def cast(
    x: Any,
    t: object,
    *,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    determinism: str = "run",
) -> Any:
    """``x`` converted to type ``t``, in which it is then folded."""

def ceil(
    x: Any,
    *,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    determinism: str = "run",
) -> Any:
    """The least integer not below ``x``; integers are returned as they are."""

def clip(
    x: Any,
    low: Any = None,
    high: Any = None,
    *,
    keep: str | None = None,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    determinism: str = "run",
) -> Any:
    """``x`` within bounds, each of which may be left out: first not below ``low``, then not above ``high``."""

def cos(
    x: Any,
    *,
    fast: bool = False,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    determinism: str = "run",
) -> Any:
    """The cosine of an angle in radians, within 1 ulp for angles of any size."""

def cosh(
    x: Any,
    *,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    determinism: str = "run",
) -> Any:
    """The hyperbolic cosine, within 2 ulp."""

def divide(
    x: Any,
    y: Any,
    *,
    fast: bool = False,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    determinism: str = "run",
) -> Any:
    """``x / y``, correctly rounded; integers become f64."""

def erf(
    x: Any,
    *,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    determinism: str = "run",
) -> Any:
    """The error function, within 2 ulp."""

def exp(
    x: Any,
    *,
    fast: bool = False,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    determinism: str = "run",
) -> Any:
    """The exponential, within 1 ulp."""

def exp2(
    x: Any,
    *,
    fast: bool = False,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    determinism: str = "run",
) -> Any:
    """Two to the power of ``x``, within 1 ulp."""

def expm1(
    x: Any,
    *,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    determinism: str = "run",
) -> Any:
    """exp(x) - 1, within 2 ulp also near zero."""

def floor(
    x: Any,
    *,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    determinism: str = "run",
) -> Any:
    """The greatest integer not above ``x``; integers are returned as they are."""

def fma(
    a: Any,
    b: Any,
    c: Any,
    *,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    determinism: str = "run",
) -> Any:
    """``a * b + c``, rounded once; integers, where nothing rounds, are multiplied and added."""

def isfinite(
    x: Any,
    *,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    determinism: str = "run",
) -> Any:
    """Whether ``x`` is neither infinite nor NaN; true for integers."""

def isinf(
    x: Any,
    *,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    determinism: str = "run",
) -> Any:
    """Whether ``x`` is an infinity; false for integers."""

def isnan(
    x: Any,
    *,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    determinism: str = "run",
) -> Any:
    """Whether ``x`` is NaN; false for integers."""

def log(
    x: Any,
    *,
    fast: bool = False,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    determinism: str = "run",
) -> Any:
    """The natural logarithm, within 1 ulp."""

def log10(
    x: Any,
    *,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    determinism: str = "run",
) -> Any:
    """The logarithm to base ten, within 1 ulp; exact for powers of ten."""

def log1p(
    x: Any,
    *,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    determinism: str = "run",
) -> Any:
    """log(1 + x), within 1 ulp also near zero."""

def log2(
    x: Any,
    *,
    fast: bool = False,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    determinism: str = "run",
) -> Any:
    """The logarithm to base two, within 1 ulp."""

def maximum(
    a: Any,
    b: Any,
    *,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    determinism: str = "run",
) -> Any:
    """The greater; NaN if either is NaN; +0 is greater than -0."""

def minimum(
    a: Any,
    b: Any,
    *,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    determinism: str = "run",
) -> Any:
    """The lesser; NaN if either is NaN; -0 is less than +0."""

def reciprocal(
    x: Any,
    *,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    determinism: str = "run",
) -> Any:
    """``1 / x``, correctly rounded; integers become f64."""

def round(
    x: Any,
    *,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    determinism: str = "run",
) -> Any:
    """The nearest integer, of two the even one; integers are returned as they are."""

def rsqrt(
    x: Any,
    *,
    fast: bool = False,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    determinism: str = "run",
) -> Any:
    """1 / sqrt(x), within 1.5 ulp."""

def sigmoid(
    x: Any,
    *,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    determinism: str = "run",
) -> Any:
    """1 / (1 + exp(-x)), the logistic function, within 3 ulp, also where the exponential overflows."""

def sign(
    x: Any,
    *,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    determinism: str = "run",
) -> Any:
    """-1, 0 or 1 in the type of ``x``; NaN for NaN."""

def sin(
    x: Any,
    *,
    fast: bool = False,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    determinism: str = "run",
) -> Any:
    """The sine of an angle in radians, within 1 ulp for angles of any size."""

def sinh(
    x: Any,
    *,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    determinism: str = "run",
) -> Any:
    """The hyperbolic sine, within 2 ulp."""

def sqrt(
    x: Any,
    *,
    fast: bool = False,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    determinism: str = "run",
) -> Any:
    """Square root, correctly rounded."""

def square(
    x: Any,
    *,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    determinism: str = "run",
) -> Any:
    """``x * x``, rounded once."""

def tan(
    x: Any,
    *,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    determinism: str = "run",
) -> Any:
    """The tangent of an angle in radians, within 1 ulp for angles of any size."""

def tanh(
    x: Any,
    *,
    fast: bool = False,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    determinism: str = "run",
) -> Any:
    """The hyperbolic tangent, within 2 ulp."""

def where(
    condition: Any,
    a: Any,
    b: Any,
    *,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    determinism: str = "run",
) -> Any:
    """``a`` where ``condition`` holds, else ``b``: the branch-free ``if`` of a traced function."""
