// Where the steps of a recovery are in its sequence diagram.

import type { Recovery, RecoveryStep } from "../facts/story.d.ts";

export interface Lifelines {
  nodes: (number | null)[];
  x: (node: number | null) => number;
  client: number;
}

const SEQUENCE_LINE = 24;

// Lifelines: the client, then the brokers in order of node id, those without one last.
export function lifelines(episode: Recovery, steps: RecoveryStep[]) {
  const old = steps.some((step) => step.step === "hint") && episode.old_node_id !== null ? [episode.old_node_id] : [];
  const last = (node: number | null) => node ?? Number.MAX_SAFE_INTEGER;
  const nodes = [...new Set([...old, ...steps.map((step) => step.node_id)])].sort((a, b) => last(a) - last(b));
  const apart = Math.min(230, 560 / Math.max(1, nodes.length));
  return { nodes, x: (node: number | null) => 330 + (nodes.indexOf(node) + 0.6) * apart, client: 170 };
}

// Several of the same in a row are one line that says how many.
function mergedSteps(steps: RecoveryStep[]) {
  const made: { step: RecoveryStep; n: number }[] = [];
  for (const step of steps) {
    const last = made.at(-1);
    const same =
      last &&
      last.step.step === step.step &&
      last.step.node_id === step.node_id &&
      last.step.error_name === step.error_name;
    if (same) last.n += 1;
    else made.push({ step, n: 1 });
  }
  return made;
}

// The lines from top to bottom; the distance between two grows with the logarithm of the time between them.
export function placedSteps(episode: Recovery, steps: RecoveryStep[]) {
  let y = 46;
  let before = episode.start_ns ?? 0;
  const placed = mergedSteps(steps).map(({ step, n }) => {
    y +=
      SEQUENCE_LINE + Math.min(26, Math.max(0, Math.log10(Math.max(1, ((step.ts_ns ?? before) - before) / 1e5)) * 5));
    before = step.ts_ns ?? before;
    return { step, n, y };
  });
  return { placed, height: y + 24 };
}
