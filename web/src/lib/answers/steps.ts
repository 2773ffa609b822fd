// What the API tells of steps and their batches.

import type { Session } from "./sessions";

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
