"use strict";
// Draws the figures and keeps their time axes together. Colours of text and grid come from the style sheet.
(() => {
  const figures = JSON.parse(document.getElementById("data").textContent);
  const linked = [];
  let following = false;

  const sameRange = (one, other) => Number(new Date(one[0])) === Number(new Date(other[0])) && Number(new Date(one[1])) === Number(new Date(other[1]));

  function follow(leader) {
    if (following) return;
    following = true;
    const range = leader.layout.xaxis.range.slice();
    const others = linked.filter((plot) => plot !== leader && !sameRange(plot.layout.xaxis.range, range));
    Promise.all(others.map((plot) => Plotly.relayout(plot, { "xaxis.range": range.slice() }))).finally(() => { following = false; });
  }

  // The buttons are listed one by one: plotly's own choice has one that uploads the figure to its maker's cloud.
  const options = {
    responsive: true, doubleClick: "reset", displaylogo: false, showSendToCloud: false, plotlyServerURL: "",
    modeBarButtons: [["toImage"], ["zoom2d", "pan2d"], ["zoomIn2d", "zoomOut2d", "resetScale2d"]],
  };
  const waiting = [...document.querySelectorAll("[data-plot]")].map((place) => {
    const figure = figures[place.dataset.plot];
    place.textContent = "";
    return Plotly.newPlot(place, figure.data, figure.layout, options).then(() => {
      if (!figure.linked) return;
      linked.push(place);
      place.on("plotly_relayout", () => follow(place));
    });
  });
  // Paper is narrower than a window, and nothing tells plotly so. A4 and Letter both hold 680 px.
  const resize = (width) => document.querySelectorAll("[data-plot]").forEach((place) => Plotly.relayout(place, { width, autosize: !width }));
  addEventListener("beforeprint", () => resize(680));
  addEventListener("afterprint", () => resize(undefined));
  // A time in the text: all pictures of the record show it, with as much again around it, and the first of them comes into view.
  const around = (begin, end) => Math.max(0.5 * (end - begin), begin === end ? 10000 : 1000);
  document.querySelectorAll("button.when").forEach((button) => button.addEventListener("click", () => {
    if (!linked.length) return;
    const [begin, end] = [button.dataset.begin, button.dataset.end || button.dataset.begin].map((time) => Date.parse(time));
    const range = [begin - around(begin, end), end + around(begin, end)].map((time) => new Date(time).toISOString());
    Plotly.relayout(linked[0], { "xaxis.range": range });
    linked[0].closest("section").scrollIntoView({ behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  }));
  Promise.all(waiting).then(() => { document.documentElement.dataset.drawn = String(waiting.length); });
})();
