// The rows of a batch's picture: which order, from when to when, and what lies under the pointer.

import type { Interval, Session } from "$lib/answers";
import { passes, type Search } from "$lib/grammar";
import type { Range } from "$lib/url";
import { compare } from "$lib/virtual";

export interface Row {
  session: Session;
  pieces: Interval[];
  /** All sessions of its task have the same reward. */
  flat: boolean;
  /** Tasks take turns in shade. */
  shade: boolean;
}

export const ORDERS = [
  { id: "start", title: "Start" },
  { id: "-total", title: "Longest" },
  { id: "-reward", title: "Reward" },
  { id: "task", title: "Task" },
] as const;

/** Tasks of which at least two sessions have a reward, and all the same. */
export function flatTasks(sessions: readonly Session[]): Set<string> {
  const rewards = new Map<string, number[]>();
  for (const one of sessions) {
    if (one.task !== null && one.reward !== null) rewards.set(one.task, [...(rewards.get(one.task) ?? []), one.reward]);
  }
  return new Set([...rewards].filter(([, all]) => all.length > 1 && all.every((one) => one === all[0])).map(([task]) => task));
}

export function rowsOf(sessions: readonly Session[], order: string): Row[] {
  const flat = flatTasks(sessions);
  const value = (one: Session): unknown => {
    if (order === "-total") return one.total_s;
    if (order === "-reward") return one.reward;
    if (order === "task") return one.task;
    return one.start ?? one.submitted;
  };
  const sorted = sessions.toSorted((a, b) => compare(value(a), value(b), order.startsWith("-")) || compare(a.session, b.session, false));
  let shade = false;
  return sorted.map((session, at) => {
    if (at > 0 && sorted[at - 1]?.task !== session.task) shade = !shade;
    return { session, pieces: piecesOf(session), flat: session.task !== null && flat.has(session.task), shade: order === "task" && shade };
  });
}

/** What the server tells of a session's intervals; without them, its queue and its whole length. */
export function piecesOf(session: Session): Interval[] {
  if (session.intervals?.length) return session.intervals;
  const pieces: Interval[] = [];
  if (session.start === null) return pieces;
  if (session.submitted !== null && session.submitted < session.start) pieces.push(["queue", session.submitted, session.start, null]);
  if (session.end !== null) pieces.push([session.generate_s === null ? "other" : "generate", session.start, session.end, session.weights]);
  return pieces;
}

/** From the first moment to the last of these rows; without the queue when it is left out. */
export function boundsOf(rows: readonly Row[], withQueue: boolean): Range | null {
  let from = Infinity;
  let to = -Infinity;
  for (const { session, pieces } of rows) {
    for (const [stage, start, end] of pieces) {
      if (stage === "queue" && !withQueue) continue;
      from = Math.min(from, start);
      to = Math.max(to, end);
    }
    if (session.start !== null) from = Math.min(from, session.start);
    if (session.end !== null) to = Math.max(to, session.end);
  }
  return to > from ? { from, to } : null;
}

export function versionsOf(rows: readonly Row[]): { oldest: number; newest: number; all: number[] } {
  const found = new Set<number>();
  for (const { session, pieces } of rows) {
    if (session.weights !== null) found.add(session.weights);
    for (const [, , , weights] of pieces) if (weights !== null) found.add(weights);
  }
  const all = [...found].sort((a, b) => a - b);
  return { oldest: all[0] ?? 0, newest: all.at(-1) ?? 0, all };
}

/** The search of the view, on rows that are here already. */
export function fitsSearch(session: Session, search: Search): boolean {
  return passes(
    search,
    {
      task: session.task, session: session.session, step: session.trained_step ?? session.step, status: session.status,
      stage: session.stage, error: session.reason ?? session.error, worker: session.worker, reward: session.reward,
      total: session.total_s, queue: session.queue_s, generate: session.generate_s, tool: session.tool_s,
      reward_time: session.reward_s, other: session.other_s, idle: session.idle_s, age: session.age_s, turns: session.turns,
      tokens: session.tokens, weights: session.weights, staleness: session.staleness, errors: session.errors,
    },
    [session.session, session.task],
  );
}

export const SEARCH_KEYS = [
  "task", "session", "step", "status", "stage", "error", "worker", "reward", "total", "tokens", "turns", "queue", "generate",
  "tool", "reward_time", "other", "idle", "age", "weights", "staleness", "errors",
] as const;

export const STATUSES = ["accepted", "rejected", "failed", "dropped", "cancelled", "running", "lost", "pending"] as const;
