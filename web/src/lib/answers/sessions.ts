// What the API tells of sessions and tasks.

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
