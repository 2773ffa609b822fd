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
