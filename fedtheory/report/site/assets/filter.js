// The filters of the scorecard; what is chosen stands in the address, so that it can be kept and sent.
"use strict";
function Filter() {
  const form = document.querySelector("[data-filters]"), count = document.querySelector("[data-count]");
  const rows = [...document.querySelectorAll("[data-rows] tbody tr")], nothing = document.querySelector("[data-nothing]");
  const texts = rows.map((row) => row.textContent.toLowerCase());
  function apply() {
    const { paper, verdict, kind, text } = Object.fromEntries(new FormData(form));
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, i) => {
      const fits = (!paper || row.dataset.paper === paper) && (!verdict || row.dataset.verdict === verdict)
        && (!kind || row.dataset.kinds.split(" ").includes(kind)) && words.every((word) => texts[i].includes(word));
      row.hidden = !fits;
      shown += fits;
    });
    count.value = `${shown} of ${rows.length}`;
    nothing.hidden = shown > 0;
    const chosen = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
    history.replaceState(null, "", chosen.size ? `#${chosen}` : location.pathname);
  }
  for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
    if (form.elements[name]) form.elements[name].value = value;
  }
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  document.querySelector("[data-reset]").addEventListener("click", () => { form.reset(); apply(); });
  apply();
}
