// The filter's form, and what happens when the filter changes.

import { STORY } from "../facts/data.ts";
import { words } from "../facts/figures.ts";
import { computeFilter, FILTER, FILTER_TEXTS, type Filter, filterText } from "../facts/filter.ts";
import { layRows } from "../layout/rows.ts";
import { VIEW, viewChanged } from "../layout/view.ts";
import { button, byId, el } from "./dom.ts";

const MOST_OPTIONS = 500;

// The filter's form. What it can choose from is what the capture has; free text reaches the rest.
export function filterForm() {
  const names = STORY.requests;
  const sorted = (list: string[]) =>
    list
      .slice(2)
      .sort()
      .map((name) => [name, name]);
  const clients = STORY.lanes.clients.map((client) => [
    client.client_instance_id,
    `${client.name} (${words(client.kind)})`,
  ]);
  const roles = [...new Set(STORY.lanes.connections.flatMap((conn) => conn.roles.map((role) => role.role)))].sort();
  const form = {
    class: "filter",
    role: "search",
    "aria-label": "Filter the timeline",
    onsubmit: (event: Event) => event.preventDefault(),
  };
  return el(
    "form",
    form,
    el("label", { class: "wide" }, "Find ", findField()),
    choice("client", "Client", clients),
    choice("group", "Group", sorted(names.groups)),
    choice("topic", "Topic", sorted(names.topics)),
    choice("api", "API", sorted(names.apis)),
    choice("error", "Error", sorted(names.errors.filter((name) => name !== "NONE"))),
    choice(
      "role",
      "Role",
      roles.map((role) => [role, words(role)]),
    ),
    tick("errors", "only errors", filterInput),
    tick("brokers", "brokers’ own clients", brokersInput),
    button("Clear", clearFilter, { class: "small" }),
    el("output", { id: "filter-result" }),
  );
}

function findField() {
  const placeholder = "client, address, topic, error, packet …";
  return el("input", { type: "search", name: "text", placeholder, oninput: filterInput });
}

function tick(name: string, text: string, onchange: (event: Event) => void) {
  return el("label", { class: "check" }, el("input", { type: "checkbox", name, onchange }), text);
}

function choice(name: string, title: string, options: string[][]) {
  const more =
    options.length > MOST_OPTIONS
      ? [el("option", { disabled: true }, `… and ${options.length - MOST_OPTIONS} more: use Find`)]
      : [];
  const listed = options.slice(0, MOST_OPTIONS).map(([value, text]) => el("option", { value }, text));
  return el(
    "label",
    {},
    `${title} `,
    el(
      "select",
      { name, onchange: filterInput, disabled: options.length === 0 },
      el("option", { value: "" }, "all"),
      listed,
      more,
    ),
  );
}

// A field of the form by its name: an input or a select.
function field(name: string): HTMLInputElement {
  return document.querySelector(`form.filter [name=${name}]`) as HTMLInputElement;
}

let pendingFilter = 0;

function filterInput() {
  clearTimeout(pendingFilter);
  pendingFilter = window.setTimeout(takeFilter, 120);
}

function takeFilter() {
  for (const name of FILTER_TEXTS) FILTER[name] = field(name).value;
  FILTER.errors = field("errors").checked;
  applyFilter();
}

function brokersInput(event: Event) {
  VIEW.brokers = (event.target as HTMLInputElement).checked;
  applyFilter();
}

export function clearFilter() {
  for (const name of FILTER_TEXTS) FILTER[name] = "";
  FILTER.errors = false;
  showFilter();
  applyFilter();
}

export function showFilter() {
  for (const name of FILTER_TEXTS) field(name).value = FILTER[name];
  field("errors").checked = FILTER.errors;
  field("brokers").checked = VIEW.brokers;
}

export function setFilter(values: Partial<Filter>) {
  Object.assign(FILTER, values);
  showFilter();
  applyFilter();
}

export function applyFilter() {
  computeFilter();
  layRows();
  byId("filter-result").textContent = filterText();
  viewChanged();
}
