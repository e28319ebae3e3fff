// Small plots as SVG: a few curves over one axis, logarithmic where all numbers are positive and far apart.
"use strict";
const Plot = (() => {
  const WIDTH = 640, HEIGHT = 320, LEFT = 72, RIGHT = 14, TOP = 14, BOTTOM = 46;
  function element(tag, attributes, text) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }
  function empty(svg, words) {
    svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
    svg.replaceChildren(element("text", { x: WIDTH / 2, y: HEIGHT / 2, "text-anchor": "middle" }, words));
  }
  const short = (x) => {
    if (x === 0) return "0";
    const size = Math.abs(x);
    return (size >= 1e4 || size < 1e-3 ? x.toExponential(2).replace(/\.?0+e/, "e").replace("e+", "e")
      : String(Number(x.toPrecision(3)))).replace(/-/g, "−");
  };
  function scale(numbers, from, to) {
    let low = Math.min(...numbers), high = Math.max(...numbers);
    const log = low > 0 && high / low > 20;
    if (low === high) { low -= Math.abs(low) / 2 || 1; high += Math.abs(high) / 2 || 1; }
    const f = log ? Math.log : (x) => x;
    const at = (x) => from + ((f(x) - f(low)) / (f(high) - f(low))) * (to - from);
    return { at, ticks: log ? decades(low, high) : even(low, high) };
  }
  function decades(low, high) {
    const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
    const every = Math.max(1, Math.ceil((last - first) / 4)), found = [];
    for (let e = first; e <= last; e += every) found.push(Number(`1e${e}`));
    return found.length > 1 ? found : [low, high];
  }
  function even(low, high) {
    const raw = (high - low) / 4, unit = Math.pow(10, Math.floor(Math.log10(raw)));
    const step = [1, 2, 5, 10].map((k) => k * unit).find((s) => s >= raw * 0.99), found = [];
    for (let x = Math.ceil(low / step - 1e-9) * step; x <= high + step * 1e-9; x += step) {
      found.push(Math.abs(x) < step / 1e6 ? 0 : Number(x.toPrecision(12)));
    }
    return found;
  }
  const finite = ([x, y]) => y !== null && Number.isFinite(x) && Number.isFinite(y);
  const positiveParts = (all) => {
    const positive = all.filter((y) => y > 0);
    return positive.length > all.length * 0.9 && Math.max(...positive) / Math.min(...positive) > 20 ? positive : all;
  };

  // Draws curves {name, kind, points: [[x, y], ...]}; `mark` {x, y, label} is where the reader stands.
  function draw(svg, curves, mark) {
    const kept = curves.map((c) => ({ ...c, points: c.points.filter(finite) })).filter((c) => c.points.length);
    if (!kept.length) { empty(svg, "no finite value here"); return; }
    const marked = mark && finite([mark.x, mark.y]);
    const all = kept.flatMap((c) => c.points).concat(marked ? [[mark.x, mark.y]] : []);
    const xs = positiveParts(all.map(([x]) => x)), ys = positiveParts(all.map(([, y]) => y));
    const x = scale(xs, LEFT, WIDTH - RIGHT), y = scale(ys, HEIGHT - BOTTOM, TOP);
    const inside = ([a, b]) => a >= Math.min(...xs) && b >= Math.min(...ys);
    svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
    svg.replaceChildren();
    for (const tick of y.ticks) {
      svg.append(element("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y.at(tick), y2: y.at(tick), class: "grid" }));
      svg.append(element("text", { x: LEFT - 8, y: y.at(tick) + 5, "text-anchor": "end" }, short(tick)));
    }
    for (const tick of x.ticks) {
      const place = x.at(tick), anchor = place > WIDTH - 50 ? "end" : "middle";
      svg.append(element("line", { x1: place, x2: place, y1: TOP, y2: HEIGHT - BOTTOM, class: "grid" }));
      svg.append(element("text", { x: place, y: HEIGHT - BOTTOM + 19, "text-anchor": anchor }, short(tick)));
    }
    const title = { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 6, "text-anchor": "middle", class: "axis" };
    svg.append(element("text", title, mark.label));
    for (const curve of kept) {
      const path = curve.points.filter(inside).map(([a, b]) => `${x.at(a).toFixed(1)},${y.at(b).toFixed(1)}`);
      svg.append(element("polyline", { points: path.join(" "), class: `curve ${curve.kind}` }));
    }
    if (marked && inside([mark.x, mark.y])) {
      svg.append(element("circle", { cx: x.at(mark.x), cy: y.at(mark.y), r: 6, class: "mark" }));
    }
  }
  return { draw, empty, element, scale, short };
})();
