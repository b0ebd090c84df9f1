// The one table of all incidents: what and where, when, who stalled, whether it is over.

import { grouped } from "../facts/figures.ts";
import type { Incident, Moment } from "../facts/story.d.ts";
import { button, details, el, hint } from "./dom.ts";
import { outcome } from "./signs.ts";
import { table } from "./table.ts";

const MOST_ROWS = 20;
const COLUMNS = [
  ["What and where"],
  ["Fault from", "num"],
  ["To", "num"],
  ["Served again after"],
  ["Who stalled"],
  ["Over"],
];

export function incidentTable(incidents: Incident[], show: (incidentId: string) => void) {
  const rows = incidents.map((one, n) => [
    [`${n + 1} `, button(one.title, () => show(one.incident_id), { class: "link" })],
    moment(one.fault_start),
    one.fault_end === null ? "not seen" : moment(one.fault_end),
    one.served_after,
    one.who,
    outcome(one.over ? "recovered" : "still_open", one.over_text),
  ]);
  const isBetween = incidents.some((one) => one.fault_start.is_between || one.fault_end?.is_between);
  const others = rows.slice(MOST_ROWS);
  return [
    table("Incidents, the most harm first", COLUMNS, rows.slice(0, MOST_ROWS)),
    isBetween ? hint("a - b: between the two; no packet shows it more exactly.") : null,
    others.length
      ? details(`… and ${grouped(others.length)} more`, false, table("More incidents", COLUMNS, others))
      : null,
  ];
}

// A time, below it the time of day.
function moment(one: Moment) {
  return [one.at, el("span", { class: "wall" }, `${one.of_day} UTC`)];
}
