// What the API tells of stages: their costs, examples and the flame graph.

import type { Attrs } from "./sessions";

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
