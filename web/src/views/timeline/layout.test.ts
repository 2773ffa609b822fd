import { expect, test } from "vitest";
import type { Lane, TimelineAnswer } from "$lib/types";
import { decode, inView, itemAt, laneKey, place, stack, type Item } from "./layout";
import { fixed, frameOf, panned, wanted, zoomed } from "./window";

function item(from: number, to: number, more: Partial<Item> = {}): Item {
  return { from, to, name: 0, part: "", row: 0, n: 1, cover: 1, seq: from, bad: false, open: false, ...more };
}

const answer: TimelineAnswer = {
  run: "r", at: 2000, from: 1000, to: 2000, block_ms: 10, names: ["generate", "tool", "verify"],
  tracks: [
    { lane: 0, part: "state", what: "spans", items: [[100_000, 50_000, 0, 7, 0]] },
    { lane: 0, part: "state", what: "blocks", items: [[20, 12, 1, 40, 1]] },
    { lane: 1, part: "", what: "spans", items: [[0, 1, 2, 8, 0]] },
  ],
  open: [{ nr: 1, part: "state", name: 0, start: 1900, seq: 9 }],
  cut: false,
};

test("spans keep their exact length, blocks say how many and how full", () => {
  const found = decode(answer, ["a~1", "a~2", "a~3"], 2000);
  expect(found.get("a~1")?.states).toMatchObject([
    { from: 1100, to: 1150, n: 1, seq: 7, cover: 1 },
    { from: 1200, to: 1210, n: 12, seq: null, cover: 0.4, bad: true },
  ]);
  expect(found.get("a~2")?.spans[0]).toMatchObject({ from: 1000, to: 1000.001, row: 1 });
  expect(found.get("a~2")?.states[0]).toMatchObject({ from: 1900, to: 2000, open: true });
  expect(found.get("a~3")).toMatchObject({ states: [], spans: [] });
});

test("children lie below their parents, siblings beside each other", () => {
  const items = { states: [], spans: [item(0, 100), item(10, 40), item(40, 90), item(12, 20)], rows: 0 };
  place(items);
  expect(items.spans.map((one) => [one.from, one.row])).toEqual([[0, 1], [10, 2], [12, 3], [40, 2]]);
  expect(items.rows).toBe(3);
});

test("of intervals that begin together the outer part is on top", () => {
  const items = { states: [], spans: [item(0, 5, { part: "phase" }), item(0, 5, { part: "session" }), item(0, 5, { part: "turn" })], rows: 0 };
  place(items);
  expect(items.spans.map((one) => one.part)).toEqual(["session", "turn", "phase"]);
});

test("phases that only repeat the lane's states are left out; others are not", () => {
  const same = { states: [item(0, 5)], spans: [item(0, 5, { part: "phase" }), item(0, 9, { part: "turn", name: 3 })], rows: 0 };
  place(same);
  expect(same.spans.map((one) => one.part)).toEqual(["turn"]);
  const other = { states: [item(0, 5)], spans: [item(0, 5, { part: "phase", name: 4 })], rows: 0 };
  place(other);
  expect(other.spans).toHaveLength(1);
});

test("nothing is placed beside what has not ended", () => {
  const items = { states: [], spans: [item(0, 10, { open: true }), item(50, 60)], rows: 0 };
  place(items);
  expect(items.spans.map((one) => one.row)).toEqual([1, 2]);
});

test("the pointer finds the nearest interval within reach", () => {
  const items = { states: [item(0, 10), item(20, 30)], spans: [], rows: 0 };
  expect(itemAt(items, 0, 25, 2)?.from).toBe(20);
  expect(itemAt(items, 0, 11.5, 2)?.from).toBe(0);
  expect(itemAt(items, 0, 15, 2)).toBeNull();
});

function lane(role: string, name: string, more: Partial<Lane> = {}): Lane {
  return { proc: "p/1", lane: name, worker: `${role}-0`, role, rank: 0, node: "n", state: "running", lost: false, clock_offset_ms: 0, spans: 1, states: 1, running: 0, first: 0, last: 1, ...more };
}

test("800 lanes are stacked once, and only those in view are drawn", () => {
  const lanes = Array.from({ length: 800 }, (_, at) => lane("rollout", `l${at}`));
  const boxes = stack(lanes, new Set(), () => 0, { group: 24, state: 19, span: 14, gap: 5 }, true);
  expect(boxes).toHaveLength(801);
  expect(inView(boxes, 5000, 700).length).toBeLessThan(40);
  expect(stack(lanes, new Set(["rollout"]), () => 0, { group: 24, state: 19, span: 14, gap: 5 }, true)).toHaveLength(1);
});

test("a lane's key survives slashes and commas", () => {
  expect(laneKey(lane("r", "a,b/c~d")).split("~")).toHaveLength(3);
  expect(laneKey({ proc: "p,1", lane: "a b" })).toBe("p%2C1~a%20b");
});

const bounds = { from: 0, to: 600_000 };

test("a live run is followed, a finished one shown whole, and a link is obeyed", () => {
  expect(frameOf(undefined, undefined, undefined, bounds, true)).toEqual({ range: { from: 540_000, to: 600_000 }, following: true });
  expect(frameOf(undefined, undefined, undefined, bounds, false).range).toEqual({ from: -6000, to: 606_000 });
  expect(frameOf(5, 9, undefined, bounds, true)).toEqual({ range: { from: 5, to: 9 }, following: false });
});

test("zooming while following keeps following; going back does not", () => {
  const frame = frameOf(undefined, undefined, undefined, bounds, true);
  expect(zoomed(frame, 0.5, 550_000, bounds)).toEqual({ from: null, to: null, last: 30_000 });
  expect(panned(frame, -0.5, bounds)).toEqual({ from: 510_000, to: 570_000, last: null });
  expect(panned(frame, 0.5, bounds).from).toBeNull();
});

test("small moves need no new answer, large ones do", () => {
  const loaded = wanted({ from: 100, to: 200 }, null);
  expect(loaded).toEqual({ from: 75, to: 225 });
  expect(wanted({ from: 110, to: 210 }, loaded)).toBe(loaded);
  expect(wanted({ from: 130, to: 230 }, loaded)).not.toBe(loaded);
  expect(wanted({ from: 140, to: 160 }, loaded)).not.toBe(loaded);
  expect(fixed({ from: 1, to: 2 })).toEqual({ from: 1, to: 2, last: null });
});
