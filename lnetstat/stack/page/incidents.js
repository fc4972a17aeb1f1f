// Incidents: the events that `lnetstat watch --events` posts, each begin with its end.
import { printable } from "./numbers.js";

const DAY_MS = 86_400_000;
export const LOOK_BACK_MS = DAY_MS; // what began before the range may last into it
const SEVERITIES = ["info", "warning", "critical"];

/** Return [{from, until, open, severity, host, words}] that touch the range, by time; `host` is "" where it is not one host's alone.

 What has not ended lasts until the newest value (`range.newest`): of later times nobody knows. `until` is `from` where there is no duration.
 */
export function paired(events, range) {
  const found = [];
  const begun = new Map();
  const ended = new Map();
  const told = events.map(read).sort((one, other) => one.told - other.told);
  for (const event of told) {
    const key = `${event.kind}\n${event.state}`;
    const open = begun.get(key);
    if (event.change === "end" && open) {
      Object.assign(open, { until: Math.max(open.from, event.until), open: false });
      begun.delete(key);
      ended.set(key, open.until);
    } else if (event.change === "worse" && open) {
      open.severity = event.severity;
    } else if (event.change === "begin" && !open) {
      const from = Math.max(event.from, ended.get(key) ?? 0); // the window in which it was found may hold the one before
      begun.set(key, { ...event, from, until: Math.max(from, Math.min(range.until, range.newest ?? range.until)), open: true });
      found.push(begun.get(key));
    } else if (event.change !== "begin") {
      found.push(event);
    }
  }
  return found.filter((each) => each.until >= range.from && each.from <= range.until).sort((one, other) => one.from - other.from);
}

function read(event) {
  const data = object(event.data);
  const tags = Array.isArray(event.tags) ? event.tags : [];
  const from = Number(event.when) * 1000;
  const [told, until] = [data.time_ns, data.end_ns].map((ns) => (typeof ns === "number" ? ns / 1e6 : from));
  const severity = SEVERITIES.find((each) => each === data.severity || tags.includes(each)) ?? "info";
  const words = printable(text(data.message) || text(event.what) || "incident", 500);
  const change = text(data.change);
  return {
    from, until: Math.max(from, change === "worse" ? from : until), told, open: false, severity, words, host: text(data.host),
    kind: text(data.kind), state: text(data.state) || text(data.subject), change,
  };
}

function text(value) {
  return typeof value === "string" ? value : "";
}

function object(json) {
  try {
    const value = JSON.parse(json);
    return value !== null && typeof value === "object" ? value : {};
  } catch {
    return {};
  }
}
