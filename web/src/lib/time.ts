// The time axis: from time to pixels and back, where its ticks stand, and how zoom and pan move it.

import type { Range } from "$lib/url";
import { clock } from "$lib/format";

/** The narrowest window, in ms: a tenth of a microsecond, near what a float holds for today's dates. */
export const NARROWEST_MS = 0.01;

export class TimeScale {
  constructor(
    readonly from: number,
    readonly to: number,
    readonly width: number,
  ) {}

  get span(): number {
    return this.to - this.from;
  }

  x(ts: number): number {
    return ((ts - this.from) / this.span) * this.width;
  }

  t(x: number): number {
    return this.from + (x / this.width) * this.span;
  }
}

/** Zoom by `factor` (below 1 is closer) around the moment `centre`, which stays where it is. */
export function zoom(range: Range, factor: number, centre: number): Range {
  const span = Math.max((range.to - range.from) * factor, NARROWEST_MS);
  const share = (centre - range.from) / (range.to - range.from);
  return { from: centre - span * share, to: centre + span * (1 - share) };
}

export function pan(range: Range, share: number): Range {
  const by = (range.to - range.from) * share;
  return { from: range.from + by, to: range.to + by };
}

/** Move and shrink a window so that it does not leave `bounds` by more than a tenth of its own width. */
export function clampTo(range: Range, bounds: Range): Range {
  const span = Math.min(range.to - range.from, (bounds.to - bounds.from) * 1.2);
  const slack = span * 0.1;
  const from = Math.min(Math.max(range.from, bounds.from - slack), Math.max(bounds.to + slack - span, bounds.from - slack));
  return { from, to: from + span };
}

/** A window around `range` with some air on both sides. */
export function around(range: Range, air = 0.08): Range {
  const by = Math.max((range.to - range.from) * air, NARROWEST_MS / 2);
  return { from: range.from - by, to: range.to + by };
}

const STEPS_MS = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 10e3, 15e3,
  30e3, 60e3, 120e3, 300e3, 600e3, 900e3, 1800e3, 3600e3, 7200e3, 10800e3, 21600e3, 43200e3, 86400e3, 172800e3, 604800e3,
];

export interface Tick {
  ts: number;
  label: string;
}

/** Ticks at round offsets from `origin` (the start of the run), or at round times of day when there is none. */
export function ticks(scale: TimeScale, origin: number | null, spacing = 110): Tick[] {
  const wanted = scale.span / Math.max(1, scale.width / spacing);
  const step = STEPS_MS.find((one) => one >= wanted) ?? STEPS_MS[STEPS_MS.length - 1] ?? 1;
  const zero = origin ?? -new Date(scale.from).getTimezoneOffset() * -60_000;
  const found: Tick[] = [];
  for (let n = Math.ceil((scale.from - zero) / step); zero + n * step <= scale.to && found.length < 200; n += 1) {
    const ts = zero + n * step;
    found.push({ ts, label: origin === null ? clock(ts, decimalsFor(step)) : offset(n * step, step) });
  }
  return found;
}

/** The distance from the start of the run, as exact as the step between ticks: `12.5s`, `3:05`, `1:02:30`. */
export function offset(ms: number, step = 1): string {
  const sign = ms < 0 ? "−" : "";
  const size = Math.abs(ms);
  const decimals = decimalsFor(step);
  if (size < 60_000) return `${sign}${(size / 1000).toFixed(decimals)}s`;
  const rounded = Number((size / 1000).toFixed(decimals));
  const hours = Math.floor(rounded / 3600);
  const minutes = Math.floor((rounded % 3600) / 60);
  const seconds = (rounded % 60).toFixed(decimals).padStart(decimals ? 3 + decimals : 2, "0");
  return hours
    ? `${sign}${hours}:${String(minutes).padStart(2, "0")}:${seconds}`
    : `${sign}${minutes}:${seconds}`;
}

function decimalsFor(step: number): number {
  return Math.max(0, Math.min(6, Math.ceil(3 - Math.log10(step) - 1e-9)));
}
