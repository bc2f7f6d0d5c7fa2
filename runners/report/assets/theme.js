"use strict";
// Before the first paint, so that a chosen scheme does not flash. Storage may be refused to a page from a file.
(() => {
  const NAME = "rdf-theme", MODES = ["auto", "light", "dark"];
  let mode = "auto";
  try {
    mode = localStorage.getItem(NAME) || "auto";
  } catch { /* it then holds as long as the page */ }

  function apply(chosen) {
    mode = MODES.includes(chosen) ? chosen : "auto";
    if (mode === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = mode;
  }

  apply(mode);
  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const told = () => { button.textContent = `Theme: ${mode}`; };
    told();
    button.addEventListener("click", () => {
      apply(MODES[(MODES.indexOf(mode) + 1) % MODES.length]);
      told();
      try {
        localStorage.setItem(NAME, mode);
      } catch { /* as above */ }
    });
  });
})();
