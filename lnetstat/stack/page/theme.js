"use strict";
// Runs before anything is painted, so that a dark page does not begin with a white flash.
(() => {
  try {
    const chosen = localStorage.getItem("lnetstat-theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    // A browser that keeps nothing: then as the system has it.
  }
})();
