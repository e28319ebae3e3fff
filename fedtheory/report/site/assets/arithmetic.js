// Two arithmetics with one face: plain floating point, and numbers m 2^e without limits of range.
"use strict";
const Arithmetic = (() => {
  const LOG_2 = Math.log(2);
  const TINY = 2.2250738585072014e-308;

  // Plain floating point. `left` says whether an operation left the range of ordinary floats.
  const plain = { left: false };
  const watched = (result, ...operands) => {
    if (!Number.isFinite(result) ? !Number.isNaN(result) && operands.every(Number.isFinite)
      : Math.abs(result) < TINY && operands.every((x) => x !== 0 && Number.isFinite(x))) plain.left = true;
    return result;
  };
  const power = (base, exponent) => {
    if (exponent === 0.5) return Math.sqrt(base);
    if (exponent === 2) return base * base;
    if (Math.abs(base) === 1 && (Number.isNaN(exponent) ? base === 1 : !Number.isFinite(exponent))) return 1;
    return Math.pow(base, exponent);
  };
  Object.assign(plain, {
    num: (p, q) => p / q,
    add: (...xs) => xs.reduce((a, b) => watched(a + b, a, b)),
    mul: (...xs) => xs.reduce((a, b) => watched(a * b, a, b)),
    neg: (x) => -x,
    div: (a, b) => (b === 0 ? a / b : watched(a / b, a, b)),
    pow: (a, b) => {
      const result = power(a, b);
      return a === 0 || b === 0 ? result : watched(result, a, b);
    },
    exp: Math.exp,
    log: Math.log,
    min: (...xs) => Math.min(...xs),
    max: (...xs) => Math.max(...xs),
    abs: Math.abs,
    ceil: Math.ceil,
    floor: Math.floor,
    sum: (low, high, term) => {
      let total = 0;
      for (let n = low; n <= high; n++) total += term(n);
      return total;
    },
  });

  // Wide numbers are [m, e] with |m| in [1/2, 1), or m = 0, infinite or not a number.
  const NOTHING = -Math.pow(2, 60);
  function wide(value, exponent = 0) {
    if (value === 0) return [0, NOTHING];
    if (!Number.isFinite(value)) return [value, exponent];
    let shift = 0;
    if (Math.abs(value) < TINY) { value *= Math.pow(2, 200); shift = -200; }
    let e = Math.floor(Math.log2(Math.abs(value))) + 1;
    let m = e > 1000 ? value / Math.pow(2, 1000) / Math.pow(2, e - 1000) : e < -1000
      ? value * Math.pow(2, 1000) * Math.pow(2, -e - 1000) : value * Math.pow(2, -e);
    while (Math.abs(m) >= 1) { m /= 2; e += 1; }
    while (Math.abs(m) < 0.5) { m *= 2; e -= 1; }
    return [m, e + shift + exponent];
  }
  function float([m, e]) {
    if (m === 0 || !Number.isFinite(m)) return m;
    const within = Math.max(-5000, Math.min(5000, e));
    const half = Math.trunc(within / 2), third = Math.trunc((within - half) / 2);
    return m * Math.pow(2, half) * Math.pow(2, third) * Math.pow(2, within - half - third);
  }
  function plus(a, b) {
    const most = Math.max(a[1], b[1]);
    const shifted = ([m, e]) => m * Math.pow(2, Math.max(e - most, -1070));
    return wide(shifted(a) + shifted(b), most);
  }
  const times = (a, b) => (a[0] === 0 || b[0] === 0 ? wide(a[0] * b[0]) : wide(a[0] * b[0], a[1] + b[1]));
  const over = (a, b) => (a[0] === 0 || b[0] === 0 ? wide(a[0] / b[0]) : wide(a[0] / b[0], a[1] - b[1]));
  function whole(base, exponent) {
    let result = wide(1);
    for (let left = exponent, b = base; left > 0; left = Math.floor(left / 2), b = times(b, b)) {
      if (left % 2) result = times(result, b);
    }
    return result;
  }
  function raised(base, exponent) {
    const b = float(base), t = float(exponent), near = power(b, t);
    if (Number.isInteger(t) && Math.abs(t) < 64) return t < 0 ? over(wide(1), whole(base, -t)) : whole(base, t);
    const ordinary = Math.abs(near) > 1e-300 && Math.abs(near) < 1e300 && Math.abs(b) > 1e-300 && b < 1e300;
    const doublings = (Math.log2(Math.abs(base[0])) + base[1]) * t;
    if (ordinary || base[0] === 0 || t === 0 || !Number.isFinite(doublings)) return wide(near);
    const sign = base[0] < 0 && Math.abs(t % 2) === 1 ? -1 : 1;
    const down = Math.floor(doublings);
    return wide(sign * Math.pow(2, doublings - down), down);
  }
  const less = (a, b) => plus(a, [-b[0], b[1]])[0] <= 0;
  const chosen = (a, b, mine) => (Number.isNaN(a[0]) || (!Number.isNaN(b[0]) && mine) ? a : b);
  const unlimited = {
    num: (p, q) => over(wide(p), wide(q)),
    add: (...xs) => xs.reduce(plus),
    mul: (...xs) => xs.reduce(times),
    neg: ([m, e]) => [-m, e],
    div: over,
    pow: raised,
    exp: (x) => {
      const argument = float(x);
      const far = Math.abs(argument) > 700 && Number.isFinite(argument) ? Math.round(argument / LOG_2) : 0;
      return wide(Math.exp(argument - far * LOG_2), far);
    },
    log: ([m, e]) => wide(Math.log(m) + (m === 0 ? 0 : e) * LOG_2),
    min: (...xs) => xs.reduce((a, b) => chosen(a, b, less(a, b))),
    max: (...xs) => xs.reduce((a, b) => chosen(a, b, less(b, a))),
    abs: ([m, e]) => [Math.abs(m), e],
    ceil: (x) => wide(Math.ceil(float(x))),
    floor: (x) => wide(Math.floor(float(x))),
    sum: (low, high, term) => {
      let total = wide(0);
      for (let n = float(low); n <= float(high); n++) total = plus(total, term(wide(n)));
      return total;
    },
  };

  // The value of a compiled expression {at, undefined} at plain values.
  function evaluate(compiled, values) {
    plain.left = false;
    let [value, ...sides] = compiled.at(plain, values);
    if (plain.left) {
      const widened = Object.fromEntries(Object.entries(values).map(([name, x]) => [name, wide(x)]));
      [value, ...sides] = compiled.at(unlimited, widened);
      value = float(value);
      sides = sides.map(([m]) => m);
    }
    return sides.includes(0) || Number.isNaN(value) ? compiled.undefined : value;
  }

  return { evaluate, plain, unlimited, wide };
})();
