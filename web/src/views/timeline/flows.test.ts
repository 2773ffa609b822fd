import { expect, test } from "vitest";
import { TimeScale } from "$lib/time";
import type { Delivery, Flows, Lane } from "$lib/types";
import { arrowAt, arrowsOf, CALM, curve, drawn, flowColour, modeOf, rowsOf, troubles, verdictOf } from "./flows";
import { laneKey, stack } from "./layout";

const SIZES = { group: 24, state: 19, span: 14, gap: 5 };

function lane(proc: string, role: string, name: string): Lane {
  return { proc, lane: name, worker: `${role}-0`, role, rank: 0, node: "n", state: "running", lost: false, clock_offset_ms: 0, spans: 1, states: 1, running: 0, first: 0, last: 1 };
}

function flow(more: Partial<Delivery> = {}): Delivery {
  return {
    stem: "weights.version", opened: "sent", closed: "received", sender: "t", sender_lane: "trainer", receiver: "w", receiver_lane: null, sent: 100, arrived: 300,
    done: null, verdict: "found", tag: "weights", value: "7", peer: null, reason: null, n: 1, ...more,
  };
}

const lanes = [lane("w", "rollout", "w/0"), lane("w", "rollout", "w/1"), lane("w", "rollout", ""), lane("t", "trainer", "trainer")];
const open = rowsOf(stack(lanes, new Set(), () => 0, SIZES, true), lanes, SIZES);

test("an end is on its lane, else on the lane of its process, else on the heading of its role", () => {
  expect(open("w", "w/1")?.key).toBe(laneKey({ proc: "w", lane: "w/1" }));
  expect(open("w", null)?.key).toBe(laneKey({ proc: "w", lane: "" }));
  expect(open("t", "gone")?.key).toBe(laneKey({ proc: "t", lane: "trainer" }));
  const closed = rowsOf(stack(lanes, new Set(["rollout"]), () => 0, SIZES, true), lanes, SIZES);
  expect(closed("w", "w/1")).toEqual({ y: 12, key: null });
  expect(open("nobody", null)).toBeNull();
});

test("of a lane in focus its own arrows are drawn, and those of its process where it has none", () => {
  const flows = [flow(), flow({ receiver_lane: "w/1" })];
  expect(arrowsOf(flows, open, laneKey({ proc: "w", lane: "w/1" }))).toHaveLength(1);
  expect(arrowsOf(flows, open, laneKey({ proc: "w", lane: "w/0" }))).toHaveLength(2);
  expect(arrowsOf([flow({ receiver: "elsewhere" })], open, null)).toHaveLength(0);
});

test("many are drawn only when asked for, or when a lane is picked", () => {
  const answer = (total: number) => ({ total, kinds: [{ stem: "a", n: 3 }, { stem: "b", n: total - 3 }] }) as Flows;
  expect(drawn(answer(CALM), "auto", false, null)).toBe(true);
  expect(drawn(answer(CALM + 1), "auto", false, null)).toBe(false);
  expect(drawn(answer(CALM + 1), "auto", true, null)).toBe(true);
  expect(drawn(answer(CALM + 1), modeOf("all"), false, null)).toBe(true);
  expect(drawn(answer(CALM + 1), "auto", false, "a")).toBe(true);
  expect(drawn(answer(1), modeOf("0"), true, null)).toBe(false);
});

test("the pointer finds an arrow along its curve, and a stub where nothing arrived", () => {
  const scale = new TimeScale(0, 1000, 1000);
  const arrows = arrowsOf([flow()], open, null);
  const [from, , , to] = curve(arrows[0] as (typeof arrows)[0], scale, 0);
  expect([from[0], to[0]]).toEqual([100, 300]);
  expect(arrowAt(arrows, scale, 0, 200, (from[1] + to[1]) / 2)).toBe(arrows[0]);
  expect(arrowAt(arrows, scale, 0, 200, from[1] + 40)).toBeNull();
  const stub = arrowsOf([flow({ arrived: null, verdict: "missing" })], open, null);
  expect(arrowAt(stub, scale, 0, 103, from[1])).toBe(stub[0]);
  expect(arrowAt(stub, scale, 0, 200, from[1])).toBeNull();
});

test("a verdict says no more than is known", () => {
  expect(verdictOf(flow({ done: 330 }), "rollout-0").text).toBe("received after 200 ms, applied 30 ms later");
  expect(verdictOf(flow({ arrived: null, verdict: "missing" }), "rollout-0")).toMatchObject({ mark: "✗", bad: true });
  expect(verdictOf(flow({ arrived: null, verdict: "unknown" }), "rollout-0")).toMatchObject({ mark: "?", bad: false });
  expect(verdictOf(flow({ arrived: null, verdict: "pending", opened: "put" }), "rollout-0").text).toBe("not taken yet");
  expect(verdictOf(flow({ verdict: "evicted", reason: "too stale" }), "rollout-0").text).toBe("evicted after 200 ms: too stale");
  expect(verdictOf(flow({ arrived: 60 }), "rollout-0").text).toContain("40 ms before it was sent");
  // Recorded a moment after it left is not a clock that differs.
  expect(verdictOf(flow({ arrived: 99.8 }), "rollout-0").text).toBe("received at once");
});

test("a kind tells what did not arrive, and keeps its colour", () => {
  const kind = { stem: "a.b", opened: "sent" as const, n: 9, found: 5, missing: 2, unknown: 1, pending: 1, evicted: 0, rejected: 0, backwards: 0, unrecorded: 0, p50_s: 1, p95_s: 1, max_s: 1 };
  expect(troubles(kind).map((one) => [one.mark, one.n])).toEqual([["✗", 2], ["?", 1], ["○", 1]]);
  expect(flowColour("weights.version", "dark")).toBe(flowColour("weights.other", "dark"));
});
