// Which stretch of time is on the screen: a fixed one, or one that follows the run's end.

import { clampTo, pan, zoom } from "$lib/time";
import type { Range } from "$lib/url";

export interface Frame {
  range: Range;
  /** Moves with the run. */
  following: boolean;
}

/** A live run is followed a minute at a time; a run that is over is shown whole. */
export const DEFAULT_LAST_MS = 60_000;

/** What the URL says, within what there is. `last` is in ms; 0 means the whole run. */
export function frameOf(from: number | undefined, to: number | undefined, last: number | undefined, bounds: Range, isLive: boolean): Frame {
  if (from !== undefined && to !== undefined && to > from) return { range: { from, to }, following: false };
  const length = last ?? (isLive ? DEFAULT_LAST_MS : 0);
  const whole = bounds.to - bounds.from;
  if (length <= 0 || length >= whole) {
    const air = isLive ? 0 : whole * 0.01;
    return { range: { from: bounds.from - air, to: bounds.to + air }, following: isLive };
  }
  return { range: { from: bounds.to - length, to: bounds.to }, following: true };
}

export interface Move {
  from: number | null;
  to: number | null;
  last: number | null;
}

/** Zoom, as a change of the URL. While following, the right end stays at the run's end. */
export function zoomed(frame: Frame, factor: number, centre: number, bounds: Range): Move {
  if (frame.following) {
    const length = Math.min((frame.range.to - frame.range.from) * factor, bounds.to - bounds.from);
    return { from: null, to: null, last: Math.max(length, 1) };
  }
  return fixed(clampTo(zoom(frame.range, factor, centre), bounds));
}

export function panned(frame: Frame, share: number, bounds: Range): Move {
  if (frame.following && share > 0) return { from: null, to: null, last: frame.range.to - frame.range.from };
  return fixed(clampTo(pan(frame.range, share), bounds));
}

export function fixed(range: Range): Move {
  return { from: range.from, to: range.to, last: null };
}

/** What to ask the server for, so that small moves need no new answer: the window and a quarter on both sides. */
export function wanted(range: Range, loaded: Range | null): Range {
  const span = range.to - range.from;
  if (loaded) {
    const ratio = (loaded.to - loaded.from) / span;
    if (loaded.from <= range.from && loaded.to >= range.to && ratio < 2.2) return loaded;
  }
  return { from: range.from - span * 0.25, to: range.to + span * 0.25 };
}
