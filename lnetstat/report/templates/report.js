"use strict";
// Draws the figures and keeps their time axes together. Colours of text and grid come from the style sheet.
(() => {
  const figures = JSON.parse(document.getElementById("data").textContent);
  const linked = [];
  const whole = document.getElementById("whole");
  let following = false;

  // Plotly tells times as numbers or as texts without a zone; all of them are UTC.
  const ms = (time) => (typeof time === "number" ? time : Date.parse(String(time).replace(" ", "T").replace(/Z?$/, "Z")));
  const sameRange = (one, other) => Math.abs(ms(one[0]) - ms(other[0])) < 1 && Math.abs(ms(one[1]) - ms(other[1])) < 1;

  function follow(leader) {
    const range = leader.layout.xaxis.range.slice();
    if (whole) whole.hidden = sameRange(range, leader.all);
    if (following) return;
    following = true;
    const others = linked.filter((plot) => plot !== leader && !sameRange(plot.layout.xaxis.range, range));
    Promise.all(others.map((plot) => Plotly.relayout(plot, { "xaxis.range": range.slice() }))).finally(() => { following = false; });
  }

  const show = (place) => place.scrollIntoView({ behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });

  // The buttons are listed one by one: plotly's own choice has one that uploads the figure to its maker's cloud.
  const options = {
    responsive: true, doubleClick: "reset", displaylogo: false, showSendToCloud: false, plotlyServerURL: "",
    modeBarButtons: [["toImage"], ["zoom2d", "pan2d"], ["zoomIn2d", "zoomOut2d", "resetScale2d"]],
  };
  // Incidents are drawn through the first picture; that of a row of credits has the same.
  const incidents = figures.axis ? (figures.axis.layout.shapes || []).filter((shape) => shape.yref === "paper") : [];
  const layoutOf = (slug) => {
    const layout = figures[slug].layout;
    return slug.startsWith("row-") ? { ...layout, shapes: [...(layout.shapes || []), ...incidents] } : layout;
  };
  const waiting = [...document.querySelectorAll("[data-plot]")].map((place) => {
    const figure = figures[place.dataset.plot];
    place.textContent = "";
    return Plotly.newPlot(place, figure.data, layoutOf(place.dataset.plot), options).then(() => {
      if (!figure.linked) return;
      place.all = figure.layout.xaxis.range.slice();
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
    show(linked[0].closest("section"));
  }));
  // A row of credits in the table: its picture takes the place of the one above the table, at the time that is shown now.
  const row = document.querySelector('[data-plot^="row-"]');
  document.querySelectorAll("button.row").forEach((button) => button.addEventListener("click", () => {
    const layout = layoutOf(button.dataset.row);
    row.dataset.plot = button.dataset.row;
    Plotly.react(row, figures[button.dataset.row].data, { ...layout, xaxis: { ...layout.xaxis, range: row.layout.xaxis.range.slice() } }, options);
    show(row.closest(".picture"));
  }));
  if (whole) whole.addEventListener("click", () => Plotly.relayout(linked[0], { "xaxis.range": linked[0].all.slice() }));
  Promise.all(waiting).then(() => { document.documentElement.dataset.drawn = String(waiting.length); });
})();
