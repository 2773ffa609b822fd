// What the API tells of the moment.

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
