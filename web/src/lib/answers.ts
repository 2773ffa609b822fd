// The shapes of what the API tells of tasks, sessions, steps, flow, hotspots and the moment, as docs/api.md has them.
// Moments are ms since the epoch, fields that end in `_s` are seconds, null is "not recorded".

export type SessionStatus =
  | "accepted" | "rejected" | "failed" | "dropped" | "cancelled" | "running" | "lost" | "pending";

export interface PhaseTime {
  name: string;
  stage: string;
  count: number;
  s: number;
  sum_s: number;
}

/** Stage, start, end and weight version of one piece of a session. */
export type Interval = [stage: string, start: number, end: number, weights: number | null];

export interface Session {
  session: string;
  task: string | null;
  status: SessionStatus;
  reason: string | null;
  error: string | null;
  step: number | null;
  trained_step: number | null;
  worker: string | null;
  proc: string | null;
  submitted: number | null;
  start: number | null;
  end: number | null;
  open: boolean;
  lost: boolean;
  stage: string | null;
  stage_s: number | null;
  age_s: number | null;
  total_s: number | null;
  queue_s: number | null;
  generate_s: number | null;
  tool_s: number | null;
  reward_s: number | null;
  other_s: number | null;
  idle_s: number | null;
  phases: PhaseTime[];
  turns: number | null;
  tokens: number | null;
  reward: number | null;
  weights: number | null;
  staleness: number | null;
  errors: number;
  intervals?: Interval[];
}

export interface Sessions {
  run: string;
  at: number;
  total: number;
  considered: number;
  capped: boolean;
  offset: number;
  sessions: Session[];
}

export interface Turn {
  turn: number | null;
  start: number;
  end: number | null;
  s: number | null;
  open: boolean;
  status: string | null;
}

export type Attrs = Record<string, unknown>;

export interface SessionSpan {
  id: string;
  parent: string | null;
  depth: number;
  kind: string;
  name: string;
  worker: string | null;
  proc: string | null;
  lane: string | null;
  start: number;
  end: number | null;
  s: number | null;
  open: boolean;
  turn: number | null;
  status: string | null;
  reason: string | null;
  attrs: Attrs | null;
}

export interface SessionFact {
  at: number;
  name: string;
  worker: string | null;
  tags: Record<string, string> | null;
  peer: string | null;
  outcome: string | null;
  reason: string | null;
  parent: string | null;
  attrs: Attrs | null;
}

export interface SessionLog {
  at: number;
  level: string;
  message: string;
  worker: string | null;
  parent: string | null;
  attrs: Attrs | null;
}

export interface SessionEvent {
  at: number;
  what: "span" | "fact" | "log";
  index: number;
}

export interface Neighbour {
  session: string;
  status: SessionStatus;
  reward: number | null;
  total_s: number | null;
  tokens: number | null;
  turns: number | null;
  worker: string | null;
  start: number | null;
  open: boolean;
}

export interface SessionStory {
  run: string;
  at: number;
  session: Session;
  turns: Turn[];
  spans: SessionSpan[];
  facts: SessionFact[];
  logs: SessionLog[];
  events: SessionEvent[];
  neighbours: Neighbour[];
  /** What was said of its task. */
  task_attrs?: Attrs | null;
  truncated: boolean;
}

export interface Task {
  task: string;
  status: string;
  reason: string | null;
  step: number | null;
  trained_step: number | null;
  open: boolean;
  submitted: number | null;
  start: number | null;
  end: number | null;
  total_s: number | null;
  sessions: number;
  accepted: number;
  rejected: number;
  failed: number;
  dropped: number;
  cancelled: number;
  running: number;
  lost: number;
  pending: number;
  reward: number | null;
  spread: number | null;
  reward_min: number | null;
  reward_max: number | null;
  rewarded: number;
  zero_spread: boolean;
  tokens: number | null;
}

export interface Tasks {
  run: string;
  at: number;
  total: number;
  capped: boolean;
  offset: number;
  summary: { tasks: number; with_rewards: number; zero_spread: number; zero_spread_share: number | null };
  tasks: Task[];
}

export interface StackPart {
  name: string;
  s: number;
  wait: boolean;
}

/** What the overview tells of a step. */
export interface StepBrief {
  step: number;
  start: number | null;
  step_s: number | null;
  wait_ratio: number | null;
  reward: number | null;
  sessions: number | null;
  outcome: string | null;
  stack: StackPart[];
}

export interface Step extends StepBrief {
  end: number | null;
  lanes: number;
  open: boolean;
  reason: string | null;
  unaccounted_s: number | null;
  wait_s: number | null;
  tasks: number | null;
  reward_std: number | null;
  tokens: number | null;
  zero_spread: number | null;
  generate_s: number | null;
  tool_s: number | null;
  reward_s: number | null;
  queue_s: number | null;
  other_s: number | null;
  idle_s: number | null;
  session_p50_s: number | null;
  session_p95_s: number | null;
  session_max_s: number | null;
  wall_s: number | null;
  tail: { percent: number; sessions: number; wall_share: number | null; time_share: number | null }[];
  slowest: { session: string; worker: string | null; total_s: number } | null;
  staleness: number | null;
  staleness_max: number | null;
  versions: { weights: number; sessions: number; staleness: number | null }[];
}

export interface Steps {
  run: string;
  at: number;
  trainer: string[];
  steps: Step[];
}

export interface StepBatch {
  run: string;
  at: number;
  step: Step | null;
  sessions: Session[];
  total: number;
}

export interface Funnel {
  submitted: number;
  started: number;
  generated: number;
  accepted: number;
  rejected: number;
  dropped: number;
  failed: number;
  cancelled: number;
  running: number;
  lost: number;
  pending: number;
  trained: number | null;
}

export interface Queue {
  queue: string;
  put: number;
  taken: number;
  evicted: number;
  depth: number;
  depth_max: number;
  dwell_p50_s: number | null;
  dwell_p90_s: number | null;
  dwell_p99_s: number | null;
  dwell_max_s: number | null;
  oldest_s: number | null;
  evictions: { reason: string | null; count: number }[];
  /** Moment, depth at the end of the bucket, highest depth in it. */
  depths: [at: number, depth: number, highest: number][];
}

export interface FlowWorker {
  worker: string;
  proc: string;
  sent: number | null;
  received: number | null;
  applied: number | null;
  behind: number | null;
  sessions: number | null;
  staleness: number | null;
}

export interface Flow {
  run: string;
  at: number;
  from: number | null;
  to: number | null;
  capped: boolean;
  funnel: Funnel;
  reasons: { status: string; reason: string | null; sessions: number; worker: string | null }[];
  tasks: Record<string, number>;
  queues: Queue[];
  versions: { weights: number; sessions: number; trained: number | null; staleness: number | null; staleness_max: number | null; workers: number }[];
  workers: FlowWorker[];
}

export interface Stage {
  name: string;
  part: string | null;
  by: string | null;
  count: number;
  total_s: number;
  self_s: number;
  avg_s: number;
  p50_s: number;
  p95_s: number;
  p99_s: number;
  max_s: number;
  errors: number;
  share: number | null;
  slowest: { id: string; proc: string; session: string | null; task: string | null; step: number | null; start: number; worker: string | null } | null;
}

export interface HotspotScope {
  steps: [number, number] | null;
  from: number | null;
  to: number | null;
}

export interface Hotspots {
  run: string;
  at: number;
  scope: HotspotScope;
  spans: number;
  sampled: number;
  stages: Stage[];
}

export interface Example {
  id: string;
  proc: string;
  worker: string | null;
  lane: string | null;
  name: string;
  part: string | null;
  task: string | null;
  session: string | null;
  step: number | null;
  start: number;
  end: number;
  s: number;
  status: string | null;
  reason: string | null;
  attrs: Attrs | null;
}

export interface Examples {
  run: string;
  at: number;
  examples: Example[];
}

export interface FlameNode {
  name: string;
  part: string | null;
  count: number;
  total_s: number;
  self_s: number;
  errors: number;
  children: FlameNode[];
}

export interface Flame {
  run: string;
  at: number;
  scope: HotspotScope;
  spans: number;
  sampled: number;
  root: FlameNode;
}

export interface LiveSession {
  session: string;
  task: string | null;
  stage: string | null;
  stage_s: number | null;
  age_s: number;
  worker: string | null;
  proc: string;
  lane: string | null;
  step: number | null;
  weights: number | null;
  usual_s: number | null;
  stage_usual_s: number | null;
  times_usual: number | null;
  suspect: boolean;
  lost: boolean;
  why: string | null;
}

export interface LiveLane {
  worker: string;
  proc: string;
  lane: string;
  state: string;
  since: number;
  s: number;
  open: boolean;
  wait: boolean;
  lost: boolean;
}

export interface LostProcess {
  worker: string;
  proc: string;
  host: string | null;
  pid: number | null;
  last: number;
  silent_s: number;
  open_sessions: number;
}

export interface Rates {
  sessions_per_s: number | null;
  tokens_per_s: number | null;
  steps_per_min: number | null;
  over_s: number | null;
}

export interface Moment {
  run: string;
  at: number;
  state: string;
  step: number | null;
  open_sessions: number;
  open_tasks: number;
  suspects: number;
  stages: { stage: string | null; sessions: number; oldest_s: number }[];
  sessions: LiveSession[];
  lanes: LiveLane[];
  lost: LostProcess[];
  rates: Rates;
}

export interface Curve {
  name: string;
  points: [step: number, value: number | null][];
}

export interface Overview {
  run: string;
  at: number;
  project: string | null;
  experiment: string | null;
  state: string;
  first: number | null;
  last: number | null;
  duration_s: number | null;
  processes: number;
  live_processes: number;
  lost_processes: number;
  lines: number;
  lines_per_s: number | null;
  step: number | null;
  /** How many steps the run is to have, where it says so. */
  steps_total?: number | null;
  step_s: number | null;
  wait_ratio: number | null;
  reward: number | null;
  zero_spread_share: number | null;
  sessions: Funnel;
  rates: Rates;
  open_sessions: number;
  suspects: number;
  steps: StepBrief[];
  curves: { reward: Curve | null; loss: Curve | null };
  errors: { what: string; at: number; text: string; worker: string | null; count: number }[];
}
