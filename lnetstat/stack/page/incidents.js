// Incidents: the events that `lnetstat watch --events` posts, each begin with its end.
import { printable } from "./numbers.js";

const DAY_MS = 86_400_000;
export const LOOK_BACK_MS = DAY_MS; // what began before the range may last into it
const NEARLY = 0.02;
const MOST_DIPS = 200;
const SEVERITIES = ["info", "warning", "critical"];

/** Return [{from, until, open, severity, host, words, period, dips: [[from, until], …]}] that touch the range, by time; `host` is "" where it is not one host's alone.

 What has not ended lasts until the newest value (`newest(host)`, null: its host has none in the range): of later times nobody knows. `until` is `from` where there is no duration.
 */
export function paired(events, range, newest) {
  const found = [];
  const begun = new Map();
  const ended = new Map();
  const told = events.map(read).sort((one, other) => one.told - other.told);
  for (const event of told) {
    const key = `${event.kind}\n${event.state}`;
    const open = begun.get(key);
    if (event.change === "end" && open) {
      Object.assign(open, { until: Math.max(open.from, event.until), open: false });
      if (event.count) Object.assign(open, { seen: event.seen, period: event.period, lasts: event.lasts, count: event.count });
      begun.delete(key);
      ended.set(key, open.until);
    } else if (event.change === "worse" && open) {
      open.severity = event.severity;
    } else if (event.change === "begin" && !open) {
      const from = Math.max(event.from, ended.get(key) ?? 0); // the window in which it was found may hold the one before
      begun.set(key, { ...event, from, until: Math.max(from, Math.min(range.until, newest(event.host) ?? from)), open: true });
      found.push(begun.get(key));
    } else if (event.change !== "begin") {
      found.push(event);
    }
  }
  const shown = found.filter((each) => each.until >= range.from && each.from <= range.until).sort((one, other) => one.from - other.from);
  return shown.map((each) => ({ ...each, dips: dips(each) }));
}

/** Return when the holes of a dead time were: the event says the first's begin, the last's end, how many and how far apart.

 Nothing where these do not fit each other: some cycles had no hole, and which ones is not said.
 */
function dips({ from, seen, period, lasts, count }) {
  const apart = (seen - lasts - from) / (count - 1);
  if (!(count > 1 && period > 0 && Math.abs(apart - period) < NEARLY * period)) return [];
  return Array.from({ length: Math.min(count, MOST_DIPS) }, (_, at) => [from + at * apart, from + at * apart + lasts]);
}

/** Return the hosts that the events name. */
export function hostsOf(events) {
  return [...new Set(events.map((event) => read(event).host).filter(Boolean))];
}

function read(event) {
  const data = object(event.data);
  const tags = Array.isArray(event.tags) ? event.tags : [];
  const from = Number(event.when) * 1000;
  const [told, until] = [data.time_ns, data.end_ns].map((ns) => (typeof ns === "number" ? ns / 1e6 : from));
  const severity = SEVERITIES.find((each) => each === data.severity || tags.includes(each)) ?? "info";
  const words = printable(text(data.message) || text(event.what) || "incident", 500);
  const change = text(data.change);
  const evidence = data.kind === "dead_time" ? object(data.evidence) : {};
  return {
    from, until: Math.max(from, change === "worse" ? from : until), told, open: false, severity, words, host: text(data.host),
    seen: until, period: size(evidence.period_s) * 1000, lasts: size(evidence.duration_s) * 1000, count: size(evidence.incidents),
    kind: text(data.kind), state: text(data.state) || text(data.subject), change,
  };
}

function size(value) {
  return typeof value === "number" && value > 0 ? value : 0;
}

function text(value) {
  return typeof value === "string" ? value : "";
}

function object(json) {
  try {
    const value = typeof json === "string" ? JSON.parse(json) : json;
    return value !== null && typeof value === "object" ? value : {};
  } catch {
    return {};
  }
}
