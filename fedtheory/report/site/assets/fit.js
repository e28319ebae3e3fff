// Formulas that are wider than the page are drawn smaller, as far as they can still be read; beyond that they scroll.
"use strict";
function Fit() {
  const SMALLEST = 0.5;
  const pieces = [...document.querySelectorAll(".piece, .field label")];
  function fit() {
    for (const piece of pieces) piece.style.fontSize = "";
    const shares = pieces.map((piece) => (piece.clientWidth - 1) / piece.scrollWidth);
    pieces.forEach((piece, i) => {
      if (shares[i] > 0 && shares[i] < 0.98) piece.style.fontSize = `${100 * Math.max(SMALLEST, shares[i] * 0.98)}%`;
    });
  }
  addEventListener("resize", fit);
  fit();
}
