// One panel's picture with plotly. Every text goes through `inert`: plotly reads <b>, <a href> and %{…} in texts.
import { Failure } from "./graphite.js";
import { decimals, printable, scale } from "./numbers.js";

export const MISSING = "plotly.js is not here: install lnetstat[analysis], then lnetstat stack down and up.";

const DASHES = ["solid", "dash", "dot"];
const COLOURS = 7;
const GAP_STEPS = 2.5; // usual distances between values: after more the line breaks
const USUAL = 0.9; // share of the distances that are no gaps
const MOST_BANDS = 200; // more could not be told apart
const ROOM = 0.06;
export const MARGIN = { l: 58, r: 12, t: 8, b: 40, twoAxes: 52 };

let loading = null;

/** Return plotly. It is asked for once the bare curves of all that is in view are painted: reading 4.8 MB would hold them up. */
export function plotly() {
  loading ??= painted().then(() => new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = document.querySelector("meta[name=plotly]").content;
    script.addEventListener("load", () => resolve(window.Plotly));
    script.addEventListener("error", () => {
      document.dispatchEvent(new Event("plotly-missing"));
      reject(new Failure(MISSING));
    });
    document.head.append(script);
  }));
  return loading;
}

function painted() {
  // A page that is not seen is not painted: then it goes on at once.
  return document.hidden ? Promise.resolve() : new Promise((end) => requestAnimationFrame(() => setTimeout(end)));
}

/** Return [divisor, unit] for the curves of one axis. */
export function axisScale(panel, curves) {
  const most = Math.max(0, ...curves.map((curve) => Math.max(Math.abs(curve.least), Math.abs(curve.most))));
  return scale(panel.unit, most);
}

/** Draw curves [{label, number, right, points, hidden, least, most}] of a panel into `place`. */
export async function draw(place, panel, curves, range, incidents) {
  const Plotly = await plotly();
  const colours = palette(place);
  const shown = curves.filter((curve) => !curve.hidden);
  const left = shown.filter((curve) => !curve.right);
  const right = shown.filter((curve) => curve.right);
  const [divisor, unit] = axisScale(panel, left);
  const traces = [...left.map((curve) => trace(panel, curve, divisor, unit, colours)), ...right.map((curve) => trace(panel, curve, 1, panel.unit, colours))];
  const y = extent(panel, left, divisor);
  const thresholds = panel.thresholds.map((each) => ({ ...each, value: each.value / divisor }));
  const visible = thresholds.filter((each) => !y || (each.value >= y[0] && each.value <= y[1]));
  const layout = {
    margin: { l: MARGIN.l, r: right.length ? MARGIN.twoAxes : MARGIN.r, t: MARGIN.t, b: MARGIN.b }, height: place.clientHeight, showlegend: false,
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { family: "system-ui, sans-serif", size: 12, color: colours.ink },
    hovermode: shown.length > 10 ? "closest" : "x unified", hoverlabel: { bgcolor: colours.paper, bordercolor: colours.line, font: { color: colours.ink }, namelength: -1 },
    // On a touch screen a drag scrolls the page.
    dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom",
    barmode: "stack", bargap: 0,
    xaxis: {
      type: "date", range: [range.from, range.until], hoverformat: "%Y-%m-%d %H:%M:%S UTC", tickformatstops: TICKS, tickangle: 0, nticks: Math.max(4, Math.floor(place.clientWidth / 110)),
      gridcolor: colours.line, linecolor: colours.line, zeroline: false,
    },
    yaxis: {
      title: { text: inert(unit), standoff: 4 }, fixedrange: true, gridcolor: colours.line, zeroline: true, zerolinecolor: colours.soft, nticks: 6,
      ...(y ? { range: y } : {}),
    },
    yaxis2: { overlaying: "y", side: "right", fixedrange: true, showgrid: false, rangemode: "tozero", tickmode: "auto", nticks: 6 },
    shapes: [...(panel.events ? incidents.slice(-MOST_BANDS).flatMap((each) => bands(each, colours)) : []), ...visible.map((each) => level(each, colours))],
    annotations: visible.map((each) => words(each, visible, y, colours)),
  };
  place.querySelector(".sketch")?.remove();
  await Plotly.react(place, traces, layout, { responsive: true, displayModeBar: false, doubleClick: false, showTips: false });
}

/** Draw the bare curves of lines and steps at once, while plotly (4.8 MB) is still being read. Return whether there is something to see. */
export function sketch(place, panel, curves, range) {
  const shown = curves.filter((curve) => !curve.hidden && !curve.right);
  const y = extent(panel, shown, 1);
  if (window.Plotly || !y) return false;
  const [width, height] = [place.clientWidth, place.clientHeight];
  const canvas = Object.assign(document.createElement("canvas"), { className: "sketch", width, height });
  const pen = canvas.getContext("2d");
  const right = curves.some((curve) => curve.right) ? MARGIN.twoAxes : MARGIN.r;
  const x = (time) => MARGIN.l + ((time - range.from) / (range.until - range.from)) * (width - MARGIN.l - right);
  const colours = palette(place);
  for (const curve of shown) {
    pen.strokeStyle = colours.curves[curve.number % COLOURS];
    pen.lineWidth = 1.5;
    pen.beginPath();
    let [begun, before] = [false, 0];
    const [times, values] = broken(curve.points, curve.step);
    times.forEach((time, at) => {
      const level = values[at] === null ? null : MARGIN.t + ((y[1] - values[at]) / (y[1] - y[0])) * (height - MARGIN.t - MARGIN.b);
      if (level !== null && begun && panel.kind === "steps") pen.lineTo(x(time), before);
      if (level !== null) pen[begun ? "lineTo" : "moveTo"](x(time), level);
      [begun, before] = [level !== null, level];
    });
    pen.stroke();
  }
  place.replaceChildren(canvas);
  return true;
}

/** Return the colour of curve `number` as a value of CSS. */
export function colourOf(number) {
  return `var(--curve-${number % COLOURS})`;
}

export function dashOf(number) {
  return DASHES[Math.floor(number / COLOURS) % DASHES.length];
}

function trace(panel, curve, divisor, unit, colours) {
  const [x, y] = broken(curve.points, curve.step);
  const values = divisor === 1 ? y : y.map((value) => (value === null ? null : value / divisor));
  const colour = colours.curves[curve.number % COLOURS];
  const most = Math.max(Math.abs(curve.least), Math.abs(curve.most)) / divisor;
  const shared = { x, y: values, name: inert(curve.label, 60), yaxis: curve.right ? "y2" : "y", hovertemplate: `%{y:,.${decimals(most)}~f}${unit && ` ${inert(unit)}`}` };
  if (panel.kind === "bars") return { ...shared, type: "bar", marker: { color: colour, line: { width: 0 } } };
  const alone = y.map((value, at) => value !== null && (y[at - 1] ?? null) === null && (y[at + 1] ?? null) === null);
  return {
    ...shared, type: "scatter", mode: alone.includes(true) ? "lines+markers" : "lines",
    // A value alone between two gaps has no line.
    ...(alone.includes(true) ? { marker: { size: alone.map((each) => (each ? 5 : 0)), color: colour, line: { width: 0 } } } : {}),
    line: { color: colour, width: 1.5, dash: dashOf(curve.number), shape: panel.kind === "steps" ? "hv" : "linear", simplify: true },
    ...(panel.kind === "stacked" && !curve.right ? { stackgroup: "all" } : {}),
  };
}

/** Return [x, y] with a null where values are missing for much longer than their usual distance: sparse series are lines, gaps are gaps. */
function broken(points, step) {
  const distances = points.slice(1).map(([time], at) => time - points[at][0]).sort((one, other) => one - other);
  const usual = Math.max(distances[Math.floor(USUAL * distances.length)] ?? step, step);
  const x = [];
  const y = [];
  points.forEach(([time, value], at) => {
    if (at && time - points[at - 1][0] > GAP_STEPS * usual) {
      x.push(points[at - 1][0] + usual);
      y.push(null);
    }
    x.push(time);
    y.push(value);
  });
  return [x, y];
}

/** Return the range of the left axis, or null to let plotly choose. Thresholds are in it where they leave half of it to the curves. */
function extent(panel, curves, divisor) {
  const nothing = panel.zero && curves.every((curve) => curve.least === 0 && curve.most === 0); // plotly's own range would be −1 to 1
  if (!curves.length || (!nothing && (panel.kind === "stacked" || panel.kind === "bars"))) return null;
  let least = Math.min(...curves.map((curve) => curve.least)) / divisor;
  let most = Math.max(...curves.map((curve) => curve.most)) / divisor;
  if (panel.zero) [least, most] = [Math.min(0, least), Math.max(0, most)];
  const size = most - least || Math.abs(most) || 1;
  for (const { value } of panel.thresholds) {
    const at = value / divisor;
    if (Math.max(most, at) - Math.min(least, at) <= 2 * size) [least, most] = [Math.min(least, at), Math.max(most, at)];
  }
  if (nothing && most === least) most = 1;
  const room = ROOM * (most - least || Math.abs(most) || 1);
  return [panel.zero && least === 0 ? 0 : least - room, most + room];
}

function level(threshold, colours) {
  return {
    type: "line", xref: "paper", x0: 0, x1: 1, y0: threshold.value, y1: threshold.value,
    line: { color: colours[threshold.level], width: 1.4, dash: threshold.level === "critical" ? "dash" : "dot" },
  };
}

function words(threshold, all, y, colours) {
  const atBottom = y && threshold.value - y[0] < 0.1 * (y[1] - y[0]); // below it the words would lie on the time axis
  // Above it they would lie on the next line.
  const crowded = y && all.some(({ value }) => value > threshold.value && value - threshold.value < 0.1 * (y[1] - y[0]));
  return {
    text: inert(threshold.words, 60), xref: "paper", ...(threshold.level === "critical" ? { x: 1, xanchor: "right" } : { x: 0, xanchor: "left" }), y: threshold.value, yanchor: (threshold.below || crowded) && !atBottom ? "top" : "bottom",
    showarrow: false, font: { size: 11, color: colours[threshold.level] }, bgcolor: colours.paper, borderpad: 1, opacity: 0.9,
  };
}

/** Return what marks an incident: from its begin to its end; where it says when its dips were, these, and its whole length fainter. */
function bands(incident, colours) {
  const colour = colours[incident.severity];
  const band = (from, until, opacity, width) => ({
    type: "rect", xref: "x", x0: from, x1: until, yref: "paper", y0: 0, y1: 1, layer: "below",
    fillcolor: colour, opacity, line: { color: colour, width },
  });
  const dips = incident.dips.map(([from, until]) => band(from, until, 0.26, 0));
  // What has not ended yet may fill the whole picture: fainter.
  // So is what is only told (pings come in bursts): it would hide what is wrong.
  const opacity = dips.length ? 0.05 : incident.severity === "info" && incident.until > incident.from ? 0.03 : incident.until === incident.from ? 0.8 : incident.open ? 0.08 : 0.16;
  return [band(incident.from, incident.until, opacity, 1), ...dips];
}

/** Return text that plotly draws as it stands. */
export function inert(text, length = 120) {
  return printable(text, length).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll("%{", "% {");
}

export function palette(place) {
  const style = getComputedStyle(place);
  const value = (name) => style.getPropertyValue(`--${name}`).trim();
  const named = Object.fromEntries(["ink", "soft", "paper", "line", "info", "warning", "critical"].map((name) => [name, value(name)]));
  return { ...named, curves: Array.from({ length: COLOURS }, (_, number) => value(`curve-${number}`)) };
}

const TICKS = [
  { dtickrange: [null, 60_000], value: "%H:%M:%S\n%Y-%m-%d" },
  { dtickrange: [60_000, 86_400_000], value: "%H:%M\n%Y-%m-%d" },
  { dtickrange: [86_400_000, null], value: "%m-%d\n%Y" },
];
