// The panel that lays the last periods over each other: x is the moment within a period, from 0 to its end.
import { MARGIN, axisScale, inert, palette, plotly } from "./draw.js";
import { decimals, stamp } from "./numbers.js";
import { Panel, make } from "./panel.js";
import { MOST_FOLD_S, seconds } from "./state.js";

const CHOICES_S = [25, 75]; // the ping intervals with obd_timeout 100 and 300
const LEAST_CYCLES = 2;
const LOOKED_AT_MS = 3_600_000;
const MOST_CYCLES = 20;
const MOST_BINS = 200;
const SMOOTH = 0.05; // of a period: the lowest point of the smoothed curve is put in the middle
const ENOUGH = 0.5; // of the cycles: where fewer have a value there is no median

export class FoldedPanel extends Panel {
  /** `page` also has: newest(): the time of the newest value shown, or undefined; fold(): the period chosen in seconds, or null;
   setFold(period). */
  constructor(definition, page) {
    super(definition, page);
    this.input = make("input", { type: "number", min: 1, max: MOST_FOLD_S, step: "any", title: "Another period, in seconds (empty: as found)" });
    this.input.setAttribute("aria-label", "Period in seconds");
    const buttons = CHOICES_S.map((each) => {
      const button = make("button", { type: "button", textContent: `${each} s` });
      button.addEventListener("click", () => this.choose(each));
      return button;
    });
    this.input.addEventListener("change", () => this.choose(seconds(this.input.value)));
    const choice = make("p", { className: "period" });
    choice.append("Period ", this.input, " s, or ", ...buttons);
    this.words.after(choice);
  }

  list() {
    super.list();
    this.legend.replaceChildren(); // one curve: the words say what it is
  }

  choose(period) {
    this.page.setFold(period);
    this.show(this.page.incidents());
  }

  asks(range) {
    const until = Math.max(range.from + 1000, Math.min(range.until, this.page.newest() ?? range.until));
    return { from: Math.max(range.from, until - LOOKED_AT_MS), until };
  }

  points() {
    return LOOKED_AT_MS / 1000; // every second: a dip lasts a few of them
  }

  take(found) {
    super.take(found);
    this.found = this.curves[0] ?? null;
    this.missing = this.found ? null : this.words.textContent;
  }

  sketch() {
    this.list(); // the period is known with the incidents only
  }

  async show(incidents) {
    const found = [...incidents].reverse().find((each) => each.period > 0);
    const chosen = this.page.fold();
    const usual = CHOICES_S.filter((each) => this.found && LEAST_CYCLES * each * 1000 <= length(this.found.points)).at(-1) ?? CHOICES_S[0];
    this.period = chosen ? chosen * 1000 : found?.period || usual * 1000;
    this.input.value = String(Number((this.period / 1000).toPrecision(4)));
    if (this.found) {
      this.cycles = fold(this.found.points, this.period, this.found.step);
      const values = this.cycles.median.map(([, value]) => value).filter((value) => value !== null);
      const name = `median of ${Math.round(Math.min(MOST_CYCLES, length(this.found.points) / this.period))} periods`;
      this.curves = values.length
        ? [{ ...this.found, label: name, last: values.at(-1), least: Math.min(...values), most: Math.max(...values) }]
        : [];
      const why = chosen ? "As chosen." : found ? "As found in the dead time that is marked." : "No dead time is marked here; this is a usual ping interval.";
      this.say(values.length ? `${why} Bold: the ${name}; thin: each of them.` : `No two whole periods of ${this.input.value} s in this range.`, values.length ? "" : "none");
    }
    await super.show(incidents);
  }

  async draw() {
    const Plotly = await plotly();
    const colours = palette(this.place);
    const { curves, median, origin } = this.cycles;
    const most = Math.max(...curves.flat().map(([, value]) => value ?? 0));
    const [divisor, unit] = axisScale(this.definition, [{ least: 0, most }]);
    const each = (points, rest) => ({ type: "scatter", mode: "lines", x: points.map(([x]) => x / 1000), y: points.map(([, y]) => (y === null ? null : y / divisor)), ...rest });
    const thin = curves.map((points) => each(points, { line: { color: colours.soft, width: 1 }, opacity: 0.35, hoverinfo: "skip" }));
    const bold = each(median, {
      line: { color: colours.curves[0], width: 2.5 }, hovertemplate: `%{x:.1f} s: %{y:,.${decimals(most / divisor)}~f} ${inert(unit)}<extra></extra>`,
    });
    await Plotly.react(this.place, [...thin, bold], {
      margin: MARGIN, height: this.place.clientHeight, showlegend: false, dragmode: false, hovermode: "x",
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { family: "system-ui, sans-serif", size: 12, color: colours.ink },
      hoverlabel: { bgcolor: colours.paper, bordercolor: colours.line, font: { color: colours.ink } },
      xaxis: { range: [0, this.period / 1000], fixedrange: true, title: { text: "seconds within the period", standoff: 4 }, gridcolor: colours.line, linecolor: colours.line, zeroline: false },
      yaxis: { title: { text: inert(unit), standoff: 4 }, fixedrange: true, rangemode: "tozero", gridcolor: colours.line, zerolinecolor: colours.soft, nticks: 6 },
    }, { responsive: true, displayModeBar: false, doubleClick: false, showTips: false });
    const range = this.curves[0];
    this.place.setAttribute("aria-label", `${this.definition.title}. ${range.label}: ${range.least / divisor} to ${range.most / divisor} ${unit}. 0 s is ${stamp(origin)}.`);
    Object.assign(this.element.dataset, { drawn: this.range.until, seen: "plot", period: this.period });
  }
}

/** Return {curves, median, origin} of points [[ms, value], …] laid over each other by `period` (ms).

 `curves`: of each of the last periods [[ms within it, value], …], with null over gaps; `median`: of all of them; `origin`: when the last one
 begins, chosen so that the lowest point of the median lies in the middle.
 */
export function fold(points, period, step) {
  const last = points.at(-1)[0];
  const used = points.filter(([time]) => time > last - MOST_CYCLES * period);
  const bins = Math.max(4, Math.min(MOST_BINS, Math.floor(period / step)));
  const grid = last - step / 2; // samples lie in the middle of the bins, not on their edges
  const rough = smoothed(medians(used, period, bins, grid).map(([, value]) => value));
  const lowest = rough.indexOf(Math.min(...rough.filter((value) => value !== null)));
  const begin = grid + Math.round((((lowest + 0.5) / bins) * period - period / 2) / step) * step; // when one of the periods begins
  const curves = [];
  let [cycle, before] = [null, 0];
  for (const [time, value] of used) {
    const number = Math.floor((time - begin) / period);
    if (number !== cycle) curves.push([]);
    else if (time - before > 2.5 * step) curves.at(-1).push([(before + step - begin) - number * period, null]);
    curves.at(-1).push([time - begin - number * period, value]);
    [cycle, before] = [number, time];
  }
  const enough = length(used) >= LEAST_CYCLES * period;
  return { curves, median: enough ? medians(used, period, bins, begin) : [], origin: begin + Math.floor((last - begin) / period) * period };
}

function length(points) {
  return points.at(-1)[0] - points[0][0];
}

/** Return the median of each of the bins of a period, at its middle; null where less than half of the cycles have a value. */
function medians(points, period, bins, begin) {
  const values = Array.from({ length: bins }, () => []);
  for (const [time, value] of points) {
    const share = (time - begin) / period;
    values[Math.min(bins - 1, Math.floor((share - Math.floor(share)) * bins))].push(value);
  }
  const usual = Math.max(...values.map((each) => each.length));
  return values.map((each, at) => {
    const sorted = each.sort((one, other) => one - other);
    const middle = sorted.length / 2;
    const value = sorted.length && sorted.length >= ENOUGH * usual ? (sorted[Math.ceil(middle) - 1] + sorted[Math.floor(middle)]) / 2 : null;
    return [((at + 0.5) / bins) * period, value];
  });
}

/** Return the mean of each value with its neighbours; a period goes on where it began. */
function smoothed(values) {
  const reach = Math.max(1, Math.round((SMOOTH * values.length) / 2));
  return values.map((value, at) => {
    const near = Array.from({ length: 2 * reach + 1 }, (_, by) => values[(at + by - reach + values.length) % values.length]).filter((each) => each !== null);
    return value === null || !near.length ? null : near.reduce((sum, each) => sum + each, 0) / near.length;
  });
}
