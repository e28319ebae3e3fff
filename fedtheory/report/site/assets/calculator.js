// The calculator of a claim's page: fields, numbers, hypotheses and a plot that follow each other.
"use strict";
function Calculator(claim) {
  const root = document.querySelector("[data-calculator]");
  const find = (kind, name) => [...root.querySelectorAll(`[data-${kind}]`)].find((e) => e.dataset[kind] === name);
  const inputs = {}, sliders = {};
  const range = (field) => {
    const start = field.value === null || field.value === 0 ? (field.integer ? 10 : 1) : Math.abs(field.value);
    if (field.upper !== null) return { low: field.lower, high: field.upper, linear: true };
    if (field.lower === null) return { low: -10 * start, high: 10 * start, linear: true };
    const least = field.integer || field.lower >= 1 ? Math.max(field.lower, 1) : start / 1e4;
    return { low: least, high: Math.max(start, least) * 1e4, linear: false, zero: !field.positive && field.lower <= 0 };
  };
  const STEPS = 1000;
  function fromSlider(field, position) {
    const { low, high, linear, zero } = range(field);
    if (zero && position === 0) return 0;
    let value = linear ? low + ((high - low) * position) / STEPS : low * Math.pow(high / low, position / STEPS);
    if (field.integer) value = Math.round(value);
    else if (!linear || field.lower === null) value = Number(value.toPrecision(4));
    if (field.positive && value === 0) value = (high - low) / STEPS / 10;
    return value;
  }
  function toSlider(field, value) {
    const { low, high, linear } = range(field);
    const at = linear ? (value - low) / (high - low) : Math.log(value / low) / Math.log(high / low);
    return Math.round(STEPS * Math.min(1, Math.max(0, Number.isNaN(at) ? 0 : at)));
  }

  // What is wrong with a field, or "".
  function complaint(field, text) {
    if (text.trim() === "") return field.optional ? "" : `allowed is ${field.allowed}`;
    const x = Number(text);
    const wrong = !Number.isFinite(x) || (field.lower !== null && x < field.lower) || (field.positive && x === 0)
      || (field.upper !== null && x > field.upper) || (field.integer && x !== Math.round(x));
    return wrong ? `allowed is ${field.allowed}` : "";
  }
  function read() {
    const values = {}, wrong = {};
    for (const field of claim.fields) {
      const text = inputs[field.name].value, said = complaint(field, text);
      if (said) wrong[field.name] = said;
      else if (text.trim() !== "") values[field.name] = Number(text) + 0;
    }
    for (const [small, large] of claim.pairs) {
      if (values[small] > values[large]) wrong[small] = `allowed is at most ${large}`;
    }
    return { values, wrong };
  }

  const known = (of, values) => of.needs.every((name) => name in values);
  const chosenReading = () => [...root.querySelectorAll("select[data-reading]")].map((select) => select.value);
  function under(item, reading) {
    const option = reading.find((name) => Object.hasOwn(item.options, name));
    return option === undefined ? item.of : item.options[option];
  }

  // Everything at given values; null where a quantity is missing.
  function compute(given, reading) {
    const values = { ...given };
    for (let more = true; more;) {
      const ready = claim.bound.filter(({ name, of }) => !(name in values) && known(of, values));
      more = ready.length > 0;
      for (const { name, of } of ready) values[name] = Arithmetic.evaluate(of.at, values);
    }
    const at = (of) => (known(of, values) ? Arithmetic.evaluate(of.at, values) : null);
    const bound = Object.fromEntries(claim.bound.map(({ name }) => [name, values[name] ?? null]));
    const chosen = Object.fromEntries(claim.choices.map(({ name, of }) => [name, at(of)]));
    for (const [name, value] of Object.entries(chosen)) if (value !== null) values[name] = value;
    const terms = Object.fromEntries(claim.terms.map(({ name, of }) => [name, at(of)]));
    const parts = Object.values(terms);
    let value = parts.includes(null) ? null : parts.reduce((a, b) => a + b);
    if (Number.isNaN(value)) value = Infinity;
    return {
      value, terms, chosen, bound,
      rates: Object.fromEntries(claim.rates.map(({ name, of }) => [name, at(of)])),
      slack: Object.fromEntries(claim.slack.map((item) => [item.name, at(under(item, reading))])),
      missing: Object.fromEntries(claim.slack.map((item) =>
        [item.name, under(item, reading).needs.filter((name) => !(name in values))])),
      left: claim.left === null ? null : at(under(claim.left, reading)),
    };
  }

  const shown = (x) => (x === null ? "not known" : x === Infinity ? "∞" : x === -Infinity ? "−∞"
    : Number.isNaN(x) ? "undefined" : String(Number(x.toPrecision(6))).replace("-", "−"));
  function put(kind, name, value, text = shown(value)) {
    const cell = find(kind, name);
    if (!cell) return;
    cell.textContent = text;
    cell.dataset.value = value === null ? "" : String(value);
  }
  function verdictOf(slack, missing) {
    if (slack === null) return ["undecided", `undecided: needs ${missing.join(", ")}`];
    return slack >= 0 ? ["holds", "holds"] : ["fails", "fails"];
  }
  function update() {
    const { values, wrong } = read();
    for (const field of claim.fields) {
      const said = find("complaint", field.name);
      said.textContent = wrong[field.name] ?? "";
      inputs[field.name].setAttribute("aria-invalid", String(field.name in wrong));
    }
    const result = Object.keys(wrong).length ? null : compute(values, chosenReading());
    root.classList.toggle("unusable", result === null);
    put("total", "value", result && result.value, result ? shown(result.value) : "not allowed values");
    for (const kind of ["terms", "rates", "chosen", "bound"]) {
      for (const [name, value] of Object.entries(result ? result[kind] : {})) put(kind, name, value);
    }
    if (result) put("total", "left", result.left);
    for (const { name } of claim.slack) {
      const [state, words] = result ? verdictOf(result.slack[name], result.missing[name]) : ["undecided", "undecided"];
      put("slack", name, result && result.slack[name]);
      const cell = find("holds", name);
      cell.textContent = words;
      cell.className = `state ${state}`;
    }
    draw(result && values);
  }

  // The plot: the right side, and a left side of values, over one quantity.
  const axis = root.querySelector("select[data-axis]");
  function points(values) {
    const field = claim.fields.find(({ name }) => name === axis.value), found = [];
    if (!field) return found;
    for (let position = 0; position <= STEPS; position += 8) {
      const x = fromSlider(field, position);
      if (found.length && found[found.length - 1].x === x) continue;
      const { value, left } = compute({ ...values, [field.name]: x }, chosenReading());
      found.push({ x, value, left });
    }
    return found;
  }
  function draw(values) {
    const svg = root.querySelector("svg[data-plot]");
    if (!svg) return;
    if (values === null) { Plot.empty(svg, "not allowed values"); return; }
    const found = points(values), result = compute(values, chosenReading());
    const curve = (key) => found.map((p) => [p.x, p[key]]);
    const curves = [{ name: "right side", kind: "printed", points: curve("value") }];
    if (claim.left !== null) curves.push({ name: "left side", kind: "exact", points: curve("left") });
    Plot.draw(svg, curves, { x: values[axis.value], y: result.value, label: axis.value });
  }

  for (const field of claim.fields) {
    inputs[field.name] = find("field", field.name);
    sliders[field.name] = find("slider", field.name);
    inputs[field.name].value = field.value === null ? "" : String(field.value);
    const follow = () => {
      const text = inputs[field.name].value;
      if (text.trim() !== "" && !complaint(field, text)) {
        sliders[field.name].value = toSlider(field, Number(text));
        sliders[field.name].setAttribute("aria-valuetext", text);
      }
    };
    inputs[field.name].addEventListener("input", () => { follow(); update(); });
    sliders[field.name].addEventListener("input", () => {
      inputs[field.name].value = String(fromSlider(field, Number(sliders[field.name].value)));
      sliders[field.name].setAttribute("aria-valuetext", inputs[field.name].value);
      update();
    });
    follow();
  }
  for (const select of root.querySelectorAll("select")) select.addEventListener("change", update);
  update();
}
