// Numbers and times as people read them.

const IEC = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];
const PARTS = [["s", 1], ["ms", 1e-3], ["µs", 1e-6]];

/** Return [divisor, unit] so that a largest value of `most` is neither long nor tiny: bytes in IEC units, seconds down to µs. */
export function scale(unit, most) {
  if (unit.startsWith("bytes")) {
    const power = most >= 1 ? Math.min(IEC.length - 1, Math.floor(Math.log2(most) / 10)) : 0;
    return [1024 ** power, power ? unit.replace("bytes", `${IEC[power]}B`) : unit];
  }
  if (unit === "s" && most > 0) {
    const [name, size] = PARTS.find((part) => most >= part[1]) ?? PARTS.at(-1);
    return [size, name];
  }
  return [1, unit];
}

const plain = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
const large = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

export function number(value) {
  return (Math.abs(value) >= 1000 ? large : plain).format(value).replace("-", "−");
}

/** Return how many decimals the values of a curve have whose largest is `most`: four digits of that one, and no more of the small ones. */
export function decimals(most) {
  return most > 0 ? Math.min(6, Math.max(0, 3 - Math.floor(Math.log10(most)))) : 0;
}

/** Return a number beside one as large as `most`: what is not 0 and would be rounded to it is ≈ 0. */
export function beside(value, most) {
  return value !== 0 && Math.abs(value) < 0.5 * 10 ** -decimals(most) ? "≈ 0" : number(Number(value.toFixed(decimals(most))));
}

/** Return epoch milliseconds as UTC, to the second. */
export function stamp(time) {
  return `${new Date(time).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

export function clock(time) {
  return `${new Date(time).toISOString().slice(11, 19)} UTC`;
}

/** Return a length of time in words: 45 s, 12 min, 3 h, 2 d. */
export function span(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 120) return `${s} s`;
  if (s < 7200) return `${Math.round(s / 60)} min`;
  return s < 172_800 ? `${Math.round(s / 3600)} h` : `${Math.round(s / 86_400)} d`;
}

/** Return text without control characters and direction marks, and not endless: a name must not act. */
export function printable(text, length = 300) {
  const shown = text.replace(/[\p{C}\u2028\u2029]/gu, (c) => `\\u${c.codePointAt(0).toString(16).padStart(4, "0")}`);
  return shown.length > length ? `${shown.slice(0, length - 1)}…` : shown;
}
