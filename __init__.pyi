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
from .compiler.program.accumulation import (
    cast as cast,
    fold as fold,
)
from .compiler.program.compositions import (
    abs as abs,
    clip as clip,
    isfinite as isfinite,
    reciprocal as reciprocal,
    sigmoid as sigmoid,
    sign as sign,
    square as square,
)
from .compiler.program.dtype_names import (
    dtype as dtype,
)
from .compiler.program.fold import (
    count as count,
    index as index,
)
from .compiler.program.functions import (
    acos as acos,
    asin as asin,
    atan as atan,
    atan2 as atan2,
    bitcast as bitcast,
    ceil as ceil,
    cos as cos,
    cosh as cosh,
    divide as divide,
    erf as erf,
    exp as exp,
    exp2 as exp2,
    expm1 as expm1,
    floor as floor,
    fma as fma,
    isinf as isinf,
    isnan as isnan,
    log as log,
    log10 as log10,
    log1p as log1p,
    log2 as log2,
    maximum as maximum,
    minimum as minimum,
    round as round,
    rsqrt as rsqrt,
    sin as sin,
    sinh as sinh,
    sqrt as sqrt,
    tan as tan,
    tanh as tanh,
    where as where,
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
from .compiler.program.symbols import (
    Sym as Sym,
)
from .runtime.api import (
    compile as compile,
    reduce as reduce,
)
from .runtime.compiled import (
    Compiled as Compiled,
    load as load,
)
from .runtime.named_reductions import (
    array_equal as array_equal,
    dot as dot,
    vecdot as vecdot,
)
from .runtime.programs.function import (
    ArrayFunction as ArrayFunction,
    program as program,
)
from .runtime.programs.library import (
    add_layer_norm as add_layer_norm,
    add_rms_norm as add_rms_norm,
    batch_norm as batch_norm,
    cross_entropy as cross_entropy,
    instance_norm as instance_norm,
    layer_norm as layer_norm,
    log_softmax as log_softmax,
    nll_loss as nll_loss,
    normalize as normalize,
    quantize as quantize,
    rms_norm as rms_norm,
    softmax as softmax,
    softmin as softmin,
    standardize as standardize,
)
from .runtime.segments import (
    segment_reduce as segment_reduce,
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
    axis: int | Sequence[int] | None = None,
    *,
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
    axis: int | Sequence[int] | None = None,
    *,
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
