// The grid of brokers and hosts: how each server address was to each host, as its packets show it. A state has a
// colour, a pattern and its word, so that none of them is needed alone.

import { END, STORY } from "../facts/data.ts";
import { clock } from "../facts/figures.ts";
import type { GridHost, GridStretch } from "../facts/story.d.ts";
import { MARKS } from "../layout/capture_scale.ts";
import { GRID, gridExtent, gridRows, gridX, type IncidentMark, incidentMarks } from "../layout/state_grid.ts";
import { details, el, hint, picture, svg } from "./dom.ts";
import { STROKES } from "./ink.ts";
import { table } from "./table.ts";

const CALM = ["serving", "unknown"];
const MOST_MARKS = 20;
const MOST_ROWS = 500;
const MARK = 14;
const PATTERNS: Record<string, string> = {
  slow: "dots",
  lossy: "upright",
  delayed: "dots",
  mtu: "level",
  flow_dead: "level",
  frozen: "cross",
  down: "solid",
  silent: "falling",
  host_silent: "dots",
  flows_lost: "level",
  refusing: "rising",
  turned_away: "upright",
  not_accepting: "rising",
  unknown: "none",
};

// The picture with its legend and its table; nothing where no broker was ever waited for. show: opens an incident.
export function stateGrid(show: (incidentId: string) => void) {
  const { servers, more, n_failing } = STORY.state_grid;
  if (!servers.length) return null;
  const name = `States of ${servers.length} server addresses to the hosts that talked to them, over the capture; the table below says the same`;
  const marks = incidentMarks(STORY.incidents.listed.slice(0, MOST_MARKS));
  const top = 6 + MARK * (1 + Math.max(-1, ...marks.map((mark) => mark.level)));
  const { servers: rows, bottom } = gridRows(STORY.state_grid, top + 4);
  const drawn = [
    svg(
      "defs",
      {},
      STORY.state_grid.states.map(([state]) => pattern(state)),
    ),
    marksOfTime(bottom),
    marks.length ? label("incidents", MARK - 2) : null,
    marks.map((mark) => incidentMark(mark, bottom, show)),
    rows.map((row) => [
      svg("text", { class: "strong", x: 4, y: row.title + 15 }, row.server.label),
      row.hosts.map(({ host, y }) => hostRow(host, y)),
      row.more < 0 ? null : svg("text", { class: "small", x: 14, y: row.more + 12 }, row.server.more),
    ]),
  ];
  return details(
    "Brokers and hosts: who was served by whom",
    n_failing > 0 || marks.length > 0,
    picture("states", { width: GRID.width, height: bottom + GRID.foot, name }, drawn),
    legend(),
    more ? hint(more) : null,
    stretchTable(),
  );
}

function label(text: string, y: number) {
  return svg("text", { class: "small", x: GRID.left - 8, y, "text-anchor": "end" }, text);
}

function marksOfTime(bottom: number) {
  return MARKS.map((share) => {
    const x = gridX(share * END);
    const place = { x, y: bottom + 14, "text-anchor": share === 1 ? "end" : share === 0 ? "start" : "middle" };
    return [svg("line", { class: "grid", x1: x, x2: x, y1: 4, y2: bottom }), svg("text", place, clock(share * END, 0))];
  });
}

// An incident above the grid, with its number as in the table, which a keyboard opens it from; its time goes down
// through all rows.
function incidentMark(
  { incident, number, left, wide, level }: IncidentMark,
  bottom: number,
  show: (id: string) => void,
) {
  const y = 4 + level * MARK;
  const told = `${number}: ${incident.title}, ${incident.when}`;
  return svg(
    "g",
    { class: `mark ${incident.severity}`, onclick: () => show(incident.incident_id) },
    svg("title", {}, told),
    svg("rect", { class: "during", x: left, y: y + MARK - 3, width: wide, height: bottom - y - MARK + 3 }),
    svg("rect", { class: "bar", x: left, y, width: wide, height: MARK - 3 }),
    svg("text", { x: left + 2, y: y + 9 }, number),
  );
}

function hostRow(host: GridHost, y: number) {
  return [
    label(`${host.host}${host.kind === "client" ? "" : ` (${host.kind})`}`, y + 12),
    svg("rect", {
      class: "lane",
      x: GRID.left,
      y: y + 1,
      width: GRID.width - GRID.left - GRID.right,
      height: GRID.row - 2,
    }),
    host.stretches.map((stretch) => stretchBox(host, stretch, y)),
  ];
}

function stretchBox(host: GridHost, one: GridStretch, y: number) {
  const [left, wide] = gridExtent(one.from_ns, one.to_ns);
  if (one.state === "serving") return svg("rect", { class: "served", x: left, y: y + 7, width: wide, height: 3 });
  if (one.state === "unknown")
    return svg("line", { class: "unasked", x1: left, x2: left + wide, y1: y + 8.5, y2: y + 8.5 });
  const told = `${one.words} to ${host.host}: ${one.text}`;
  const word = wide > 10 + 6.5 * one.words.length ? one.words : wide > 18 ? one.words.slice(0, 2) : "";
  return svg(
    "g",
    { class: `state ${one.state}` },
    svg("title", {}, told),
    svg("rect", { x: left, y: y + 1, width: wide, height: GRID.row - 2, fill: `url(#state-${one.state})` }),
    word ? svg("text", { class: "word", x: left + 4, y: y + 12.5 }, word) : null,
  );
}

// A tile: the state's soft colour with its strokes.
function pattern(state: string) {
  const kind = PATTERNS[state] ?? "none";
  const strokes = (STROKES[kind] || []).map(([x, y, toX, toY]) => svg("line", { x1: x, y1: y, x2: toX, y2: toY }));
  if (kind === "dots") strokes.push(svg("rect", { class: "dot", x: 2, y: 2, width: 2.2, height: 2.2 }));
  const box = { id: `state-${state}`, class: `tile ${state}`, width: 6, height: 6, patternUnits: "userSpaceOnUse" };
  return svg(
    "pattern",
    box,
    svg("rect", { class: kind === "solid" ? "full" : "ground", width: 6, height: 6 }),
    strokes,
  );
}

function legend() {
  return el(
    "ul",
    { class: "legend" },
    STORY.state_grid.states.map(([state, words]) => el("li", {}, swatch(state), words)),
  );
}

function swatch(state: string) {
  const box = { width: 26, height: 12, viewBox: "0 0 26 12", "aria-hidden": "true" };
  if (state === "serving") return svg("svg", box, svg("rect", { class: "served", y: 4, width: 26, height: 3 }));
  if (state === "unknown") return svg("svg", box, svg("line", { class: "unasked", x2: 26, y1: 6, y2: 6 }));
  const tile = svg("rect", { width: 26, height: 12, fill: `url(#state-${state})` });
  return svg("svg", box, svg("g", { class: `state ${state}` }, tile));
}

// The same as text: each stretch in which a server did not serve a host.
function stretchTable() {
  const rows = STORY.state_grid.servers.flatMap((server) =>
    server.hosts.flatMap((host) =>
      host.stretches
        .filter((one) => !CALM.includes(one.state))
        .map((one) => [server.label, host.host, one.words, one.text]),
    ),
  );
  if (!rows.length) return hint("Every host was served whenever it waited.");
  const left = rows.length - MOST_ROWS;
  return details(
    `The same as a table (${rows.length})`,
    false,
    table(
      "States of servers other than served",
      [["Server"], ["Host"], ["State"], ["From and to"]],
      rows.slice(0, MOST_ROWS),
    ),
    left > 0 ? hint(`… and ${left} more: table stories/broker_states.`) : null,
  );
}
