"""Logarithm, sine and cosine for compiled loops: without branches, so that they are computed for many numbers at once.

They replace ``np.log``, ``np.sin`` and ``np.cos``.

    log(2^e (1 + f)) = e log 2 + f - s (f - z R(z)),    s = f / (2 + f), z = s^2,

since log(1 + f) = 2 artanh(s) = 2 s + s z R(z) and f - 2 s = f s, with sqrt(1/2) <= 1 + f < sqrt(2);

    sin a = a + a z S(z),    cos a = 1 - z / 2 + z^2 C(z),    z = a^2, |a| <= pi / 4.

R, S and C are polynomials that are right at Chebyshev's nodes. Results are within 1.5 units in the last place (a test
compares them with more digits). Those of one number are the same bits whatever it is computed with.
"""

from __future__ import annotations

import numpy as np

from .compiler import compiled, fma

F, I = np.float32, np.int32
D, L = np.float64, np.int64

_LOG_SINGLE = (F(0.6666668509542907), F(0.39988757716604845), F(0.29580985929974424))
_SIN_SINGLE = (F(-0.1666666466231438), F(0.008332748270629749), F(-0.00019587890880412386))
_COS_SINGLE = (F(0.04166666465950221), F(-0.0013888303035894866), F(2.4547942085071572e-05))
_LOG_DOUBLE = (0.666666666666667, 0.3999999999989889, 0.28571428626253836, 0.22222211089379496, 0.1818289243253687,
               0.15331611722055008, 0.14617807153417325)  # fmt: skip
_SIN_DOUBLE = (-0.16666666666666666, 0.008333333333330948, -0.00019841269836758574, 2.755731610255244e-06,
               -2.5051131845003624e-08, 1.5918129294866608e-10)  # fmt: skip
_COS_DOUBLE = (0.041666666666666664, -0.0013888888888887398, 2.480158729876569e-05, -2.7557317271729793e-07,
               2.08761462684032e-09, -1.1382632425521717e-11)  # fmt: skip
_TWO_SINGLE, _TWO_DOUBLE = F(np.log(2)), float(np.log(2))
_ROOT_SINGLE = I(F(0.5**0.5).view(I))
_ROOT_DOUBLE = L(D(0.5**0.5).view(L))


@compiled
def log_single(u: np.float32) -> np.float32:
    """log u of a normal float32 u > 0."""
    bits = F(u).view(I)
    exponent = I(I(bits - _ROOT_SINGLE) >> I(23))
    f = I(bits - I(exponent << I(23))).view(F) - F(1)
    s = f / (F(2) + f)
    z = s * s
    r = z * fma(z, fma(z, _LOG_SINGLE[2], _LOG_SINGLE[1]), _LOG_SINGLE[0])
    return fma(F(exponent), _TWO_SINGLE, fma(-s, f - r, f))


@compiled
def log_double(u: float) -> float:
    """log u of a normal float64 u > 0."""
    bits = D(u).view(L)
    exponent = (bits - _ROOT_DOUBLE) >> L(52)
    f = L(bits - (exponent << L(52))).view(D) - 1.0
    s = f / (2.0 + f)
    z = s * s
    c = _LOG_DOUBLE
    r = z * fma(z, fma(z, fma(z, fma(z, fma(z, fma(z, c[6], c[5]), c[4]), c[3]), c[2]), c[1]), c[0])
    return fma(D(exponent), _TWO_DOUBLE, fma(-s, f - r, f))


@compiled
def sin_single(a: np.float32) -> np.float32:
    """sin a of a float32 with |a| <= pi / 4."""
    z = a * a
    return fma(a, z * fma(z, fma(z, _SIN_SINGLE[2], _SIN_SINGLE[1]), _SIN_SINGLE[0]), a)


@compiled
def cos_single(a: np.float32) -> np.float32:
    """cos a of a float32 with |a| <= pi / 4."""
    z = a * a
    rest = fma(z, fma(z, _COS_SINGLE[2], _COS_SINGLE[1]), _COS_SINGLE[0])
    return fma(z * z, rest, fma(F(-0.5), z, F(1)))


@compiled
def sin_double(a: float) -> float:
    """sin a of a float64 with |a| <= pi / 4."""
    z, c = a * a, _SIN_DOUBLE
    return fma(a, z * fma(z, fma(z, fma(z, fma(z, fma(z, c[5], c[4]), c[3]), c[2]), c[1]), c[0]), a)


@compiled
def cos_double(a: float) -> float:
    """cos a of a float64 with |a| <= pi / 4."""
    z, c = a * a, _COS_DOUBLE
    rest = fma(z, fma(z, fma(z, fma(z, fma(z, c[5], c[4]), c[3]), c[2]), c[1]), c[0])
    return fma(z * z, rest, fma(-0.5, z, 1.0))
