// Names and patterns of hosts as people type them: rtr01, rtr*, rtr[01-16], oss?, and several of them with commas.

const MOST_NAMES = 500; // of one pattern
const RANGE = /^(\d{1,9})-(\d{1,9})$/;

/** Return whether this is more than one plain name. */
export function isPattern(text) {
  return text !== "*" && /[*?[,]/.test(text);
}

/** Return what stands for it in a Graphite expression. What has a meaning there, or is no range, becomes ?, which fits any one character. */
export function globbed(text) {
  const globs = named(text).map(safe);
  return globs.length > 1 ? `{${globs.join(",")}}` : globs[0] ?? "*";
}

/** Return whether a host's name is one of those meant. */
export function fits(text, name) {
  return named(text).some((each) => new RegExp(`^${safe(each).replace(/[.+$^|]/g, "\\$&").replaceAll("*", ".*").replaceAll("?", ".")}$`, "su").test(name));
}

/** Return the names and globs that a text means: its parts between commas, with ranges written out. */
function named(text) {
  const parts = text.match(/(?:\[[^\]]*\]|[^,])+/g) ?? [];
  return parts.map((part) => part.trim()).filter(Boolean).flatMap(expanded).slice(0, MOST_NAMES);
}

/** Return rtr[01-03,7] as rtr01, rtr02, rtr03, rtr7; anything else as it is. */
function expanded(text) {
  const found = /^(.*?)\[([\d,-]+)\](.*)$/su.exec(text);
  if (!found) return [text];
  const numbers = found[2].split(",").flatMap((part) => {
    if (/^\d+$/.test(part)) return [part];
    const [, first, last] = RANGE.exec(part) ?? [];
    if (first === undefined || Number(last) < Number(first)) return [null];
    const count = Math.min(MOST_NAMES, Number(last) - Number(first) + 1);
    return Array.from({ length: count }, (_, at) => String(Number(first) + at).padStart(first.length, "0"));
  });
  return numbers.includes(null) ? [text] : numbers.flatMap((number) => expanded(found[1] + number + found[3])).slice(0, MOST_NAMES);
}

function safe(text) {
  return text.replace(/[^A-Za-z0-9_\-<>@:+%&#!$~^/*?]/gu, "?");
}
