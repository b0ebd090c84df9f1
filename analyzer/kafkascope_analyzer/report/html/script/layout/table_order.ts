// In which order a table's rows stand, which of them a filter shows, and what they are as CSV: by the text of their cells.

const UNITS: Record<string, number> = {
  µs: 1,
  ms: 1e3,
  s: 1e6,
  min: 6e7,
  h: 3.6e9,
  B: 1,
  kB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  "%": 1,
  "": 1,
};
const NUMBER = /^([-−+]?)(\d[\d,]*(?:\.\d+)?)\s?(µs|ms|s|min|h|B|kB|MB|GB|TB|%|)(?:\s(\d+)\s(min|s))?$/;
const CLOCK = /^(-?)(?:(\d+):)?(\d\d):(\d\d(?:\.\d+)?)$/;
const GROUPED = /^-?\d{1,3}(,\d{3})+$/;
const PLAIN_NUMBER = /^-?\d+(\.\d+)?$/;
// What a formula of a spreadsheet begins with, also in full width.
const FORMULA = /^[=+\-@\t\r＝＋－＠]/u;
const COLLATOR = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

// The number that a cell shows, durations in microseconds and sizes in bytes; null where it shows none.
export function numberOf(text: string): number | null {
  const clock = CLOCK.exec(text);
  if (clock) {
    const seconds = Number(clock[2] ?? 0) * 3600 + Number(clock[3]) * 60 + Number(clock[4]);
    return (clock[1] ? -1 : 1) * seconds * UNITS.s;
  }
  const found = NUMBER.exec(text);
  if (!found) return null;
  const [, sign, digits, unit, more, moreUnit] = found;
  const value = Number(digits.replaceAll(",", "")) * UNITS[unit] + (more ? Number(more) * UNITS[moreUnit] : 0);
  return sign === "-" || sign === "−" ? -value : value;
}

// Whether a column is one of numbers: each of its cells that has text shows one.
export function isNumeric(cells: string[]) {
  const filled = cells.filter((text) => text);
  return filled.length > 0 && filled.every((text) => numberOf(text) !== null);
}

// The places of the rows in the order of a column's cells; equal ones stay as they are, empty ones are last.
export function orderOf(cells: string[], isDescending: boolean): number[] {
  const places = cells.map((_, n) => n);
  const numbers = isNumeric(cells) ? cells.map(numberOf) : null;
  const compare = (a: number, b: number) =>
    numbers ? (numbers[a] ?? 0) - (numbers[b] ?? 0) : COLLATOR.compare(cells[a], cells[b]);
  return places.sort((a, b) => {
    if (!cells[a] || !cells[b]) return Number(!cells[a]) - Number(!cells[b]) || a - b;
    return (isDescending ? -compare(a, b) : compare(a, b)) || a - b;
  });
}

// Whether a row has the wanted text, in any case.
export function isWanted(row: string[], wanted: string) {
  const text = wanted.trim().toLowerCase();
  return !text || row.some((cell) => cell.toLowerCase().includes(text));
}

// Rows as CSV (RFC 4180). Numbers are without commas; text that a spreadsheet would take for a formula begins with an
// apostrophe, as in `kafkascope sql --format csv`.
export function csvOf(rows: string[][]) {
  return rows.map((row) => `${row.map(csvCell).join(",")}\r\n`).join("");
}

function csvCell(text: string) {
  const plain = GROUPED.test(text) ? text.replaceAll(",", "") : text;
  const safe = FORMULA.test(plain) && !PLAIN_NUMBER.test(plain) ? `'${plain}` : plain;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

// The name of a file for a table: what of its caption is safe in any file system.
export function fileName(caption: string) {
  const name = caption
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, 60)
    .replace(/^-|-$/g, "");
  return `${name || "table"}.csv`;
}
