import { expect, test } from "vitest";
import type { SessionFact, SessionSpan, SessionStory, Turn } from "$lib/answers";
import { blocks, bounds, nextEvent, rowsOf, toolCall } from "./story";

const span = (given: Partial<SessionSpan>) => ({ id: "s", kind: "phase", name: "generate", proc: "p", start: 0, end: 1, open: false, turn: null, attrs: null, ...given }) as SessionSpan;
const turn = (n: number, start: number, end: number) => ({ turn: n, start, end, s: 1, open: false, status: null }) as Turn;
const fact = (at: number) => ({ at, name: "f", attrs: null }) as SessionFact;

test("spans go to their turn, facts to the turn they happened in, the rest between", () => {
  const found = blocks({
    turns: [turn(1, 0, 10), turn(2, 10, 20)],
    spans: [span({ id: "g1", start: 1, turn: 1 }), span({ id: "g2", start: 11, turn: 2 }), span({ id: "r", name: "reward", start: 21, end: 25 })],
    facts: [fact(5), fact(22)],
    logs: [],
  });
  expect(found.map((block) => [block.turn?.turn ?? null, block.items.length])).toEqual([[1, 2], [2, 1], [null, 2]]);
});

test("a state that repeats its phase is told once", () => {
  const spans = [span({ id: "st", kind: "state" }), span({ id: "ph" }), span({ id: "other", kind: "state", name: "score" })];
  expect(rowsOf(spans).map((one) => one.id)).toEqual(["ph", "other"]);
});

test("a tool call is read from the names people give to arguments and results", () => {
  expect(toolCall({ tool: "add", arguments: [1, 2], result: 3 })).toEqual({ name: "add", given: { key: "arguments", value: [1, 2] }, got: { key: "result", value: 3 } });
  expect(toolCall({ name: "search", query: "x" })).toEqual({ name: "search", given: { key: "query", value: "x" }, got: null });
  expect(toolCall(null)).toEqual({ name: null, given: null, got: null });
});

test("an open session reaches to now; the queue is part of it only when asked for", () => {
  const story = { session: { start: 100, end: null, open: true, submitted: 20 }, spans: [span({ start: 100, end: 110 })], facts: [], at: 500 } as unknown as SessionStory;
  expect(bounds(story, false)).toEqual({ from: 100, to: 500 });
  expect(bounds(story, true)).toEqual({ from: 20, to: 500 });
});

test("the replay goes from event to event, and stops at the ends", () => {
  const story = { events: [{ at: 1, what: "span", index: 0 }, { at: 5, what: "fact", index: 0 }] } as Pick<SessionStory, "events">;
  expect(nextEvent(story, 1, 1)).toBe(5);
  expect(nextEvent(story, 5, 1)).toBeNull();
  expect(nextEvent(story, 5, -1)).toBe(1);
});
