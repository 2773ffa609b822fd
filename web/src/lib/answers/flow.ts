// What the API tells of what goes through a run.

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
