import { expect, test } from "vitest";
import type { Flow, LiveLane, Moment, Overview, Stage, Step } from "$lib/answers";
import { insights, stragglers } from "./insights";
import { rolesNow } from "./lanes";
import { eta, niceTicks, order, phasesOf } from "./stack";

const calm = { steps: [], errors: [] } as unknown as Overview;
const stage = (by: string, p50_s: number, name = "generate") => ({ name, by, p50_s, total_s: 1, count: 50 }) as Stage;

test("a calm run has nothing to look at", () => {
  expect(insights({ overview: calm })).toEqual([]);
});

test("the worker that takes twice as long is named, with the factor and the others' time", () => {
  const [found, ...others] = stragglers([stage("rollout-0", 0.01), stage("rollout-1", 0.08), stage("rollout-2", 0.011), stage("rollout-3", 0.01)]);
  expect(found?.title).toBe("rollout-1 is a straggler: generate takes 8.0× as long");
  expect(found?.detail).toContain("10 ms on the others");
  expect(others).toEqual([]);
});

test("two workers are too few to say which is the slow one", () => {
  expect(stragglers([stage("a", 0.01), stage("b", 0.08)])).toEqual([]);
});

test("a hung session comes before everything that is only slow, and leads to it", () => {
  const moment = { lost: [], sessions: [{ session: "task-9.2", suspect: true, lost: false, age_s: 15, worker: "rollout-1", why: "in tool for 14.2 s" }] } as unknown as Moment;
  const found = insights({ overview: calm, moment, byWorker: [stage("a", 0.01), stage("b", 0.08), stage("c", 0.01)] });
  expect(found.map((one) => one.tone)).toEqual(["bad", "warn"]);
  expect(found[0]).toMatchObject({ view: "session", patch: { session: "task-9.2" } });
});

test("a lost worker is told of once, not also as one with old weights", () => {
  const moment = { sessions: [], lost: [{ worker: "rollout-1", proc: "p1", silent_s: 9, open_sessions: 0 }] } as unknown as Moment;
  const flow = { funnel: {}, reasons: [], queues: [], workers: [{ worker: "rollout-1", proc: "p1", behind: 26 }, { worker: "rollout-2", proc: "p2", behind: 9 }] } as unknown as Flow;
  expect(insights({ overview: calm, moment, flow }).map((one) => one.id)).toEqual(["lost-p1", "behind-p2"]);
});

test("groups without spread are told as a share of the last steps", () => {
  const steps = [1, 2, 3].map((step) => ({ step, tasks: 4, zero_spread: 3, tail: [] }) as unknown as Step);
  expect(insights({ overview: calm, steps })[0]?.title).toBe("75.0% of the groups teach nothing");
});

test("what is thrown away names its most frequent reason", () => {
  const flow = {
    funnel: { generated: 100, rejected: 0, dropped: 30, failed: 1 },
    reasons: [{ status: "failed", reason: "timeout", sessions: 1 }, { status: "dropped", reason: "too stale", sessions: 30 }],
    queues: [],
    workers: [],
  } as unknown as Flow;
  expect(insights({ overview: calm, flow })[0]?.detail).toBe("mostly dropped: too stale (30)");
});

test("missing lines are told with whose they are, and lead to Health", () => {
  const overview = { ...calm, lines: 900, losses: [{ what: "dropped", worker: "rollout-1", proc: "p", lines: 80, reason: "spool full" }, { what: "hole", worker: "rollout-2", proc: "q", lines: 20, reason: null }] } as unknown as Overview;
  expect(insights({ overview })[0]).toMatchObject({ id: "lost-lines", tone: "bad", view: "health", title: "100 lines are missing (10.0%)" });
  expect(insights({ overview })[0]?.detail).toBe("80 of them of rollout-1, dropped by its recorder: spool full; figures may lack them");
});

test("phases stack in one order in every step: work first, waiting last", () => {
  const steps = [
    { stack: [{ name: "wait_batch", s: 9, wait: true }, { name: "train", s: 2, wait: false }] },
    { stack: [{ name: "sync", s: 1, wait: false }, { name: "train", s: 2, wait: false }] },
  ];
  const phases = phasesOf(steps);
  expect(phases.map((one) => one.name)).toEqual(["train", "sync", "wait_batch"]);
  expect(phases[0]?.share).toBeCloseTo(4 / 14);
  const ranks = new Map(phases.map((one, at) => [one.name, at]));
  expect(order(steps[0]?.stack ?? [], ranks).map((one) => one.name)).toEqual(["train", "wait_batch"]);
});

test("the end is known only when somebody said how many steps there are", () => {
  const steps = [{ step_s: 2 }, { step_s: 2 }, { step_s: 40 }];
  expect(eta(steps, 3, 13)).toBe(20_000);
  expect(eta(steps, 3, null)).toBeNull();
  expect(eta([], 3, 13)).toBeNull();
});

test("ticks are round", () => {
  expect(niceTicks(1.3, 4)).toEqual([0.5, 1]);
  expect(niceTicks(0.88, 4)).toEqual([0.25, 0.5, 0.75]);
  expect(niceTicks(0, 4)).toEqual([]);
});

test("a role's lanes are counted by state, and lost ones are not called waiting", () => {
  const lane = (worker: string, state: string, wait = false, lost = false) => ({ worker, proc: worker, lane: state, state, since: 0, s: 1, open: true, wait, lost }) as LiveLane;
  const [rollout, trainer] = rolesNow([lane("rollout-0", "generate"), lane("rollout-1", "idle", true), lane("rollout-12", "idle", true, true), lane("trainer-0", "train")], true);
  expect(rollout).toMatchObject({ role: "rollout", lanes: 3, waiting: 1, lost: 1 });
  expect(trainer?.states).toEqual([{ state: "train", lanes: 1, wait: false, longest_s: 1 }]);
});
