// What a row of the timeline draws: requests as bars where there is room, as density where there is not; bands; marks.

const BIN = 2;
const TROUBLE = 7;
const SHARES = new Float32Array(8 * 4096);

// canvas x of a time.
function xOf(ns, width) {
  return ((ns - VIEW.from) / (VIEW.to - VIEW.from)) * width;
}

// The places of a connection's requests that reach into the view.
function rangeOf(conn) {
  const first = REQ.firstOf[conn];
  const last = REQ.firstOf[conn + 1];
  if (first === last) return [0, 0];
  const from = lowerBound(REQ.start, VIEW.from - REQ.longest[conn], first, last);
  return [from, lowerBound(REQ.start, VIEW.to, from, last)];
}

function drawRequests(context, row, top, width) {
  const ranges = [];
  let n = 0;
  for (const conn of row.conns) {
    const [from, to] = rangeOf(conn);
    if (to > from) ranges.push([from, to]);
    n += to - from;
  }
  if (n > Math.max(150, width / 3)) drawDensity(context, ranges, { top, height: row.height, width });
  else for (const [from, to] of ranges) drawBars(context, from, to, { top, height: row.height, width });
}

function drawBars(context, from, to, box) {
  const y = box.top + (box.height > 25 ? 9 : 5);
  const height = box.height > 25 ? 14 : 10;
  for (let i = from; i < to; i++) {
    if (!MASK[i] || REQ.end[i] < VIEW.from) continue;
    const x = xOf(REQ.start[i], box.width);
    const width = Math.max(2, xOf(REQ.end[i], box.width) - x);
    const family = FAMILY_OF_API[REQ.api[i]];
    context.fillStyle = width > 5 ? INK.patterns[family] : INK.families[family];
    context.fillRect(x, y, width, height);
    if (width > 7) outlined(context, [x, y, width, height], INK.families[family]);
    if (isTrouble(i)) drawError(context, x + (REQ.error[i] ? width : 0), y, height);
    if (i === VIEW.request) outlined(context, [x - 2, y - 2, width + 4, height + 4], INK.ink, 2);
    if (width > 60) barText(context, i, [x, y, width, height]);
  }
}

function outlined(context, [x, y, width, height], colour, line = 1) {
  context.strokeStyle = colour;
  context.lineWidth = line;
  context.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
}

function barText(context, i, [x, y, width, height]) {
  const left = Math.max(x, 0) + 4;
  const text = apiName(i);
  const room = x + width - left;
  if (context.measureText(text).width + 10 > room) return;
  context.fillStyle = INK.surface;
  context.fillRect(left - 2, y + 1, context.measureText(text).width + 4, height - 2);
  context.fillStyle = INK.ink;
  context.fillText(text, left, y + height / 2 + 0.5);
}

// An error is a triangle at the top of the lane, as tall as it is red.
function drawError(context, x, y, height) {
  context.fillStyle = INK.error;
  context.beginPath();
  context.moveTo(x - 4, y - 4);
  context.lineTo(x + 4, y - 4);
  context.lineTo(x, y + 4);
  context.fill();
  context.fillRect(x - 0.5, y, 1, height);
}

// Requests by column of BIN pixels, stacked by family; the height grows with the logarithm of their number.
function drawDensity(context, ranges, box) {
  const nBins = Math.min(4096, Math.ceil(box.width / BIN));
  SHARES.fill(0, 0, nBins * 8);
  for (const [from, to] of ranges) fillBins(from, to, nBins);
  const base = box.top + box.height - 3;
  const tallest = box.height - 10;
  const errors = [];
  for (let bin = 0; bin < nBins; bin++) {
    const at = bin * 8;
    let sum = 0;
    for (let family = 0; family < TROUBLE; family++) sum += SHARES[at + family];
    if (!sum) continue;
    if (SHARES[at + TROUBLE]) errors.push(bin * BIN);
    drawStack(context, at, { x: bin * BIN, base, height: Math.min(tallest, 3 + Math.log2(1 + sum) * 2.2), sum });
  }
  for (const x of errors) drawError(context, x + 1, box.top + 6, 4);
}

function fillBins(from, to, nBins) {
  const scale = nBins / (VIEW.to - VIEW.from);
  for (let i = from; i < to; i++) {
    if (!MASK[i]) continue;
    const bin = Math.floor((REQ.start[i] - VIEW.from) * scale);
    if (bin < 0 || bin >= nBins) continue;
    SHARES[bin * 8 + FAMILY_OF_API[REQ.api[i]]] += REQ.weight[i];
    if (isTrouble(i)) SHARES[bin * 8 + TROUBLE] += REQ.weight[i];
  }
}

function drawStack(context, at, { x, base, height, sum }) {
  let y = base;
  for (let family = 0; family < TROUBLE; family++) {
    const share = SHARES[at + family];
    if (!share) continue;
    const tall = Math.max(1, (share / sum) * height);
    y -= tall;
    context.fillStyle = INK.families[family];
    context.fillRect(x, y, BIN - 0.4, tall);
  }
}

// A start: hatched one way, a line along its foot. An episode: hatched the other way, a line along its top.
function drawBands(context, row, top, width) {
  const bands = BANDS.get(row.number) || [];
  for (const band of bands) {
    if (band.to < VIEW.from || band.from > VIEW.to) continue;
    const x = Math.max(-5, xOf(band.from, width));
    const wide = Math.max(2, Math.min(width + 5, xOf(band.to, width)) - x);
    const start = band.kind === "start";
    context.fillStyle = start ? INK.starting : INK.recovery;
    context.fillRect(x, top + 1, wide, row.height - 2);
    context.fillStyle = start ? INK.start : INK.error;
    context.fillRect(x, start ? top + row.height - 3 : top + 1, wide, 2);
    if (wide > 40) drawSteps(context, band, { top, height: row.height, width });
  }
}

// Ticks of a band's steps, with names where they have room.
function drawSteps(context, band, box) {
  let free = -1;
  context.fillStyle = band.kind === "start" ? INK.start : INK.error;
  for (const [ns, name] of band.steps) {
    const x = xOf(ns, box.width);
    if (x < 0 || x > box.width) continue;
    const y = band.kind === "start" ? box.top + box.height - 8 : box.top + 1;
    context.fillRect(x, y, 1, 7);
    const wide = name.length * 5.6 + 6;
    if (x < free || wide > 160) continue;
    const next = band.steps.find(([later]) => later > ns);
    if (next && xOf(next[0], box.width) - x < wide) continue;
    context.fillText(name, x + 3, band.kind === "start" ? box.top + box.height - 5.5 : box.top + 6);
    free = x + wide;
  }
}

const BANDS = new Map();

function prepareBands() {
  const add = (identity, band) => {
    const number = clientPlace(identity);
    if (number < 0) return;
    if (!BANDS.has(number)) BANDS.set(number, []);
    BANDS.get(number).push(band);
  };
  for (const start of STORY.starts.listed) {
    const last = start.steps.reduce((end, step) => Math.max(end, step.end_ns ?? 0), start.start_ns);
    const steps = start.steps.filter((step) => step.on_critical_path).map((step) => [step.start_ns, words(step.step)]);
    add(start.client_instance_id, { kind: "start", from: start.start_ns, to: start.ready_ns ?? last, steps, told: start });
  }
  for (const told of STORY.episodes.listed) {
    const steps = told.steps.filter((step) => step.ts_ns !== null).map((step) => [step.ts_ns, words(step.step)]);
    add(told.client_instance_id, { kind: "episode", from: told.start_ns, to: told.recovered_ns ?? END, steps, told });
  }
}

// Ends of connections: how they are drawn says who ended them and how.
function drawEnds(context, row, top, width) {
  const middle = top + row.height / 2;
  for (const number of row.conns) {
    const conn = STORY.lanes.connections[number];
    if (row.kind === "conn") drawLife(context, conn, middle, width);
    const at = conn.close_ns ?? (["refused", "unanswered"].includes(conn.close_kind) ? conn.last_ns : null);
    if (at === null || at < VIEW.from || at > VIEW.to || conn.close_kind === "open") continue;
    if (row.kind === "conn" || conn.close_kind !== "fin_client") drawEnd(context, conn.close_kind, xOf(at, width), middle);
  }
}

function drawLife(context, conn, middle, width) {
  const from = Math.max(0, xOf(conn.first_ns, width));
  const to = Math.min(width, xOf(conn.last_ns, width));
  if (to <= from) return;
  context.fillStyle = INK.line;
  context.fillRect(from, middle - 0.5, to - from, 1);
}

function drawEnd(context, kind, x, middle) {
  const bad = kind !== "fin_client" && kind !== "fin_server";
  context.strokeStyle = bad ? INK.error : INK.muted;
  context.lineWidth = 1.6;
  context.beginPath();
  if (bad) {
    context.moveTo(x - 4, middle - 4);
    context.lineTo(x + 4, middle + 4);
    context.moveTo(x + 4, middle - 4);
    context.lineTo(x - 4, middle + 4);
  } else {
    const side = kind === "fin_server" ? 3 : -3;
    context.moveTo(x + side, middle - 5);
    context.lineTo(x, middle - 5);
    context.lineTo(x, middle + 5);
    context.lineTo(x + side, middle + 5);
  }
  context.stroke();
}
