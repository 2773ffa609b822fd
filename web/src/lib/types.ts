// The shapes of the API's answers, as docs/api.md tells them. Times are ms since the epoch.

export type RunState = "live" | "finished" | "lost";

export interface LiveRun {
  run: string;
  lines: number;
  last: number | null;
}

export interface Run {
  run: string;
  project: string | null;
  experiment: string | null;
  state: RunState;
  first: number | null;
  last: number | null;
  processes: number;
  live_processes: number;
  lost_processes: number;
  lines: number;
  lines_per_s: number | null;
  step: number | null;
  reward: number | null;
  /** The course of the reward, at most 40 points, oldest first. */
  rewards: number[];
}

export interface Runs {
  at: number;
  runs: Run[];
}

export interface Lane {
  proc: string;
  /** Empty for what the process did outside of any lane. */
  lane: string;
  worker: string;
  role: string | null;
  rank: number | null;
  node: string | null;
  state: string;
  lost: boolean;
  clock_offset_ms: number;
  spans: number;
  states: number;
  running: number;
  first: number | null;
  last: number | null;
}

export interface Lanes {
  run: string;
  at: number;
  lanes: Lane[];
}

export type Part = "state" | "task" | "session" | "turn" | "phase" | "";

export interface Track {
  /** Index into the lanes that were asked for. */
  lane: number;
  part: Part;
  what: "spans" | "blocks";
  /** Spans: start and length in µs, name, seq, bad. Blocks: number, how many, name, percentage covered, bad. */
  items: [number, number, number, number, number][];
}

export interface TimelineAnswer {
  run: string;
  at: number;
  from: number;
  to: number;
  block_ms: number;
  names: string[];
  tracks: Track[];
  open: { nr: number; part: Part; name: number; start: number; seq: number }[];
  cut: boolean;
}

export interface TimelineSummary {
  run: string;
  at: number;
  from: number;
  to: number;
  buckets: number;
  states: { name: string; lanes: number[] }[];
}

export interface NameStatistics {
  name: string;
  state: boolean;
  n: number;
  s: number;
  mean_s: number;
  p50_s: number;
  p95_s: number;
  max_s: number;
  longest_proc: string;
  longest_seq: number;
}

export interface TimelineStatistics {
  run: string;
  from: number;
  to: number;
  /** The share of the intervals that the quantiles come from. */
  sampled: number;
  names: NameStatistics[];
  lanes: { proc: string; lane: string; s: number; waiting_s: number; most: string }[];
}

export type FlowVerdict = "found" | "rejected" | "evicted" | "missing" | "unknown" | "pending";

/** A delivery from one process to another; of several alike, the slowest. */
export interface Delivery {
  stem: string;
  opened: "sent" | "put" | "requested";
  closed: string | null;
  sender: string;
  /** Null where it is not known on which lane. */
  sender_lane: string | null;
  receiver: string | null;
  receiver_lane: string | null;
  sent: number;
  arrived: number | null;
  done: number | null;
  verdict: FlowVerdict;
  tag: string;
  value: string;
  peer: string | null;
  reason: string | null;
  n: number;
}

export interface FlowKind {
  stem: string;
  opened: "sent" | "put" | "requested";
  n: number;
  found: number;
  missing: number;
  unknown: number;
  pending: number;
  evicted: number;
  rejected: number;
  /** Arrived before they were sent. */
  backwards: number;
  /** Opened, and nobody records what closes it. */
  unrecorded: number;
  p50_s: number | null;
  p95_s: number | null;
  max_s: number | null;
}

export interface Flows {
  run: string;
  at: number;
  from: number;
  to: number;
  /** Where `capped`, only what was under way from then on was looked at. */
  since: number;
  capped: boolean;
  total: number;
  cut: boolean;
  kinds: FlowKind[];
  flows: Delivery[];
  /** Facts that open a delivery of which nobody records the arrival. */
  unrecorded: string[];
}

export interface SpanDetail {
  proc: string;
  seq: number;
  name: string;
  part: Part;
  lane: string | null;
  start: number;
  dur_ms: number | null;
  open: boolean;
  id: string | null;
  parent: string | null;
  trace: string | null;
  task: string | null;
  session: string | null;
  step: number | null;
  status: string | null;
  reason: string | null;
  attrs: Record<string, unknown> | null;
}

export interface Metric {
  name: string;
  kind: "count" | "gauge" | "sample" | "histogram";
  points: number;
  stepped: boolean;
  labels: Record<string, string[]>;
  first: number;
  last: number;
  low: number | null;
  high: number | null;
  now: number | null;
}

export interface Metrics {
  run: string;
  at: number;
  metrics: Metric[];
}

export interface MetricSeries {
  label: string | null;
  values: (number | null)[];
  low: (number | null)[];
  high: (number | null)[];
  n: number[];
  unusable: number;
}

export interface MetricCourse {
  run: string;
  name: string;
  kind: Metric["kind"];
  by: "step" | "time";
  says: string;
  width: number;
  x: number[];
  series: MetricSeries[];
  heat: { low: number; height: number; rows: number; counts: number[][]; log: boolean } | null;
  more: number;
}

export interface Reading {
  now: number;
  course: (number | null)[];
}

export interface FleetNode {
  node: string;
  processes: number;
  live: number;
  lost: number;
  sampled: number | null;
  readings: Record<string, Reading>;
  gpus: { gpu: string; readings: Record<string, Reading> }[];
}

export interface FleetProcess {
  proc: string;
  worker: string;
  role: string | null;
  rank: number | null;
  node: string | null;
  host: string | null;
  pid: number | null;
  state: RunState;
  started: number | null;
  last: number | null;
  heartbeat_s: number | null;
  clock_offset_ms: number | null;
  lines: number;
  dropped: number;
  missing: number;
  running: number;
  versions: Record<string, string> | null;
  config_hash: string | null;
  labels: Record<string, string> | null;
  attrs: Record<string, unknown> | null;
}

export interface Fleet {
  run: string;
  at: number;
  from: number;
  to: number;
  nodes: FleetNode[];
  processes: FleetProcess[];
}

export interface Fact {
  proc: string;
  seq: number;
  at: number;
  name: string;
  worker: string | null;
  tags: Record<string, string>;
  op: string | null;
  attempt: number | null;
  peer: string | null;
  outcome: string | null;
  reason: string | null;
  task: string | null;
  session: string | null;
  step: number | null;
  attrs: Record<string, unknown>;
}

export interface Facts {
  run: string;
  at: number;
  total: number;
  offset: number;
  facts: Fact[];
}

export interface FactVocabulary {
  run: string;
  names: { name: string; n: number; bad: number; first: number; last: number }[];
  tags: { tag: string; n: number; values: number }[];
}

export interface Finding {
  what: string;
  run: string | null;
  proc: string | null;
  lines: number;
  detail: string;
}

export interface HealthAnswer {
  at: number;
  version: string;
  folder?: string;
  collector?: {
    state: string;
    started: number;
    accepted: number;
    duplicates: number;
    batches: number;
    refused: number;
    bytes: number;
    pending_bytes: number;
    processes: number;
    segments: number;
    log_bytes: number;
    free_bytes: number;
    last_error: string | null;
  };
  store: { state?: string; lag_bytes?: number; lag_seconds?: number; lines: number; unreadable: number; last_error: string | null };
  store_bytes: number;
  trust: {
    processes: {
      processes: number;
      finished: number;
      live: number;
      lost: number;
      last_ts: number | null;
      clock_offset: number | null;
      clock_host: string | null;
      schemas: (string | null)[];
      versions: (string | null)[];
    };
    losses: Finding[];
    sizes: { kind: string; rows: number; names: number }[];
    cardinality: { run: string; name: string; series: number }[];
  };
  /** What the last scrape of /metrics could not show as it was recorded. */
  prometheus: { folded: { run: string; metric: string; series: number }[]; renamed: { recorded: string; kind: string; metric: string }[] };
}

export interface Verdict {
  clean: boolean;
  processes: number;
  runs: number;
  lines: number;
  summary: string;
  findings: Finding[];
  more: number;
}
