// The clients: a list with how each started and what it met; of the chosen one its starts, recoveries and connections.

import { cutCommand } from "../facts/commands.ts";
import { clientPlace, STORY } from "../facts/data.ts";
import { clock, count, figure, grouped, nodeName, words } from "../facts/figures.ts";
import type { Cause, LaneClient, Recovery } from "../facts/story.d.ts";
import { layRows } from "../layout/rows.ts";
import { VIEW, viewChanged } from "../layout/view.ts";
import { button, byId, command, details, el, filledWhenOpen, hint, jump, replace, section } from "./dom.ts";
import { showConnection } from "./evidence.ts";
import { setFilter } from "./filter_form.ts";
import { episodeBlock } from "./sequence.ts";
import { clientOutcome, outcome } from "./signs.ts";
import { table } from "./table.ts";
import { startBlock } from "./waterfall.ts";

const MOST_CLIENT_ROWS = 200;
const MOST_BLOCKS = 8;

export function clientsSection() {
  return section(
    "clients",
    "Clients",
    STORY.stories.present ? clientTable() : hint(STORY.stories.why_not || ""),
    el("div", { id: "client", tabindex: "-1" }),
  );
}

function clientTable() {
  const everyone = STORY.lanes.clients.map((client, number) => ({ client, number }));
  const mine = everyone.filter(({ client }) => client.kind !== "broker" && client.kind !== "unassigned");
  const columns = [
    ["Client"],
    ["Kind"],
    ["Address"],
    ["Software"],
    ["First seen", "num"],
    ["Start"],
    ["Trouble"],
    ["End"],
    ["Requests", "num"],
  ];
  const rows = mine
    .slice(0, MOST_CLIENT_ROWS)
    .map(({ client, number }) => [
      button(client.name, () => showClient(number, true), { class: "link" }),
      words(client.kind),
      client.client_ip,
      client.software,
      clock(client.first_ns),
      client.start === null ? "" : outcome(client.start_outcome, client.start),
      clientOutcome(client.outcome, client.trouble),
      words(client.end_state),
      figure(client.n_requests),
    ]);
  const more =
    mine.length > MOST_CLIENT_ROWS
      ? hint(`… and ${grouped(mine.length - MOST_CLIENT_ROWS)} more: the timeline has them all.`)
      : null;
  return [table("Clients by the time they were first seen", columns, rows), more];
}

export function showClient(number: number, move: boolean) {
  VIEW.client = number;
  const client = STORY.lanes.clients[number];
  const mine = <R extends { client_instance_id: string | null }>(rows: R[]) =>
    rows.filter((one) => one.client_instance_id === client.client_instance_id);
  const [starts, causes] = [mine(STORY.starts.listed), mine(STORY.episodes.causes)];
  const place = byId("client");
  replace(
    place,
    el("h3", {}, `Client ${client.name}`),
    el("p", {}, client.facts.join(" · ")),
    el(
      "p",
      { class: "row" },
      button(
        "Only this client in the timeline",
        () => {
          setFilter({ client: client.client_instance_id });
          VIEW.open.add(number);
          layRows();
          jump("timeline");
        },
        { class: "small" },
      ),
      command(cutCommand("--client", client.client_instance_id, client.client_instance_id)),
    ),
    starts.slice(0, MOST_BLOCKS).map(startBlock),
    starts.length > MOST_BLOCKS
      ? hint(`… and ${starts.length - MOST_BLOCKS} more starts (table stories/startups).`)
      : null,
    causes.length ? el("h3", {}, `Recoveries of ${client.name}`) : null,
    causes.map(causeBlock),
    connectionTable(client),
  );
  if (move) {
    place.focus({ preventScroll: true });
    jump("client");
  }
  viewChanged();
}

// Recoveries of one cause as one line to open.
function causeBlock(cause: Cause) {
  const made = details([`${cause.heading}: `, outcome(cause.outcome, cause.ended)], false);
  made.dataset.episodes = cause.recovery_ids.join(" ");
  const known = (id: string) => STORY.episodes.listed.find((one) => one.recovery_id === id) as Recovery;
  return filledWhenOpen(made, () => [
    episodeBlock(known(cause.worst)),
    cause.alike.map((id) =>
      details(`${known(id).resource ?? "?"}: ${known(id).ended}`, false, episodeBlock(known(id))),
    ),
  ]);
}

export function showEpisode(id: string) {
  const episode = STORY.episodes.listed.find((one) => one.recovery_id === id);
  if (!episode) return;
  showClient(clientPlace(episode.client_instance_id ?? ""), false);
  const choice = [...document.querySelectorAll<HTMLDetailsElement>("#client details[data-episodes]")].find((one) =>
    one.dataset.episodes?.split(" ").includes(id),
  );
  if (!choice) return jump("client");
  choice.open = true;
  choice.scrollIntoView({ block: "start" });
  choice.querySelector("summary")?.focus({ preventScroll: true });
}

function connectionTable(client: LaneClient) {
  const columns = [
    ["To"],
    ["From"],
    ["Roles"],
    ["Open", "num"],
    ["Until", "num"],
    ["Ended"],
    ["Requests", "num"],
    ["Errors", "num"],
    [""],
  ];
  const rows = client.conns.slice(0, 100).map((n) => {
    const conn = STORY.lanes.connections[n];
    return [
      `${nodeName(conn.node_id)} ${conn.to}`,
      conn.from,
      conn.roles.map((role) => role.text).join("; "),
      clock(conn.first_ns),
      clock(conn.last_ns),
      words(conn.close_kind),
      figure(conn.n_requests),
      figure(conn.n_errors),
      button("Show", () => showConnection(n), {
        class: "small",
        "aria-label": `Show connection ${conn.from} in the timeline`,
      }),
    ];
  });
  const open = details(
    `Its ${count(client.n_connections, "connection")}`,
    false,
    table("Connections of the client", columns, rows),
  );
  open.classList.add("connections");
  return open;
}
