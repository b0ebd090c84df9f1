// Where things are in the grid of brokers and hosts: a row for each server, below it one for each host, above all the
// incidents.

import { END } from "../facts/data.ts";
import type { Incident, StateGrid } from "../facts/story.d.ts";

export const GRID = { width: 1200, left: 250, right: 10, row: 17, title: 20, foot: 24 };

export function gridX(ns: number) {
  const share = END ? Math.max(0, Math.min(ns, END)) / END : 0;
  return GRID.left + share * (GRID.width - GRID.left - GRID.right);
}

// left and width of a stretch, which is never too thin to be seen. to: null where the capture ended in it.
export function gridExtent(from: number, to: number | null) {
  const left = gridX(from);
  return [left, Math.max(3, gridX(to ?? END) - left)];
}

export interface IncidentMark {
  incident: Incident;
  number: number;
  left: number;
  wide: number;
  level: number;
}

// The incidents as bars; those that overlap are on different levels.
export function incidentMarks(incidents: Incident[]): IncidentMark[] {
  const ends: number[] = [];
  return incidents.map((incident, n) => {
    const [left, wide] = gridExtent(incident.fault_start.by_ns, incident.fault_end?.by_ns ?? incident.end_ns);
    const free = ends.findIndex((end) => end < left);
    const level = free < 0 ? ends.length : free;
    ends[level] = left + wide + 14;
    return { incident, number: n + 1, left, wide, level };
  });
}

// The tops of servers and hosts below that place, and where the last of them ends.
export function gridRows(grid: StateGrid, top: number) {
  let y = top;
  const servers = grid.servers.map((server) => {
    const title = y;
    y += GRID.title;
    const hosts = server.hosts.map((host) => {
      const place = { host, y };
      y += GRID.row;
      return place;
    });
    const more = server.more ? y : -1;
    if (server.more) y += GRID.row;
    y += 6;
    return { server, title, hosts, more };
  });
  return { servers, bottom: y };
}
