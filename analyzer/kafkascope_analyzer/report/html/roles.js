// What a request is for: its family, with a colour and a pattern of its own, so that neither is needed alone.

const FAMILIES = [
  { name: "data", title: "records: Produce, Fetch", pattern: "solid" },
  { name: "find", title: "discovery: Metadata, FindCoordinator", pattern: "rising" },
  { name: "hello", title: "greeting: ApiVersions, SASL", pattern: "dots" },
  { name: "group", title: "group: join, sync, heartbeat, offsets", pattern: "upright" },
  { name: "txn", title: "transaction", pattern: "cross" },
  { name: "broker", title: "brokers among themselves", pattern: "level" },
  { name: "admin", title: "administration, telemetry, other", pattern: "falling" },
];
const FAMILY_OF = new Map([
  ["Produce", 0], ["Fetch", 0], ["ListOffsets", 0], ["OffsetForLeaderEpoch", 0], ["DeleteRecords", 0],
  ["ShareFetch", 0], ["ShareAcknowledge", 0],
  ["Metadata", 1], ["FindCoordinator", 1], ["DescribeCluster", 1],
  ["ApiVersions", 2], ["SaslHandshake", 2], ["SaslAuthenticate", 2],
  ["JoinGroup", 3], ["SyncGroup", 3], ["Heartbeat", 3], ["LeaveGroup", 3], ["OffsetCommit", 3], ["OffsetFetch", 3],
  ["ConsumerGroupHeartbeat", 3], ["ShareGroupHeartbeat", 3], ["StreamsGroupHeartbeat", 3],
  ["InitProducerId", 4], ["AddPartitionsToTxn", 4], ["AddOffsetsToTxn", 4], ["EndTxn", 4], ["TxnOffsetCommit", 4],
  ["BrokerHeartbeat", 5], ["BrokerRegistration", 5], ["ControllerRegistration", 5], ["AlterPartition", 5],
  ["AllocateProducerIds", 5], ["Envelope", 5], ["Vote", 5], ["BeginQuorumEpoch", 5], ["EndQuorumEpoch", 5],
  ["FetchSnapshot", 5], ["UpdateRaftVoter", 5], ["WriteTxnMarkers", 5], ["LeaderAndIsr", 5], ["StopReplica", 5],
  ["UpdateMetadata", 5], ["ControlledShutdown", 5], ["AssignReplicasToDirs", 5],
  ["InitializeShareGroupState", 5], ["ReadShareGroupState", 5], ["WriteShareGroupState", 5],
]);
const OTHER_FAMILY = 6;
const ROLE_FAMILY = {
  bootstrap: 1, partition_leader: 0, follower_fetch: 0, group_coordinator: 3, share_coordinator: 3,
  transaction_coordinator: 4, controller: 5, inter_broker: 5, admin: 6, telemetry: 6,
};
let FAMILY_OF_API = null;
let INK = null;

function prepareFamilies() {
  FAMILY_OF_API = Uint8Array.from(STORY.requests.apis, (name) => FAMILY_OF.get(name) ?? OTHER_FAMILY);
}

// Colours as the style sheet has them for the light or the dark page, and canvas patterns made of them.
function readInk(context) {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(`--${name}`).trim();
  INK = { families: FAMILIES.map((family) => read(family.name)) };
  for (const name of [
    "surface",
    "ink",
    "muted",
    "line",
    "stripe",
    "error",
    "warning",
    "good",
    "accent",
    "start",
  ]) INK[name] = read(name);
  INK.patterns = FAMILIES.map((family, n) => canvasPattern(context, family.pattern, INK.families[n], INK.surface));
  INK.recovery = canvasPattern(context, "falling", INK.error, "transparent", 0.35);
  INK.slow = canvasPattern(context, "falling", INK.warning, "transparent", 0.35);
  INK.waiting = canvasPattern(context, "cross", INK.warning, "transparent", 0.5);
  INK.starting = canvasPattern(context, "rising", INK.start, "transparent", 0.35);
}

const STROKES = {
  rising: [[0, 6, 6, 0], [-1, 1, 1, -1], [5, 7, 7, 5]],
  falling: [[0, 0, 6, 6], [-1, 5, 1, 7], [5, -1, 7, 1]],
  upright: [[3, 0, 3, 6]],
  level: [[0, 3, 6, 3]],
  cross: [[0, 6, 6, 0], [0, 0, 6, 6]],
};

function canvasPattern(context, kind, colour, gap, strength = 1) {
  if (kind === "solid") return colour;
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const brush = tile.getContext("2d");
  brush.globalAlpha = strength;
  if (gap !== "transparent") {
    brush.fillStyle = colour;
    brush.fillRect(0, 0, 6, 6);
  }
  brush.strokeStyle = brush.fillStyle = gap === "transparent" ? colour : gap;
  brush.lineWidth = 1.4;
  if (kind === "dots") brush.fillRect(2, 2, 2.4, 2.4);
  for (const [x, y, toX, toY] of STROKES[kind] || []) {
    brush.beginPath();
    brush.moveTo(x, y);
    brush.lineTo(toX, toY);
    brush.stroke();
  }
  return context.createPattern(tile, "repeat");
}

// A swatch for the legend and the lane's label: the same colour and pattern, as SVG.
function swatch(familyNumber, size = 14) {
  const family = FAMILIES[familyNumber];
  const strokes = (STROKES[family.pattern] || []).map(([x, y, toX, toY]) => svg(
    "line",
    { x1: x, y1: y, x2: toX, y2: toY, class: "cutout" },
  ));
  if (family.pattern === "dots") strokes.push(svg(
    "rect",
    { x: 2, y: 2, width: 2.4, height: 2.4, class: "cutout-fill" },
  ));
  const box = { class: "swatch", width: size, height: size, viewBox: "0 0 6 6", "aria-hidden": "true" };
  return svg("svg", box, svg("rect", { width: 6, height: 6, class: `family-${family.name}` }), strokes);
}
