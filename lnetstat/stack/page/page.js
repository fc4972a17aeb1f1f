// The page: what is chosen, when it is asked for, and who is told.
import { FoldedPanel } from "./folded.js";
import { Failure, events, lastOf, names, pace } from "./graphite.js";
import { fits, isPattern } from "./hosts.js";
import { LOOK_BACK_MS, hostsOf, paired } from "./incidents.js";
import { clock, span, stamp } from "./numbers.js";
import { Panel, coded, make } from "./panel.js";
import { RANGES, address, instant, rangeOf, read } from "./state.js";
import { MISSING, plotly } from "./draw.js";

const { dashboards, pace: PACE, tag: TAG } = JSON.parse(document.getElementById("definition").textContent);
const views = JSON.parse(document.getElementById("views-data").textContent); // what was put here to begin with: [{title, words, query, report, times}]
const STALE_MS = 60_000;
const AT_ONCE = 3;
const MOST_LISTED = 100; // incidents
const MOST_ASKED = 20; // hosts whose newest value ends an incident that is still open
const NEAR = "600px"; // panels further below the window wait until they are scrolled to
const WORDS = { host: "All hosts", net: "All nets" };
const SEVERAL = "several"; // a choice of the list of hosts
const NARROW = matchMedia("(max-width: 45rem)");
const at = (id) => document.getElementById(id);

let state;
let panels = [];
let marked = [];
let pacing = null; // what rates go on over; asked for with the first panel that draws one
let range;
let timer;
let turn = 0;
let settled = 0; // the turn whose first panels are there: before, what comes near waits for them

const nearness = new IntersectionObserver((seen) => {
  for (const { target, isIntersecting } of seen) {
    const panel = panels.find((each) => each.element === target);
    if (!panel) continue;
    panel.near = isIntersecting;
    if (isIntersecting && panel.due && settled === turn) load(panel);
  }
}, { rootMargin: NEAR });

/** Show what the address says. */
function open() {
  if (!location.search && views.length) history.replaceState(null, "", views[0].query);
  const [asked, problems] = read(location.search, dashboards);
  const other = asked.dashboard !== state?.dashboard;
  state = asked;
  pacing = null;
  problem(problems.join(" "));
  if (!state.dashboard) return problem("No dashboards here: lnetstat stack down, then up.");
  if (other) build();
  fillControls();
  refresh();
}

/** Change what is shown; the address follows, and Back undoes it. `home`: the range that a double-click goes back to. */
function change(news, { replace = false, home = history.state?.home } = {}) {
  const query = address({ ...state, ...news });
  if (query === location.search) return refresh();
  history[replace ? "replaceState" : "pushState"](home ? { home } : null, "", query);
  open();
}

function build() {
  nearness.disconnect();
  panels.forEach((panel) => panel.asked?.abort());
  const page = {
    zoom, unzoom, incidents: () => marked, newest: () => newest()?.time,
    fold: () => state.fold,
    setFold: (fold) => {
      state = { ...state, fold };
      history.replaceState(history.state, "", address(state));
    },
  };
  panels = state.dashboard.panels.map((definition) => new (definition.kind === "folded" ? FoldedPanel : Panel)(definition, page));
  at("panels").replaceChildren(...panels.map((panel) => panel.element));
  at("about").replaceChildren(...coded(state.dashboard.description));
  document.title = `${state.dashboard.title} · lnetstat`;
  panels.forEach((panel) => {
    panel.near = inWindow(panel.element);
    nearness.observe(panel.element);
  });
}

/** Ask again for all that is shown: the first picture first, then what is in view, the rest when it comes near. */
async function refresh() {
  clearTimeout(timer);
  const mine = ++turn;
  range = rangeOf(state);
  panels.forEach((panel) => { panel.due = true; });
  const inView = panels.filter((panel) => inWindow(panel.element));
  await each(inView.slice(0, 1), load, mine);
  await each(inView.slice(1), load, mine);
  await Promise.all([mark(mine), choices(mine)]);
  if (mine !== turn) return;
  await Promise.all([plotly().catch(() => null), each(panels.filter((panel) => panel.near && panel.due), load, mine)]);
  for (const panel of panels) if (mine === turn && panel.range && panel.shown !== marked) await panel.show(marked);
  if (mine !== turn) return;
  tellAge();
  settled = mine;
  document.documentElement.dataset.turn = String(mine); // for who waits until all is drawn
  if (state.refresh && range.live) timer = setTimeout(again, state.refresh * 1000);
}

function inWindow(element) {
  const box = element.getBoundingClientRect();
  return box.top < innerHeight && box.bottom > 0;
}

/** Do something for each of a list, AT_ONCE at a time: graphite-web works on one core, and the first picture counts. */
async function each(list, work, mine) {
  const waiting = [...list];
  const worker = async () => {
    while (waiting.length && mine === turn) await work(waiting.shift());
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

function again() {
  // A page that nobody sees asks for nothing.
  if (document.hidden) document.addEventListener("visibilitychange", refresh, { once: true });
  else refresh();
}

async function load(panel) {
  const paced = () => (pacing ??= pace(PACE, range, state).catch(() => undefined)); // then it is not known
  await panel.load(range, state, paced, marked);
  tellAge();
}

async function mark(mine) {
  let failure = "";
  let found = [];
  try {
    const told = await events(TAG, { from: range.from - LOOK_BACK_MS, until: range.until });
    const times = new Map(await Promise.all(hostsOf(told).slice(0, MOST_ASKED).map(async (host) => [host, await lastOf(PACE, range, host)])));
    const shown = newest()?.time ?? range.until;
    found = paired(told, range, (host) => (times.get(host) === undefined ? shown : times.get(host)));
  } catch (error) {
    failure = `Incidents cannot be shown: ${error.message}`;
    if (!(error instanceof Failure)) console.error(error);
  }
  if (mine !== turn) return;
  const shaded = found.filter((each) => !elsewhere(each));
  if (JSON.stringify(shaded) !== JSON.stringify(marked)) marked = shaded;
  listIncidents(found, failure);
}

/** Return whether an incident is known to be of another host than the chosen one. */
function elsewhere(incident) {
  return state.host !== "*" && incident.host !== "" && !fits(state.host, incident.host);
}

function listIncidents(found, failure) {
  const box = at("incidents");
  box.hidden = !found.length && !failure;
  const others = found.filter(elsewhere).length;
  box.querySelector("summary").textContent = failure || `Incidents in this range: ${found.length}${others ? ` (${others} of other hosts, not shaded)` : ""}`;
  box.querySelector("ol").replaceChildren(...found.slice(-MOST_LISTED).reverse().map((each) => {
    const button = make("button", { type: "button", className: "when", title: "Look at this time" });
    const lasted = each.until > each.from ? ` · ${span(each.until - each.from)}${each.open ? " so far" : ""}` : "";
    button.textContent = `${stamp(each.from)}${lasted}`;
    const margin = Math.max(60_000, (each.until - each.from) / 2);
    button.addEventListener("click", () => zoom(each.from - margin, each.until + margin));
    const severity = make("span", { className: `severity ${each.severity}`, textContent: each.severity });
    const item = make("li", { className: elsewhere(each) ? "elsewhere" : "" });
    item.append(button, " ", severity, " ", make("span", { textContent: each.words }));
    return item;
  }));
}

/** Return {time, step} of the newest value shown, or nothing. */
function newest() {
  return panels.map((panel) => panel.newest).filter(Boolean).sort((one, other) => other.time - one.time)[0];
}

function tellAge() {
  const last = newest();
  const status = at("status");
  const shown = `${stamp(range.from)} – ${range.live ? clock(range.until) : stamp(range.until)}`;
  const age = last && range.until - last.time;
  status.classList.toggle("stale", Boolean(last && range.live && age > Math.max(STALE_MS, 2 * last.step)));
  if (!last) status.textContent = panels.some((panel) => panel.near && !panel.range) ? `${shown}. Loading …` : `${shown}. No values.`;
  else if (status.classList.contains("stale")) {
    status.textContent = `${shown}. The newest value is ${span(age)} old (${stamp(last.time)}): do the agents run, does Carbon answer? lnetstat stack status`;
  } else status.textContent = range.live ? `${shown}. Newest value: ${clock(last.time)}.` : shown;
}

/** Offer the hosts and nets that there are. A name in the address that is not there, and has no curve, stays chosen and is said to be absent. */
async function choices(mine) {
  await Promise.all(["host", "net"].map(async (name) => {
    const variable = state.dashboard.variables.find((each) => each.name === name);
    const select = at(name);
    select.closest("label").hidden = !variable;
    if (!variable) return;
    try {
      const found = await names(variable, state);
      if (mine === turn) offer(select, name, found);
    } catch (error) {
      if (mine === turn) problem(`The list of names cannot be had: ${error.message}`);
    }
  }));
}

/** `found`: all names, or null where they are not known yet. */
function offer(select, name, found) {
  const chosen = state[name];
  const several = name === "host" && isPattern(chosen) && !found?.includes(chosen);
  const listed = ["*", ...(found ?? [])];
  const texts = listed.map((each) => (each === "*" ? WORDS[name] : each));
  if (!listed.includes(chosen)) {
    const count = found?.filter((each) => fits(chosen, each)).length;
    const drawn = panels.some((panel) => panel.curves.length);
    listed.push(chosen);
    texts.push(several && count ? `${chosen} (${count})` : found && !drawn ? `${chosen} (none such)` : chosen);
  }
  if (name === "host") {
    listed.push(SEVERAL);
    texts.push("Several …");
  }
  const now = [...select.options].map((each) => each.textContent);
  if (now.join("\n") !== texts.join("\n")) select.replaceChildren(...listed.map((value, index) => make("option", { value, textContent: texts[index] })));
  select.value = chosen;
  if (name === "host") at("hosts").closest("label").hidden = !several;
  if (several) at("hosts").value = chosen;
}

function chooseHost() {
  const chosen = at("host").value;
  if (chosen !== SEVERAL) return change({ host: chosen, net: "*" });
  at("hosts").closest("label").hidden = false;
  at("hosts").focus();
}

function listViews() {
  at("views").hidden = !views.length;
  at("views").querySelector("ol").replaceChildren(...views.map((each) => {
    const item = make("li", {});
    const link = make("a", { textContent: each.title, href: each.query, title: each.words });
    if (new URLSearchParams(each.query).get("from") === new URLSearchParams(location.search).get("from")) link.setAttribute("aria-current", "true");
    item.append(link, ": ", each.words, " ");
    if (each.report) item.append(make("a", { textContent: "Its report", href: each.report }));
    // Here a recording ends when it was replayed, there it lies where it was recorded.
    if (each.report && each.times) item.append(` (times in the report are those of the recording: ${each.times}).`);
    return item;
  }));
}

/** Say in one line what is chosen, for where the controls are folded. */
function summarize() {
  const words = [["host", WORDS.host], ["net", WORDS.net]].map(([name, all]) => (state[name] === "*" ? all : state[name]));
  at("chosen").textContent = `${words.join(" · ")} · ${at("range").selectedOptions[0]?.textContent ?? ""}`;
}

function fillControls() {
  at("dashboards").replaceChildren(...dashboards.map((each) => {
    const link = make("a", { textContent: each.title, href: address({ ...state, dashboard: each }), title: each.description });
    if (each === state.dashboard) link.setAttribute("aria-current", "page");
    link.addEventListener("click", (event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey) return; // the browser's own: another tab, another window
      event.preventDefault();
      change({ dashboard: each });
    });
    return link;
  }));
  const current = at("dashboards").querySelector("[aria-current]");
  at("dashboards").scrollLeft = current.offsetLeft - at("dashboards").offsetLeft; // in a narrow window it may lie outside
  const ranges = RANGES.map(([minutes, words]) => [String(minutes), `last ${words}`]);
  if (state.minutes === null) ranges.unshift(["", "as given"]);
  else if (!RANGES.some(([minutes]) => minutes === state.minutes)) ranges.unshift([String(state.minutes), `last ${state.minutes} min`]);
  at("range").replaceChildren(...ranges.map(([value, textContent]) => make("option", { value, textContent })));
  at("range").value = state.minutes === null ? "" : String(state.minutes);
  at("refresh").value = String(state.refresh);
  at("refresh").disabled = state.minutes === null;
  at("refresh").title = state.minutes === null ? "These times lie still: choose a range that ends now" : "";
  for (const name of ["host", "net"]) if (!at(name).options.length || at(name).value !== state[name]) offer(at(name), name, null);
  const { from, until } = rangeOf(state);
  at("from").value = new Date(from).toISOString().slice(0, 19);
  at("until").value = new Date(until).toISOString().slice(0, 19);
  listViews();
  summarize();
}

function zoom(from, until) {
  const { minutes, from: begin, until: end } = state;
  change({ minutes: null, from: Math.floor(from / 1000) * 1000, until: Math.max(Math.ceil(until / 1000), Math.floor(from / 1000) + 1) * 1000 }, { home: history.state?.home ?? { minutes, from: begin, until: end } });
}

/** Go back to the range from which somebody zoomed in. */
function unzoom() {
  const home = history.state?.home;
  if (home) change(home, { home: null });
}

function move(share) {
  const by = share * (range.until - range.from);
  zoom(range.from + by, range.until + by);
}

function widen() {
  const length = range.until - range.from;
  if (state.minutes === null) zoom(range.from - length / 2, range.until + length / 2);
  else change({ minutes: 2 * state.minutes });
}

function narrow() {
  const quarter = (range.until - range.from) / 4;
  if (state.minutes === null) zoom(range.from + quarter, range.until - quarter);
  else change({ minutes: Math.max(1, Math.floor(state.minutes / 2)) });
}

function problem(text) {
  at("problem").textContent = text;
  at("problem").hidden = !text;
}

const THEMES = ["auto", "light", "dark"];

function theme(next) {
  const root = document.documentElement.dataset;
  if (next) {
    const chosen = THEMES[(THEMES.indexOf(root.theme ?? "auto") + 1) % THEMES.length];
    if (chosen === "auto") delete root.theme;
    else root.theme = chosen;
    try {
      localStorage.setItem("lnetstat-theme", chosen);
    } catch {
      // A browser that keeps nothing: it holds for this page.
    }
    panels.forEach((panel) => panel.show(marked));
  }
  at("theme").textContent = `Colours: ${root.theme ?? "auto"}`;
}

const KEYS = {
  r: ["refresh now", refresh],
  d: ["go to the dashboards", () => at("dashboards").querySelector("[aria-current]").focus()],
  h: ["choose a host", () => at("host").focus()],
  n: ["choose a net", () => at("net").focus()],
  "[": ["earlier by half a width", () => move(-0.5)],
  "]": ["later by half a width", () => move(0.5)],
  "+": ["half as much time", narrow],
  "-": ["twice as much time", widen],
  0: ["back to the dashboard's own range", () => change({ minutes: state.dashboard.minutes, from: null, until: null }, { home: null })],
  t: ["colours: auto, light, dark", () => theme(true)],
  "?": ["this list", () => at("help").showModal()],
};

function listen() {
  at("help").querySelector("dl").replaceChildren(
    ...[...Object.entries(KEYS), ["Escape", ["close this list or a description"]]].flatMap(([key, [words]]) => {
      const term = make("dt", {});
      term.append(make("kbd", { textContent: key }));
      return [term, make("dd", { textContent: words })];
    }),
  );
  document.addEventListener("keydown", (event) => {
    const busy = event.target.closest?.("input, select, textarea, dialog[open]") || event.ctrlKey || event.altKey || event.metaKey;
    if (busy || !Object.hasOwn(KEYS, event.key)) return;
    event.preventDefault();
    KEYS[event.key][1]();
  });
  at("host").addEventListener("change", chooseHost);
  at("hosts").addEventListener("change", () => change({ host: at("hosts").value.trim() || "*", net: "*" }));
  at("net").addEventListener("change", () => change({ net: at("net").value }));
  at("range").addEventListener("change", () => at("range").value && change({ minutes: Number(at("range").value), from: null, until: null }, { home: null }));
  at("refresh").addEventListener("change", () => change({ refresh: Number(at("refresh").value) }, { replace: true }));
  at("earlier").addEventListener("click", () => move(-0.5));
  at("later").addEventListener("click", () => move(0.5));
  at("wider").addEventListener("click", widen);
  at("narrower").addEventListener("click", narrow);
  at("now").addEventListener("click", refresh);
  at("theme").addEventListener("click", () => theme(true));
  at("ask").addEventListener("click", () => at("help").showModal());
  at("controls").addEventListener("submit", (event) => {
    event.preventDefault();
    const [from, until] = [instant(at("from").value), instant(at("until").value)];
    if (document.activeElement === at("hosts")) return; // Enter there chooses hosts
    if (from === null || until === null || until <= from) return problem("From … until: give two times, the second one later.");
    zoom(from, until);
  });
  addEventListener("popstate", open);
  const unfold = () => { at("menu").open = at("views").open = !NARROW.matches; };
  NARROW.addEventListener("change", unfold);
  unfold();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => panels.forEach((panel) => panel.show(marked)));
  document.addEventListener("plotly-missing", () => problem(MISSING));
}

listen();
theme(false);
open();
