#!/usr/bin/env python3
"""Fits the polynomials of math-inl.h: Remez exchange in 60 digits, coefficients then rounded
(the first `round_first` one at a time, each rounding made good by those still free). Prints C++ initialisers and the maximum weighted error.
Needs mpmath. Usage: fit_polynomials.py [name]"""
import struct
import sys

import mpmath as mp

mp.mp.dps = 60


def round_to(value, bits):
    """value rounded to a float of 24 or 53 bits."""
    return mp.mpf(struct.unpack("f", struct.pack("f", float(value)))[0]) if bits == 24 else mp.mpf(float(value))


def remez(f, weight, lo, hi, powers, fixed):
    """Minimises max |weight * (f - sum c_k x^k)| over [lo, hi]; `fixed` maps a power to its given coefficient."""
    n = len(powers)
    if n == 0:
        return {}, None
    rest = lambda x: f(x) - sum(c * x**k for k, c in fixed.items())
    mid, half = (mp.mpf(lo) + hi) / 2, (mp.mpf(hi) - lo) / 2
    grid = [mid - half * mp.cos(mp.pi * i / 600) for i in range(601)]
    values = [(x, rest(x), max(weight(x), mp.mpf("1e-9"))) for x in grid]
    index = [round(600 * i / n) for i in range(n + 1)]
    coefficients = None
    for _ in range(12):
        a, b = mp.matrix(n + 1, n + 1), mp.matrix(n + 1, 1)
        for row, i in enumerate(index):
            x, y, w = values[i]
            for col, k in enumerate(powers):
                a[row, col] = x**k
            a[row, n] = (-1) ** row / w
            b[row] = y
        solution = mp.lu_solve(a, b)
        coefficients = {k: solution[j] for j, k in enumerate(powers)}
        errors = [w * (y - sum(c * x**k for k, c in coefficients.items())) for x, y, w in values]
        # One extremum per run of equal sign; drop the smallest ends until n + 1 are left.
        runs = []
        for i, e in enumerate(errors):
            if runs and (e >= 0) == (errors[runs[-1]] >= 0):
                if abs(e) > abs(errors[runs[-1]]):
                    runs[-1] = i
            else:
                runs.append(i)
        while len(runs) > n + 1:
            runs.pop(0 if abs(errors[runs[0]]) < abs(errors[runs[-1]]) else -1)
        if len(runs) < n + 1 or runs == index:
            break
        index = runs
    return coefficients, max(abs(e) for e in errors)


def fit(name, f, weight, lo, hi, degree, bits, round_first=0):
    """Prints a polynomial of the given degree."""
    powers = list(range(degree + 1))
    fixed, best = {}, None
    for count in range(min(round_first, len(powers))):
        free = [k for k in powers if k not in fixed]
        coefficients, error = remez(f, weight, lo, hi, free, fixed)
        best = best or error
        fixed[free[0]] = round_to(coefficients[free[0]], bits)
    free = [k for k in powers if k not in fixed]
    coefficients, error = remez(f, weight, lo, hi, free, fixed)
    best = best or error
    for k in free:
        fixed[k] = round_to(coefficients[k], bits)
    grid = [mp.mpf(lo) + (mp.mpf(hi) - lo) * i / 2000 for i in range(2001)]
    error = max(abs(weight(x) * (f(x) - sum(c * x**k for k, c in fixed.items()))) for x in grid)
    text = ", ".join(("%.9gf" if bits == 24 else "%.17g") % float(fixed[k]) for k in powers)
    print(f"// {name}: degree {degree}, error 2^{float(mp.log(error, 2)):.1f} (before rounding 2^{float(mp.log(best, 2)):.1f})")
    print("{" + text + "}\n", flush=True)


LN2 = mp.log(2) / 2 * mp.mpf("1.0005")
TINY = mp.mpf(10) ** -20


def off_zero(x):
    return x if abs(x) > TINY else TINY


def exp_tail(x):  # (e^x - 1 - x) / x^2
    if abs(x) < mp.mpf("1e-8"):
        return mp.mpf(1) / 2 + x / 6
    return (mp.expm1(x) - x) / x**2


def log_tail(x):  # (log(1 + x) - x + x^2 / 2) / x^3
    if abs(x) < mp.mpf("1e-8"):
        return mp.mpf(1) / 3 - x / 4
    return (mp.log1p(x) - x + x * x / 2) / x**3


def atanh_tail(z):  # R in log(1 + f) = f - (f^2/2 - s (f^2/2 + R)), s = f / (2 + f), as a function of z = s^2
    s = mp.sqrt(off_zero(z))
    return (mp.log((1 + s) / (1 - s)) / s - 2) / s**2


def sin_tail(z):  # (sin r - r) / r^3 in z = r^2
    r = mp.sqrt(max(z, mp.mpf("1e-14")))
    return (mp.sin(r) - r) / r**3


def cos_tail(z):  # (cos r - 1 + r^2 / 2) / r^4 in z = r^2
    r = mp.sqrt(max(z, mp.mpf("1e-8")))
    return (mp.cos(r) - 1 + r * r / 2) / r**4


def erf_head(z):  # erf(x) / x - 1 in z = x^2
    x = mp.sqrt(max(z, TINY))
    return mp.erf(x) / x - 1


def erfcx(t):  # e^(x^2) erfc(x) (x + 2) at x = 2 (1 + t) / (1 - t), the inverse of t = (x - 2) / (x + 2)
    x = 2 * (1 + t) / (1 - t)
    return mp.exp(x * x) * mp.erfc(x) * (x + 2)


def erfc_exponent(x):  # -log(erfc x)
    return -mp.log(mp.erfc(x))


JOBS = {
    "exp32": lambda: fit("exp f32", exp_tail, lambda x: x * x, -LN2, LN2, 4, 24),
    "exp64": lambda: fit("exp f64", exp_tail, lambda x: x * x, -LN2, LN2, 9, 53),
    "expm1_32": lambda: fit("expm1 f32", exp_tail, abs, -LN2, LN2, 5, 24),
    "expm1_64": lambda: fit("expm1 f64", exp_tail, abs, -LN2, LN2, 10, 53),
    "log32": lambda: fit("log f32", log_tail, lambda x: x * x, -mp.mpf(1) / 3, mp.mpf(1) / 3, 7, 24),
    "log64": lambda: fit("log f64", atanh_tail, lambda z: z, 0, mp.mpf("0.0401"), 7, 53),
    "sin32": lambda: fit("sin f32", sin_tail, lambda z: z, 0, mp.mpf("0.6175"), 2, 24),
    "sin64": lambda: fit("sin f64", sin_tail, lambda z: z, 0, mp.mpf("0.6175"), 5, 53),
    "cos32": lambda: fit("cos f32", cos_tail, lambda z: z * z, 0, mp.mpf("0.6175"), 2, 24),
    "cos64": lambda: fit("cos f64", cos_tail, lambda z: z * z, 0, mp.mpf("0.6175"), 5, 53),
    "erf32": lambda: fit("erf head f32", erf_head, lambda z: 1, 0, 1, 6, 24, 3),
    "erf64": lambda: fit("erf head f64", erf_head, lambda z: 1, 0, 1, 11, 53),
    "erfcexp32": lambda: fit("erfc exponent f32", erfc_exponent, mp.erfc, mp.mpf("0.98"), mp.mpf("4.0"), 7, 24, 3),
    "erfcx32": lambda: fit("erfcx f32", erfcx, lambda t: 1 / erfcx(t), -1, mp.mpf("0.68"), 10, 24, 3),
    "erfcx64": lambda: fit("erfcx f64", erfcx, lambda t: 1 / erfcx(t), -1, mp.mpf("0.865"), 26, 53),
}

if __name__ == "__main__":
    for job in sys.argv[1:] or JOBS:
        JOBS[job]()
