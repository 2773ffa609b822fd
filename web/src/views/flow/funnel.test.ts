import { expect, test } from "vitest";
import type { Flow, Funnel, Queue } from "$lib/answers";
import { pace, stagesOf } from "./funnel";

const funnel: Funnel = { submitted: 229, started: 228, generated: 222, accepted: 192, rejected: 0, dropped: 3, failed: 1, cancelled: 6, running: 2, lost: 1, pending: 24, trained: 190 };

test("each stage tells its number, its share and where the others went", () => {
  const [submitted, started, generated, decided, trained] = stagesOf(funnel);
  expect(submitted?.share).toBe(1);
  expect(started?.note).toBe("1 wait for a worker");
  expect(generated?.note).toBe("2 still run");
  expect(decided?.parts.map((one) => one.id)).toEqual(["accepted", "pending", "dropped", "failed", "cancelled", "lost"]);
  expect(trained?.note).toBe("2 accepted ones wait in a queue");
});

test("not recorded is not zero", () => {
  expect(stagesOf({ ...funnel, trained: null })[4]).toMatchObject({ n: null, share: null, parts: [] });
  expect(stagesOf({ ...funnel, trained: 0 })[4]).toMatchObject({ n: 0, share: 0 });
});

test("the pace says who is too slow", () => {
  const queue = (depths: number[], evicted = 0) => ({ queue: "replay", put: 100, evicted, depth_max: Math.max(...depths), depths: depths.map((depth, at) => [at, depth, depth]) }) as unknown as Queue;
  const told = (one: Queue) => pace({ queues: [one] } as unknown as Flow);
  expect(told(queue([0, 0, 0, 0, 0, 0]))).toContain("The trainer is faster");
  expect(told(queue([8, 9, 9, 9, 9, 9]))).toContain("Producers are faster");
  expect(told(queue([8, 9, 9, 9, 9, 9], 50))).toContain("throw 50 of 100 away");
  expect(told(queue([8, 0, 4, 8, 1, 4, 8, 0, 4, 8]))).toContain("empties replay again and again");
  expect(told(queue([4, 5, 9, 4, 5, 4, 3, 4]))).toContain("In pace");
  expect(pace({ queues: [] } as unknown as Flow)).toBeNull();
});
