// One panel: heading, description, picture, legend, and the words for what there is not.
import { axisScale, colourOf, dashOf, draw, sketch } from "./draw.js";
import { Failure, series } from "./graphite.js";
import { beside, number, printable, stamp } from "./numbers.js";

const MOST_CURVES = 24; // more lie on top of each other
const MOST_LABEL = 80;
const LISTED = 6; // in the legend, until more are asked for
// What was moved in time, or is a number of nodes (0 where they are silent), says nothing about how fresh the values are.
const NO_VALUES = /(timeShift|timeStack|timeSlice|isNonNull)\(/;

export class Panel {
  /** `page`: {zoom(from, until): a range was dragged in the picture; unzoom(): it was double-clicked; incidents(): those to be marked}. */
  constructor(definition, page) {
    this.definition = definition;
    this.page = page;
    this.curves = [];
    this.hidden = new Set();
    this.newest = null;
    this.asked = null;
    this.due = true;
    this.element = make("section", { className: "panel" });
    const title = make("h2", { id: `title-${definition.slug}`, textContent: definition.title });
    this.unit = make("span", { className: "unit", textContent: definition.unit && `in ${definition.unit}` });
    const about = make("p", { className: "description", id: `about-${definition.slug}` });
    about.append(...coded(definition.description));
    about.setAttribute("role", "tooltip");
    const info = make("button", { type: "button", className: "info", textContent: "i" });
    info.setAttribute("aria-label", `What is “${definition.title}”?`);
    info.setAttribute("aria-describedby", about.id);
    info.setAttribute("aria-expanded", "false");
    const expand = (open) => {
      about.classList.toggle("open", open);
      info.setAttribute("aria-expanded", String(open));
    };
    info.addEventListener("click", () => {
      const open = about.classList.contains("open");
      expand(!open);
      if (open) info.blur(); // focus alone shows it too
    });
    info.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      expand(false);
      info.blur();
    });
    const heading = make("div", { className: "heading" });
    heading.append(title, this.unit, info, about);
    this.words = make("p", { className: "words", textContent: "Loading …" });
    this.place = make("div", { className: "plot", role: "img" });
    this.legend = make("ul", { className: "legend" });
    this.element.setAttribute("aria-labelledby", title.id);
    this.element.append(heading, this.words, this.place, this.legend);
  }

  /** Ask for the values and draw them: bare curves where plotly is not there yet. What was drawn before stays until then, also when this fails. */
  async load(range, choice, paced, incidents) {
    this.due = false;
    this.asked?.abort();
    const asked = (this.asked = new AbortController());
    this.element.setAttribute("aria-busy", "true");
    try {
      const found = await series(this.definition, this.asks(range), choice, this.points(), paced, asked.signal);
      if (asked.signal.aborted) return;
      this.take(found);
      this.range = range;
      if (window.Plotly) await this.show(incidents);
      else this.sketch();
    } catch (error) {
      if (error.name === "AbortError" || asked.signal.aborted) return;
      if (!(error instanceof Failure)) console.error(error);
      this.say(error.message, "error");
    }
    this.element.removeAttribute("aria-busy");
  }

  /** Return of which range values are asked for, and how many. */
  asks(range) {
    return range;
  }

  points() {
    return this.place.clientWidth;
  }

  take(found) {
    const filled = found.filter((each) => each.points.length);
    this.newest = null;
    const curves = filled.map((each) => {
      let [least, most] = [Infinity, -Infinity];
      for (const [, value] of each.points) {
        if (value < least) least = value;
        if (value > most) most = value;
      }
      const [time, last] = each.points.at(-1);
      const target = this.definition.targets[each.target] ?? { expression: "", legend: "", right: false };
      if (!NO_VALUES.test(target.expression) && (this.newest === null || time > this.newest.time)) this.newest = { time, step: each.step };
      const alone = found.filter((other) => other.target === each.target).length === 1;
      return { label: label(target, each, alone), right: target.right, points: each.points, step: each.step, least, most, last };
    });
    const low = this.definition.thresholds.some((each) => each.below);
    const worst = curves.length > MOST_CURVES ? [...curves].sort((one, other) => (low ? one.least - other.least : other.most - one.most)) : curves;
    this.curves = worst.slice(0, MOST_CURVES).map((curve, at) => ({ ...curve, number: at, hidden: this.hidden.has(curve.label) }));
    const left = curves.length - this.curves.length;
    if (!found.length) this.say(`No such series: no node has sent it, or none of these names. ${this.definition.sender}`.trim(), "none");
    else if (!curves.length) this.say(`No values in this range (${found.length} series have values at other times).`, "none");
    else this.say(left ? `The ${low ? "lowest" : "highest"} ${MOST_CURVES} of ${curves.length} series; choose a host to see fewer.` : "", "");
  }

  sketch() {
    this.list();
    if (sketch(this.place, this.definition, this.curves, this.range)) this.element.dataset.seen = "sketch";
  }

  /** Draw what was loaded, with plotly; say why where that cannot be. */
  async show(incidents) {
    this.shown = incidents;
    this.list();
    try {
      if (this.range && this.curves.length) await this.draw(incidents);
    } catch (error) {
      if (!(error instanceof Failure)) console.error(error);
      this.say(error.message, "error");
    }
  }

  async draw(incidents) {
    await draw(this.place, this.definition, this.curves, this.range, incidents);
    if (!this.listens) {
      this.listens = true;
      this.place.on("plotly_relayout", (change) => {
        if (change["xaxis.range[0]"] === undefined) return; // another size, not another range
        const [from, until] = [change["xaxis.range[0]"], change["xaxis.range[1]"]].map((each) => Date.parse(utc(each)));
        if (until > from) this.page.zoom(from, until);
      });
      this.place.on("plotly_doubleclick", () => this.page.unzoom());
    }
    const summary = this.curves.map((each) => `${each.label}: last ${number(each.last)}, ${number(each.least)} to ${number(each.most)}`);
    this.place.setAttribute("aria-label", `${this.definition.title}. ${summary.slice(0, 8).join("; ")}`);
    Object.assign(this.element.dataset, { drawn: this.range.until, seen: "plot" });
  }

  say(text, kind) {
    this.words.textContent = text;
    this.words.hidden = !text;
    this.words.dataset.kind = kind;
    this.element.classList.toggle("failed", kind === "error");
  }

  /** Write the legend: a button a curve, with its last value and its range. */
  list() {
    this.element.classList.toggle("empty", !this.curves.length);
    this.element.dataset.curves = this.curves.length;
    const [divisor, unit] = axisScale(this.definition, this.curves.filter((each) => !each.right));
    this.unit.textContent = unit && `in ${unit}`;
    const head = make("li", { className: "head" });
    head.append(make("span", { className: "name" }), make("span", { className: "values", textContent: "last" }), make("span", { className: "extremes", textContent: "lowest … highest" }));
    const listed = this.curves.length > LISTED + 1 && !this.whole ? this.curves.slice(0, LISTED) : this.curves;
    this.legend.replaceChildren(...(this.curves.length ? [head] : []), ...listed.map((curve) => {
      const size = curve.right ? 1 : divisor;
      const swatch = make("span", { className: `swatch ${dashOf(curve.number)}` });
      swatch.style.color = colourOf(curve.number);
      const name = make("span", { className: "name", textContent: curve.label, title: curve.label });
      const values = make("span", { className: "values" });
      const most = Math.max(Math.abs(curve.least), Math.abs(curve.most)) / size;
      values.textContent = `${beside(curve.last / size, most)}${curve.right ? " (right axis)" : ""}`;
      const extremes = make("span", { className: "extremes", textContent: `${beside(curve.least / size, most)} … ${beside(curve.most / size, most)}` });
      values.title = `last value, at ${stamp(curve.points.at(-1)[0])}`;
      const button = make("button", { type: "button" });
      button.setAttribute("aria-pressed", String(!curve.hidden));
      button.append(swatch, name, values, extremes);
      button.title = `${curve.hidden ? "Show" : "Hide"} this curve (${unit || "number"})`;
      button.addEventListener("click", () => this.toggle(curve));
      const item = make("li", {});
      item.append(button);
      return item;
    }));
    if (listed.length < this.curves.length) this.legend.append(this.others(this.curves.length - listed.length));
  }

  others(count) {
    const button = make("button", { type: "button", className: "others", textContent: `${count} more …` });
    button.addEventListener("click", () => {
      this.whole = true;
      this.list();
      this.legend.querySelectorAll("button")[LISTED].focus();
    });
    const item = make("li", {});
    item.append(button);
    return item;
  }

  toggle(curve) {
    curve.hidden = !curve.hidden;
    this.hidden[curve.hidden ? "add" : "delete"](curve.label);
    const at = this.curves.indexOf(curve);
    this.show(this.page.incidents());
    this.legend.querySelectorAll("button")[at].focus();
  }
}

/** Return the name of a curve: its target's legend, with the host where one legend stands for several series. */
function label(target, found, alone) {
  if (!target.legend) return printable(found.name, MOST_LABEL);
  if (alone) return target.legend;
  const host = /(?:^|[(,])lnet\.([^.,()]+)\./.exec(found.name)?.[1];
  return printable(`${target.legend}: ${host ?? found.name}`, MOST_LABEL);
}

function utc(text) {
  return typeof text === "string" ? `${text.replace(" ", "T")}${/Z$/.test(text) ? "" : text.length > 10 ? "Z" : ""}` : new Date(text).toISOString();
}

/** Return the parts of a text; what stands between backticks is code. */
export function coded(text) {
  return text.split("`").map((part, number) => (number % 2 ? make("code", { textContent: part }) : part));
}

export function make(name, properties) {
  return Object.assign(document.createElement(name), properties);
}
