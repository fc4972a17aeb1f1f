// What is shown, and the address that says so: ?dashboard=…&last=MINUTES (or from=…&until=…)&host=…&net=…&refresh=SECONDS&fold=SECONDS.

export const RANGES = [[5, "5 min"], [15, "15 min"], [30, "30 min"], [60, "1 h"], [180, "3 h"], [360, "6 h"], [1440, "24 h"], [2880, "2 d"], [10080, "7 d"]];
export const REFRESHES = [0, 5, 10, 60];
export const MOST_FOLD_S = 3600;
const MOST_MINUTES = 10 * 365 * 1440;
const LEAST_MS = 1000; // Carbon keeps whole seconds

/** Return [state, problems]: what the address asks for, and a line about each word of it that is not understood. */
export function read(search, dashboards) {
  const query = new URLSearchParams(search);
  const problems = [];
  const understood = (name, parse, expected) => {
    if (!query.has(name)) return null;
    const value = parse(query.get(name));
    if (value === null) problems.push(`The address says ${name}=${query.get(name).slice(0, 80)}: expected ${expected}.`);
    return value;
  };
  const slugs = dashboards.map((each) => each.slug);
  const slug = understood("dashboard", (text) => (slugs.includes(text) ? text : null), `one of ${slugs.join(", ")}`);
  const minutes = understood("last", (text) => whole(text, 1, MOST_MINUTES), "a number of minutes");
  const from = understood("from", instant, "a time such as 2026-11-20T03:00:00Z");
  const until = understood("until", instant, "a time such as 2026-11-20T04:00:00Z");
  const refresh = understood("refresh", (text) => (REFRESHES.includes(Number(text)) ? Number(text) : null), `one of ${REFRESHES.join(", ")} (seconds)`);
  const fold = understood("fold", (text) => seconds(text), `a period from 1 to ${MOST_FOLD_S} seconds`);
  const dashboard = dashboards.find((each) => each.slug === slug) ?? dashboards[0];
  const exact = from !== null && until !== null && until - from >= LEAST_MS;
  if (!exact && (query.has("from") || query.has("until")) && !problems.length) {
    problems.push("The address needs both from and until, and until must be later.");
  }
  const state = {
    dashboard, minutes: exact ? null : minutes ?? dashboard?.minutes ?? 60, from: exact ? from : null, until: exact ? until : null,
    host: query.get("host") || "*", net: query.get("net") || "*", refresh: refresh ?? 0, fold,
  };
  return [state, problems];
}

/** Return the query of the address that shows this state. */
export function address(state) {
  const query = new URLSearchParams({ dashboard: state.dashboard.slug });
  if (state.minutes === null) {
    query.set("from", new Date(state.from).toISOString());
    query.set("until", new Date(state.until).toISOString());
  } else {
    query.set("last", state.minutes);
  }
  for (const name of ["host", "net"]) if (state[name] !== "*") query.set(name, state[name]);
  if (state.refresh) query.set("refresh", state.refresh);
  if (state.fold) query.set("fold", state.fold);
  return `?${query}`;
}

/** Return the state's time range in epoch milliseconds, whole seconds; `live`: it ends now. */
export function rangeOf(state) {
  if (state.minutes === null) return { from: state.from, until: state.until, live: false };
  const until = Math.floor(Date.now() / 1000) * 1000;
  return { from: until - state.minutes * 60_000, until, live: true };
}

/** Return epoch milliseconds in whole seconds of an ISO time, UTC where it names no zone, or null. */
export function instant(text) {
  const zoned = /(Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text}Z`;
  const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text) ? Date.parse(zoned) : NaN;
  return Number.isNaN(time) || time < 0 ? null : Math.floor(time / 1000) * 1000;
}

/** Return a period in seconds, or null. */
export function seconds(text) {
  const value = Number(text);
  return /^\d+(\.\d+)?$/.test(text) && value >= 1 && value <= MOST_FOLD_S ? value : null;
}

function whole(text, least, most) {
  const value = Number(text);
  return /^\d+$/.test(text) && value >= least && value <= most ? value : null;
}
