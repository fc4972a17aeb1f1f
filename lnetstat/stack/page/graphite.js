// What is asked of graphite-web: series, names and events. Failures come as Failure, with words for people.
import { globbed } from "./hosts.js";
import { printable } from "./numbers.js";

export class Failure extends Error {}

const BRIDGED = 60; // where it is not known how often a node is sampled
const ALLOWED = 2.5; // usual distances between values: after more a gap is a gap
const LOOKED_AT = 5; // nodes
const BUCKETS = 100;

/** Return [{target, name, path, points: [[ms, value], …], step}] of a panel; null values are left out of `points`. `most`: points of each;
 `paced`: see pace(). */
export async function series(panel, range, choice, most, paced, signal) {
  const bridged = panel.targets.some((target) => target.expression.includes("$bridged")) ? await paced() : BRIDGED;
  const query = new URLSearchParams({
    format: "json", from: range.from / 1000, until: range.until / 1000, maxDataPoints: Math.max(100, Math.round(most)),
  });
  // The answer does not say which series is of which target: each name gets its target's number in front.
  panel.targets.forEach((target, number) => query.append("target", `aliasSub(${filled(target.expression, choice, bridged)},"^","${number}|")`));
  const answer = await ask(`/render?${query}`, signal);
  if (!Array.isArray(answer)) throw new Failure("graphite-web's answer is not a list of series.");
  return answer.map(({ target, tags, datapoints }) => {
    const bar = target.indexOf("|");
    return {
      target: Number(target.slice(0, bar)),
      name: target.slice(bar + 1),
      path: tags?.name ?? "",
      points: datapoints.filter(([value]) => value !== null).map(([value, time]) => [time * 1000, value]),
      step: datapoints.length > 1 ? (datapoints[1][1] - datapoints[0][1]) * 1000 : 1000,
    };
  });
}

/** Return over how many missing points a rate may go on: from how far apart the values of the series `path` are, the slowest node's. */
export async function pace(path, range, choice) {
  const sent = `isNonNull(limit(removeEmptySeries(${filled(path, choice)}),${LOOKED_AT}))`;
  const query = new URLSearchParams({ format: "json", from: range.from / 1000, until: range.until / 1000, maxDataPoints: BUCKETS });
  // How many values a bucket has, and which share of its points that is: the answer does not say how many points it has.
  for (const how of ["sum", "average"]) query.append("target", `consolidateBy(${sent},"${how}")`);
  const found = await ask(`/render?${query}`);
  const half = found.length / 2;
  const distances = found.slice(0, half).map(({ datapoints }, number) => {
    const filled = datapoints.flatMap(([count], at) => (count > 0 ? [at] : []));
    const points = Math.max(...filled.map((at) => datapoints[at][0] / found[half + number].datapoints[at][0]));
    const apart = median(filled.slice(1).map((at, before) => at - filled[before])) ?? 1;
    return (apart * points) / median(filled.map((at) => datapoints[at][0]));
  }).filter(Number.isFinite);
  return distances.length ? Math.max(1, Math.floor(ALLOWED * Math.max(...distances)) - 1) : BRIDGED;
}

/** Return the time of the newest value of a host in a range, null where it has none then, undefined where there is no such series. */
export async function lastOf(path, range, host) {
  const query = new URLSearchParams({ target: filled(path, { host, net: "*" }), format: "json", from: range.from / 1000, until: range.until / 1000, maxDataPoints: 1000 });
  const [found] = await ask(`/render?${query}`);
  if (!found) return undefined;
  const at = found.datapoints.findLast(([value]) => value !== null);
  return at ? at[1] * 1000 : null;
}

function median(values) {
  return [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)];
}

/** Return the names that a variable can have. */
export async function names(variable, choice, signal) {
  const query = new URLSearchParams({ query: filled(variable.query, choice), format: "json" });
  const found = await ask(`/metrics/find?${query}`, signal);
  return [...new Set(found.map((each) => each.path.split(".")[variable.node]))].filter(Boolean).sort();
}

/** Return Graphite's events with this tag: [{what, when, tags, data}]. */
export function events(tag, range, signal) {
  const query = new URLSearchParams({ tags: tag, from: Math.floor(range.from / 1000), until: Math.ceil(range.until / 1000) + 1 });
  return ask(`/events/get_data?${query}`, signal);
}

function filled(expression, choice, bridged = BRIDGED) {
  return expression.replaceAll("$bridged", bridged).replaceAll("$host", () => globbed(choice.host)).replaceAll("$net", () => globbed(choice.net));
}

async function ask(url, signal) {
  let answer;
  try {
    answer = await fetch(url, { signal, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure("graphite-web does not answer. Does the stack run? (lnetstat stack status)");
  }
  const text = await answer.text();
  if (!answer.ok) throw new Failure(`graphite-web answers ${answer.status}: ${reason(text) || answer.statusText || "no words"}`);
  try {
    return JSON.parse(text);
  } catch {
    throw new Failure(`graphite-web's answer cannot be read: ${printable(text.slice(0, 120))}`);
  }
}

/** Return the words of an error page: the last line of its traceback, else its first line. */
function reason(text) {
  const page = new DOMParser().parseFromString(text, "text/html");
  const trace = page.querySelector("pre, #traceback");
  const lines = (trace ?? page.body).textContent.split("\n").map((line) => line.trim()).filter(Boolean);
  return printable((trace ? lines.at(-1) : lines[0]) ?? "");
}
