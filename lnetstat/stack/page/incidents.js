// Incidents: the events that `lnetstat watch --events` posts, each begin with its end.
import { printable } from "./numbers.js";

const DAY_MS = 86_400_000;
export const LOOK_BACK_MS = DAY_MS; // what began before the range may last into it
const SEVERITIES = ["info", "warning", "critical"];

/** Return [{from, until, open, severity, words}] that touch the range, by time. `until` is `from` where there is no duration. */
export function paired(events, range) {
  const found = [];
  const begun = new Map();
  for (const event of events.map(read).sort((one, other) => one.from - other.from)) {
    const key = `${event.kind}\n${event.subject}`;
    const open = begun.get(key);
    if (event.change === "end" && open) {
      Object.assign(open, { until: event.from, open: false });
      begun.delete(key);
    } else if (event.change === "worse" && open) {
      open.severity = event.severity;
    } else if (event.change === "begin" && !open) {
      begun.set(key, { ...event, open: true, until: range.until });
      found.push(begun.get(key));
    } else if (event.change !== "begin") {
      found.push(event);
    }
  }
  return found.filter((each) => each.until >= range.from && each.from <= range.until);
}

function read(event) {
  const data = object(event.data);
  const tags = Array.isArray(event.tags) ? event.tags : [];
  const from = Number(event.when) * 1000;
  const severity = SEVERITIES.find((each) => each === data.severity || tags.includes(each)) ?? "info";
  const words = printable(text(data.message) || text(event.what) || "incident", 500);
  return { from, until: from, open: false, severity, words, kind: text(data.kind), subject: text(data.subject), change: text(data.change) };
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
