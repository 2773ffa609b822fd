// From the server's tracks to rectangles: which row of its lane an interval lies in, and what is under the pointer.

import type { Lane, Part, TimelineAnswer } from "$lib/types";

export interface Item {
  /** Epoch ms. */
  from: number;
  to: number;
  name: number;
  part: Part;
  /** Row below the lane's state; 0 is the state itself. */
  row: number;
  /** How many intervals it stands for. */
  n: number;
  /** The share of its width that they cover; 1 for a single interval. */
  cover: number;
  /** Null for a block of several. */
  seq: number | null;
  bad: boolean;
  open: boolean;
}

export interface LaneItems {
  states: Item[];
  /** Everything else, by start; rows are filled from 1. */
  spans: Item[];
  rows: number;
}

/** Outer parts first, so that a session lies above its turns and these above their phases. */
const ORDER: Record<Part, number> = { state: 0, task: 1, session: 2, turn: 3, phase: 4, "": 5 };

export const MOST_ROWS = 6;

export function laneKey(lane: Pick<Lane, "proc" | "lane">): string {
  return `${encodeURIComponent(lane.proc)}~${encodeURIComponent(lane.lane)}`;
}

/** Decodes an answer for the lanes that were asked for, in their order. */
export function decode(answer: TimelineAnswer, lanes: readonly string[], now: number): Map<string, LaneItems> {
  const found = new Map<string, LaneItems>();
  const of = (nr: number): LaneItems | undefined => {
    const key = lanes[nr];
    if (key === undefined) return undefined;
    let items = found.get(key);
    if (!items) found.set(key, (items = { states: [], spans: [], rows: 0 }));
    return items;
  };
  lanes.forEach((_, nr) => of(nr));
  for (const track of answer.tracks) {
    const items = of(track.lane);
    if (!items) continue;
    const into = track.part === "state" ? items.states : items.spans;
    const block = track.what === "blocks";
    for (const [start, size, name, more, bad] of track.items) {
      const from = answer.from + (block ? start * answer.block_ms : start / 1000);
      into.push({
        from,
        to: from + (block ? answer.block_ms : size / 1000),
        name,
        part: track.part,
        row: 0,
        n: block ? size : 1,
        cover: block ? Math.min(1, more / 100) : 1,
        seq: block ? null : more,
        bad: bad === 1,
        open: false,
      });
    }
  }
  for (const one of answer.open) {
    const items = of(one.nr);
    if (!items) continue;
    const item: Item = { from: one.start, to: Math.max(one.start, now), name: one.name, part: one.part, row: 0, n: 1, cover: 1, seq: one.seq, bad: false, open: true };
    (one.part === "state" ? items.states : items.spans).push(item);
  }
  for (const items of found.values()) place(items, answer.block_ms);
  return found;
}

/** Gives every span the first free row below what encloses it; phases that only repeat the states above are left out. */
export function place(items: LaneItems, block = 0): void {
  items.states.sort((a, b) => a.from - b.from);
  const states = new Set(items.states.map((one) => one.name));
  const repeated = states.size > 0 && items.spans.every((one) => one.part !== "phase" || states.has(one.name));
  const shown = repeated ? items.spans.filter((one) => one.part !== "phase") : items.spans;
  shown.sort((a, b) => a.from - b.from || ORDER[a.part] - ORDER[b.part] || b.to - a.to);
  const rows: Item[] = [];
  for (const span of shown) {
    const free = rows.findIndex((last) => {
      // What a block stands for lies somewhere in it, so it may share its row with its neighbours. Single intervals
      // arrive in µs: one may end a hair after the next begins.
      const slack = last.seq === null || span.seq === null ? block * 1.01 : 0.002;
      return !last.open && last.to <= span.from + slack;
    });
    const row = free < 0 ? rows.length : free;
    rows[row] = span;
    span.row = Math.min(row + 1, MOST_ROWS);
  }
  items.spans = shown;
  items.rows = Math.min(rows.length, MOST_ROWS);
}

/** The index of the last item that begins at or before `ts`; -1 when none does. */
export function lastBefore(items: readonly Item[], ts: number): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((items[middle] as Item).from <= ts) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** What lies at a moment in a row, allowing for a pointer that is a little off. */
export function itemAt(items: LaneItems, row: number, ts: number, slack: number): Item | null {
  const list = row === 0 ? items.states : items.spans;
  let best: Item | null = null;
  let distance = slack;
  for (const item of list) {
    if (item.from - slack > ts) break;
    if (row !== 0 && item.row !== row) continue;
    if (item.to + slack < ts) continue;
    const off = ts < item.from ? item.from - ts : ts > item.to ? ts - item.to : 0;
    if (off <= distance) {
      best = item;
      distance = off;
    }
  }
  return best;
}

export interface RowBox {
  kind: "group" | "lane";
  key: string;
  lane?: Lane;
  role: string;
  count: number;
  top: number;
  height: number;
}

export interface Sizes {
  group: number;
  state: number;
  span: number;
  gap: number;
}

/** Where every lane lies, under the heading of its role. */
export function stack(lanes: readonly Lane[], closed: ReadonlySet<string>, rowsOf: (key: string) => number, sizes: Sizes, headings: boolean): RowBox[] {
  const boxes: RowBox[] = [];
  const counts = new Map<string, number>();
  for (const lane of lanes) counts.set(lane.role ?? "", (counts.get(lane.role ?? "") ?? 0) + 1);
  let top = 0;
  const seen = new Set<string>();
  for (const lane of lanes) {
    const role = lane.role ?? "";
    if (headings && !seen.has(role)) {
      seen.add(role);
      boxes.push({ kind: "group", key: `role ${role}`, role, count: counts.get(role) ?? 0, top, height: sizes.group });
      top += sizes.group;
    }
    if (headings && closed.has(role)) continue;
    const key = laneKey(lane);
    const height = (lane.states > 0 || lane.spans + lane.running === 0 ? sizes.state : 0) + rowsOf(key) * sizes.span + sizes.gap;
    boxes.push({ kind: "lane", key, lane, role, count: 1, top, height: Math.max(height, sizes.state + sizes.gap) });
    top += Math.max(height, sizes.state + sizes.gap);
  }
  return boxes;
}

/** The boxes that `height` pixels from `top` touch. */
export function inView(boxes: readonly RowBox[], top: number, height: number): RowBox[] {
  return boxes.filter((box) => box.top < top + height && box.top + box.height > top);
}
