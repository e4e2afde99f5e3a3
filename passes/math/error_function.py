"""erf: near zero x + x P(x^2); beyond, 1 - exp(Q(x)), where Q fits the logarithm of 1 - erf.

The polynomials are the project's own: P interpolates at Chebyshev nodes, Q is a least-squares fit weighted by 1 - erf,
since that is what an error of Q is multiplied by.
"""

from __future__ import annotations

from typing import Any

from ...compiler.ir.mlir import arith, math
from .arithmetic import Builder, fma
from .exponential import exp

_SMALL = 0.9
_RANGE = {32: 4.0, 64: 6.0}
"""From here on erf is one."""
_NEAR = {
    32: [
        0.12837916678922237, -0.37612635193967825, 0.11283718049593898, -0.02686066479113085, 0.005204226693752301,
        -0.0008179632180888265, 8.529401322836862e-05,
    ],
    64: [
        0.1283791670955126, -0.37612638903183754, 0.112837916709551, -0.026866170645124077, 0.005223977625340751,
        -0.000854832701490715, 0.00012055332519432235, -1.4925633568608262e-05, 1.646169615878246e-06,
        -1.635866756067073e-07, 1.4723494823392752e-08, -1.1652473945294949e-09, 6.495025610302581e-11,
    ],
}  # fmt: skip
"""erf(x) / x - 1 as a polynomial in x^2, for x up to 0.9."""
_CENTRE = 1.0
_FAR = {
    32: [
        -1.8496055096797033, -2.638967504710311, -0.8431073502448406, -0.04156186034479146, 0.010042445341741585,
        -0.0020073032252569457, 0.0002870057130299832, -2.117903107164078e-05,
    ],
    64: [
        -1.8496055099332482, -2.6389675142347913, -0.8431072563584868, -0.041561098046532095, 0.010033825434574022,
        -0.0019779030218638966, 0.00023732469625715528, 2.6270477623758453e-05, -2.714153109871721e-05,
        9.578368883758579e-06, -2.0203359775168696e-06, 1.0457912132287873e-07, 1.2563527818944713e-07,
        -6.757168261498654e-08, 2.133324552455174e-08, -4.8132081229009055e-09, 7.889324163339965e-10,
        -8.981005576330456e-11, 6.355781393936757e-12, -2.102206847332258e-13,
    ],
}  # fmt: skip
"""log(1 - erf(x)) as a polynomial in x - 1, for x from 0.9 to where erf is one."""


def erf(x: Any) -> Any:
    """The error function."""
    b = Builder(x.type)
    size = math.absf(x)
    near = fma(size, b.horner(arith.mulf(size, size), _NEAR[b.format.bits]), size)
    bounded = arith.minimumf(size, b.number(_RANGE[b.format.bits]))
    rest = exp(b.horner(arith.subf(bounded, b.number(_CENTRE)), _FAR[b.format.bits]))
    far = arith.subf(b.number(1.0), rest)
    return b.with_sign(b.pick(b.test(size, "olt", _SMALL), near, far), x)
