// What the API tells of a run at a glance.

import type { Funnel } from "./flow";
import type { Rates } from "./live";
import type { StepBrief } from "./steps";

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
  /** Lines known to be missing, the most first. */
  losses: { what: "dropped" | "hole"; worker: string; proc: string; lines: number; reason: string | null }[];
  errors: { what: string; at: number; text: string; worker: string | null; count: number }[];
}
