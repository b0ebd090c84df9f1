// The clients: a list with how each started and what it met; of the chosen one its starts, recoveries and connections.

const MOST_CLIENT_ROWS = 200;
const MOST_BLOCKS = 8;

function clientsSection() {
  return section(
    "clients",
    "Clients",
    STORY.stories.present ? clientTable() : hint(STORY.stories.why_not || ""),
    el("div", { id: "client", tabindex: "-1" }),
  );
}

function clientTable() {
  const everyone = STORY.lanes.clients.map((client, number) => ({ client, number }));
  const mine = everyone.filter(({ client }) => client.kind !== "broker"
    && client.kind !== "unassigned");
  const trouble = (client) => STORY.episodes.listed.filter(
    (one) => one.client_instance_id === client.client_instance_id,
  );
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
  const rows = mine.slice(0, MOST_CLIENT_ROWS).map(({ client, number }) => {
    const met = trouble(client);
    const took = met.reduce((most, one) => Math.max(most, one.time_to_recover_ms ?? 0), 0);
    return [
      button(clientName(client), () => showClient(number, true), { class: "link" }),
      words(client.kind),
      client.client_ip,
      [client.software_name, client.software_version].filter(Boolean).join(" "),
      clock(client.first_ns),
      startText(client),
      troubleText(client, met.length ? `${count(met.length, "recovery", "recoveries")}, up to ${span(took * 1000)}` : ""),
      words(client.end),
      grouped(client.n_requests),
    ];
  });
  const more = mine.length > MOST_CLIENT_ROWS
    ? hint(`… and ${grouped(mine.length - MOST_CLIENT_ROWS)} more: the timeline has them all.`)
    : null;
  return [table("Clients by the time they were first seen", columns, rows), more];
}

// What a client met: how long it stood still, and its recoveries from errors.
function troubleText(client, recoveries) {
  if (!client.stood_still) return recoveries || outcome("recovered", "none");
  return [outcome("still_open", client.stood_still), recoveries ? `; ${recoveries}` : ""];
}

function startsOf(client) {
  return STORY.starts.listed.filter((start) => start.client_instance_id === client.client_instance_id);
}

function startText(client) {
  const [first] = startsOf(client);
  if (!first) return "";
  return outcome(
    first.outcome,
    `${first.outcome_text}${first.total_us === null ? "" : ` ${span(first.total_us)}`}${first.failed_step ? ` at ${words(first.failed_step)}` : ""}`,
  );
}

function showClient(number, move) {
  VIEW.client = number;
  const client = STORY.lanes.clients[number];
  const episodes = STORY.episodes.listed.filter((one) => one.client_instance_id === client.client_instance_id);
  const starts = startsOf(client);
  const place = document.getElementById("client");
  replace(
    place,
    el("h3", {}, `Client ${clientName(client)}`),
    clientFacts(client),
    el(
      "p",
      { class: "row" },
      button(
        "Only this client in the timeline",
        () => { setFilter({ client: client.client_instance_id }); VIEW.open.add(number); layRows(); jump("timeline"); },
        { class: "small" },
      ),
      command(cutCommand("--client", client.client_instance_id, client.client_instance_id)),
    ),
    starts.slice(0, MOST_BLOCKS).map(startBlock),
    starts.length > MOST_BLOCKS
      ? hint(`… and ${starts.length - MOST_BLOCKS} more starts (table stories/startups).`)
      : null,
    episodes.length ? el("h3", {}, `Recoveries of ${clientName(client)}`) : null,
    episodeChoices(episodes),
    connectionTable(client),
  );
  if (move) {
    place.focus({ preventScroll: true });
    jump("client");
  }
  viewChanged();
}

function clientFacts(client) {
  const facts = [
    `${words(client.kind)} at ${client.client_ip}`,
    [client.software_name, client.software_version].filter(Boolean).join(" "),
    client.group_id && `group ${client.group_id}${client.group_protocol ? ` (${client.group_protocol})` : ""}`,
    client.transactional_id && `transactional id ${client.transactional_id}`,
    client.principal && `principal ${client.principal}`,
    `${clock(client.first_ns)} to ${clock(client.last_ns)}, ${words(client.end)}`,
    `${count(client.n_requests ?? 0, "request")}, ${count(client.n_errors ?? 0, "error")}`,
    client.identity === "shared" && `more than one client may be in it: ${client.identity_why || ""}`,
  ];
  return el("p", {}, facts.filter(Boolean).join(" · "));
}

// Episodes of one cause as one line each to open; the first that took long is open.
function episodeChoices(episodes) {
  const byCause = new Map();
  for (const episode of episodes) byCause.set(
    episode.cause_id || episode.recovery_id,
    [...(byCause.get(episode.cause_id || episode.recovery_id) || []), episode],
  );
  return [...byCause.values()].map((alike) => {
    const worst = alike.reduce((a, b) => ((b.time_to_recover_ms ?? 1e12) > (a.time_to_recover_ms ?? 1e12) ? b : a));
    const rest = alike.filter((one) => one !== worst);
    const title = [
      `${clock(worst.start_ns)} ${worst.first_error_name}: `,
      outcome(
        worst.outcome,
        `${worst.outcome_text}${worst.time_to_recover_ms === null ? "" : ` after ${span(worst.time_to_recover_ms * 1000)}`}`,
      ),
      rest.length ? ` · ${alike.length} alike` : "",
    ];
    const made = details(title, false);
    made.dataset.episodes = alike.map((one) => one.recovery_id).join(" ");
    const fill = () => made.open && made.childElementCount === 1 && made.append(
      episodeBlock(worst),
      ...rest.slice(0, MOST_BLOCKS).map((one) => details(
        `${one.resource ?? "?"}: ${one.outcome_text}`,
        false,
        episodeBlock(one),
      )),
    );
    made.addEventListener("toggle", fill);
    return made;
  });
}

function showEpisode(id) {
  const episode = STORY.episodes.listed.find((one) => one.recovery_id === id);
  if (!episode) return;
  showClient(clientPlace(episode.client_instance_id), false);
  const choice = [
    ...document.querySelectorAll("#client details[data-episodes]"),
  ].find((one) => one.dataset.episodes.split(" ").includes(id));
  if (!choice) return jump("client");
  choice.open = true;
  choice.scrollIntoView({ block: "start" });
  choice.querySelector("summary").focus({ preventScroll: true });
}

function connectionTable(client) {
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
    const roles = conn.roles.map(
      (role) => `${words(role.role)}${role.subjects.length ? ` of ${listOf(role.subjects, 2)}` : ""}${role.verdict === "confirmed" ? "" : ` (${role.verdict})`}`,
    );
    return [
      `${nodeName(conn.node_id)} ${conn.to}`,
      conn.from,
      roles.join("; "),
      clock(conn.first_ns),
      clock(conn.last_ns),
      words(conn.close_kind),
      grouped(conn.n_requests ?? 0),
      conn.n_errors ?? 0,
      button(
        "Show",
        () => showConnection(n),
        { class: "small", "aria-label": `Show connection ${conn.from} in the timeline` },
      ),
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
