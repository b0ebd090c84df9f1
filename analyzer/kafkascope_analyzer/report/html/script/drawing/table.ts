// A table: its headings sort it, a field filters it, and a button saves what is shown as CSV.

import { csvOf, fileName, isNumeric, isWanted, orderOf } from "../layout/table_order.ts";
import { announce, button, type Child, el } from "./dom.ts";

// A row of a table: its cells, or cells and the attributes of the row.
type Cells = Child[] | { cells: Child[]; attributes: Record<string, unknown> };

const LEAST_ROWS = 4;
// A table with fewer rows is seen at once: it has neither a field nor a button.
const LONGEST_FILTER = 200;
const ASCENDING = "ascending";
const DESCENDING = "descending";

// A table in a region that scrolls. columns: [title, class]; rows: lists of cells, or {cells, attributes}.
export function table(caption: string, columns: string[][], rows: Cells[], attributes: Record<string, unknown> = {}) {
  const body = rows.map((row) => {
    const cells = Array.isArray(row) ? row : row.cells;
    return el(
      "tr",
      Array.isArray(row) ? {} : row.attributes,
      cells.map((cell, n) => {
        const name = n === 0 ? "th" : "td";
        return el(name, { scope: n === 0 ? "row" : null, class: columns[n][1] }, cell);
      }),
    );
  });
  const isSorted = (n: number) => body.length > 1 && body.some((row) => textOf(row.cells[n]));
  const head = el(
    "tr",
    {},
    columns.map(([title, kind], n) =>
      el("th", { scope: "col", class: kind }, title && isSorted(n) ? heading(title, n) : title),
    ),
  );
  const made = el("table", attributes, el("caption", {}, caption), el("thead", {}, head), el("tbody", {}, body));
  ORDERS.set(made, body);
  const region = el("div", { class: "scrolls", role: "region", "aria-label": caption, tabindex: "0" }, made);
  return rows.length < LEAST_ROWS ? region : el("div", { class: "tabled" }, tools(made, caption), region);
}

// The rows of a table as they stood at first.
const ORDERS = new WeakMap<HTMLTableElement, HTMLTableRowElement[]>();

function heading(title: string, column: number) {
  return button(title, (event) => sort(event.currentTarget as HTMLElement, column), { class: "sort" });
}

// Sorts by a column: first by what a column is looked at for (the greatest number, the first letter), then the other way
// round, then as it was.
function sort(pressed: HTMLElement, column: number) {
  const made = pressed.closest("table") as HTMLTableElement;
  const rows = ORDERS.get(made) ?? [];
  const cells = rows.map((row) => textOf(row.cells[column]));
  const cycle = isNumeric(cells) ? [DESCENDING, ASCENDING] : [ASCENDING, DESCENDING];
  const head = pressed.closest("th") as HTMLElement;
  const next = cycle[cycle.indexOf(head.getAttribute("aria-sort") ?? "") + 1];
  for (const one of made.querySelectorAll("th[aria-sort]")) one.removeAttribute("aria-sort");
  if (next) head.setAttribute("aria-sort", next);
  const order = next ? orderOf(cells, next === DESCENDING).map((place) => rows[place]) : rows;
  made.tBodies[0].append(...order);
  announce(next ? `Sorted by ${pressed.textContent}, ${next}` : "Not sorted");
}

function tools(made: HTMLTableElement, caption: string) {
  const shown = el("span", { class: "quiet", role: "status" });
  const field = el("input", {
    type: "search",
    placeholder: "Filter",
    maxlength: LONGEST_FILTER,
    "aria-label": `Filter the table ${caption}`,
    oninput: () => filter(made, field.value, shown),
  });
  const save = button("CSV", () => saveCsv(made, caption), {
    class: "small",
    "aria-label": `Save what is shown of the table ${caption} as CSV`,
  });
  return el("div", { class: "tools" }, shown, field, save);
}

function filter(made: HTMLTableElement, wanted: string, shown: HTMLElement) {
  const rows = [...made.tBodies[0].rows];
  for (const row of rows) row.hidden = !isWanted([...row.cells].map(textOf), wanted);
  const n = rows.filter((row) => !row.hidden).length;
  shown.textContent = n === rows.length ? "" : `${n} of ${rows.length} rows`;
}

function saveCsv(made: HTMLTableElement, caption: string) {
  const rows = [...made.tBodies[0].rows].filter((row) => !row.hidden).map((row) => [...row.cells].map(textOf));
  const titles = [...(made.tHead as HTMLTableSectionElement).rows[0].cells].map(textOf);
  const columns = titles.map((_, n) => n).filter((n) => titles[n] && rows.some((row) => row[n]));
  const text = csvOf([titles, ...rows].map((row) => columns.map((n) => row[n])));
  const address = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  const link = el("a", { href: address, download: fileName(caption), hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

function textOf(cell: HTMLElement) {
  return (cell.textContent ?? "").trim();
}
