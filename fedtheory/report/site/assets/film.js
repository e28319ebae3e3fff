// An instance, step by step: where the expected model is, or what is there, drawn and expected; and both sides.
"use strict";
const Pictures = (() => {
  const WIDTH = 640, MARGIN = 40;
  const linear = (low, high, from, to) => (x) => from + ((x - low) / (high - low || 1)) * (to - from);

  // The expected model among the clients' minimisers, on a line or in the plane of the first two coordinates.
  function models(svg, run) {
    const plane = run.optimum.length > 1, HEIGHT = plane ? 320 : 120;
    const known = (all) => all.filter((x) => x !== null && x.every((c) => c !== null));
    const all = known([...run.models, ...run.centres, run.optimum]);
    const xs = all.map((x) => x[0]), ys = all.map((x) => x[1] ?? 0);
    const x = linear(Math.min(...xs), Math.max(...xs), MARGIN, WIDTH - MARGIN);
    const y = plane ? linear(Math.min(...ys), Math.max(...ys), HEIGHT - MARGIN, MARGIN) : () => HEIGHT / 2;
    const at = (point) => ({ cx: x(point[0]), cy: y(point[1] ?? 0) });
    return (frame) => {
      svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
      svg.replaceChildren();
      if (!plane) {
        const line = { x1: MARGIN / 2, x2: WIDTH - MARGIN / 2, y1: HEIGHT / 2, y2: HEIGHT / 2, class: "grid" };
        svg.append(Plot.element("line", line));
      }
      run.centres.forEach((centre, i) => {
        const part = run.participants.includes(i);
        svg.append(Plot.element("circle", { ...at(centre), r: part ? 8 : 5, class: part ? "client part" : "client" }));
      });
      const star = at(run.optimum);
      const bar = { x1: star.cx, x2: star.cx, y1: star.cy - 22, y2: star.cy + 22, class: "optimum" };
      svg.append(Plot.element("line", bar));
      svg.append(Plot.element("text", { x: star.cx, y: star.cy - 28, "text-anchor": "middle" }, "x*"));
      if (!plane) {
        for (const end of new Set([Math.min(...xs), Math.max(...xs)])) {
          svg.append(Plot.element("text", { x: x(end), y: HEIGHT - 16, "text-anchor": "middle" }, Plot.short(end)));
        }
      }
      const model = run.models[frame];
      if (model.every((c) => c !== null)) svg.append(Plot.element("circle", { ...at(model), r: 7, class: "model" }));
    };
  }

  // A line for each label: hollow what is there, filled what is drawn, a stroke where it is expected.
  function bars(svg, { labels, series }) {
    const ROW = 34, LEFT = 190, HEIGHT = labels.length * ROW + 34;
    const most = Math.max(...series.flatMap((each) => each.values.flat()).filter((v) => v !== null)) || 1;
    const x = linear(0, most, LEFT, WIDTH - MARGIN);
    return (frame) => {
      svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
      svg.replaceChildren();
      labels.forEach((label, i) => {
        const top = i * ROW + 10;
        svg.append(Plot.element("text", { x: LEFT - 10, y: top + 17, "text-anchor": "end" }, label));
        for (const { look, values } of series) {
          const value = values[frame][i], className = `bar ${look}`;
          if (value === null) continue;
          if (look === "expected") {
            svg.append(Plot.element("line", { x1: x(value), x2: x(value), y1: top - 2, y2: top + 26, class: className }));
          } else {
            const inset = look === "drawn" ? 5 : 0;
            const box = { x: LEFT, y: top + inset, width: x(value) - LEFT, height: 24 - 2 * inset, class: className };
            svg.append(Plot.element("rect", box));
          }
        }
      });
      for (const end of [0, most]) {
        svg.append(Plot.element("text", { x: x(end), y: HEIGHT - 8, "text-anchor": "middle" }, Plot.short(end)));
      }
    };
  }
  return { models, bars };
})();

function Film(index, run, unit) {
  const root = document.querySelector(`[data-film="${index}"]`);
  const points = root.querySelector("[data-points]"), sides = root.querySelector("[data-sides]");
  const slider = root.querySelector("[data-frame]"), told = root.querySelector("[data-told]");
  const button = root.querySelector("[data-play]");
  const picture = run.models ? Pictures.models(points, run) : run.bars ? Pictures.bars(points, run.bars) : () => {};

  const words = (value) => (value === null ? "not defined" : String(Number(value.toPrecision(4))).replace("-", "−"));
  function show(frame) {
    picture(frame);
    const curve = (key, last) => run.rounds.map((r, i) => [r, i <= last ? run[key][i] : null]).filter(([r]) => r > 0);
    const curves = [
      { kind: "printed", points: curve("right", Infinity) }, { kind: "exact pale", points: curve("left", Infinity) },
      { kind: "exact", points: curve("left", frame) },
    ];
    const mark = { x: run.rounds[frame], y: run.left[frame], label: unit };
    Plot.draw(sides, curves, mark);
    told.value = `${run.rounds[frame]}: left ${words(run.left[frame])}, right ${words(run.right[frame])}`;
    slider.setAttribute("aria-valuetext", `${unit} ${told.value}`);
  }
  let timer = null;
  function stop() {
    clearInterval(timer);
    timer = null;
    button.textContent = "Play";
    button.setAttribute("aria-pressed", "false");
  }
  function play() {
    if (Number(slider.value) >= run.rounds.length - 1) slider.value = 0;
    button.textContent = "Stop";
    button.setAttribute("aria-pressed", "true");
    timer = setInterval(() => {
      slider.value = Number(slider.value) + 1;
      show(Number(slider.value));
      if (Number(slider.value) >= run.rounds.length - 1) stop();
    }, 80);
  }
  button.addEventListener("click", () => (timer === null ? play() : stop()));
  slider.addEventListener("input", () => { stop(); show(Number(slider.value)); });
  show(0);
}
