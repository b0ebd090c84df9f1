// Outcomes as a sign beside the words, so that the colour alone never decides.

import { words } from "../facts/figures.ts";
import { el } from "./dom.ts";

// How the end of an episode is shown: a sign of its own beside the colour.
const OUTCOMES: Record<string, string[]> = {
  recovered: ["✓", "good"],
  ready: ["✓", "good"],
  committed: ["✓", "good"],
  served: ["✓", "good"],
  done: ["✓", "good"],
  still_open: ["●", "warning"],
  open: ["●", "warning"],
  cut: ["✂", "muted"],
  aborted: ["↺", "warning"],
  gave_up: ["✕", "error"],
  failed: ["✕", "error"],
  fatal: ["✕", "error"],
  fenced: ["✕", "error"],
  hanging: ["✕", "error"],
  wrong_reaction: ["!", "error"],
};

// How a client fared: the report's model says which.
const CLIENTS: Record<string, string[]> = {
  well: ["✓", "good"],
  recovered: ["↺", "warning"],
  still_open: ["●", "warning"],
  gave_up: ["✕", "error"],
  never_served: ["✕", "error"],
  unknown: ["?", "muted"],
};

export function outcome(name: string | null, text?: string) {
  return signed(OUTCOMES[name ?? ""], text || words(name));
}

export function clientOutcome(name: string, text: string) {
  return signed(CLIENTS[name], text);
}

function signed([sign, tone]: string[] = ["·", "muted"], text: string) {
  return el("span", { class: `outcome ${tone}` }, el("span", { "aria-hidden": "true" }, `${sign} `), text);
}
