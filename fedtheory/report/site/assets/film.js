// A run, round by round: where the expected model is, and both sides of the bound.
"use strict";
function Film(index, run) {
  const root = document.querySelector(`[data-film="${index}"]`);
  const points = root.querySelector("[data-points]"), sides = root.querySelector("[data-sides]");
  const slider = root.querySelector("[data-frame]"), told = root.querySelector("[data-told]");
  const button = root.querySelector("[data-play]");
  const plane = run.optimum.length > 1;
  const WIDTH = 640, HEIGHT = plane ? 320 : 120, MARGIN = 40;
  const known = (all) => all.filter((x) => x !== null && x.every((c) => c !== null));
  const all = known([...run.models, ...run.centres, run.optimum]);
  const linear = (low, high, from, to) => (x) => from + ((x - low) / (high - low || 1)) * (to - from);
  const xs = all.map((x) => x[0]), ys = all.map((x) => x[1] ?? 0);
  const x = linear(Math.min(...xs), Math.max(...xs), MARGIN, WIDTH - MARGIN);
  const y = plane ? linear(Math.min(...ys), Math.max(...ys), HEIGHT - MARGIN, MARGIN) : () => HEIGHT / 2;
  const at = (point) => ({ cx: x(point[0]), cy: y(point[1] ?? 0) });

  function drawPoints(frame) {
    points.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
    points.replaceChildren();
    if (!plane) {
      const line = { x1: MARGIN / 2, x2: WIDTH - MARGIN / 2, y1: HEIGHT / 2, y2: HEIGHT / 2, class: "grid" };
      points.append(Plot.element("line", line));
    }
    run.centres.forEach((centre, i) => {
      const part = run.participants.includes(i);
      points.append(Plot.element("circle", { ...at(centre), r: part ? 8 : 5, class: part ? "client part" : "client" }));
    });
    const star = at(run.optimum);
    const bar = { x1: star.cx, x2: star.cx, y1: star.cy - 22, y2: star.cy + 22, class: "optimum" };
    points.append(Plot.element("line", bar));
    points.append(Plot.element("text", { x: star.cx, y: star.cy - 28, "text-anchor": "middle" }, "x*"));
    if (!plane) {
      const ends = [Math.min(...xs), Math.max(...xs)];
      for (const end of new Set(ends)) {
        points.append(Plot.element("text", { x: x(end), y: HEIGHT - 16, "text-anchor": "middle" }, Plot.short(end)));
      }
    }
    const model = run.models[frame];
    if (model.every((c) => c !== null)) points.append(Plot.element("circle", { ...at(model), r: 7, class: "model" }));
  }
  const words = (value) => (value === null ? "not defined" : String(Number(value.toPrecision(4))).replace("-", "−"));
  function show(frame) {
    drawPoints(frame);
    const curve = (key, last) => run.rounds.map((r, i) => [r, i <= last ? run[key][i] : null]).slice(1);
    const curves = [
      { kind: "printed", points: curve("right", Infinity) }, { kind: "exact pale", points: curve("left", Infinity) },
      { kind: "exact", points: curve("left", frame) },
    ];
    const mark = { x: run.rounds[frame], y: run.left[frame], label: "round" };
    Plot.draw(sides, curves, mark);
    told.value = `${run.rounds[frame]}: left ${words(run.left[frame])}, right ${words(run.right[frame])}`;
    slider.setAttribute("aria-valuetext", `round ${told.value}`);
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
