import { expect, test } from "vitest";
import type { Session } from "$lib/answers";
import { parseSearch } from "$lib/grammar";
import { boundsOf, fitsSearch, flatTasks, piecesOf, rowsOf, versionsOf } from "./anatomy";

const session = (given: Partial<Session>) =>
  ({ session: "a.0", task: "a", status: "accepted", reason: null, error: null, reward: null, start: 10, end: 20, submitted: 0, total_s: 0.01, weights: null, generate_s: 1, ...given }) as Session;

test("a group is flat when at least two sessions have a reward and all the same", () => {
  const sessions = [
    session({ task: "a", reward: 1 }), session({ task: "a", reward: 1 }), session({ task: "a", reward: null }),
    session({ task: "b", reward: 1 }), session({ task: "b", reward: 0 }), session({ task: "c", reward: 0 }),
  ];
  expect([...flatTasks(sessions)]).toEqual(["a"]);
});

test("what has no reward comes last, whichever way one sorts", () => {
  const rows = rowsOf([session({ session: "x", reward: null }), session({ session: "y", reward: 0.1 }), session({ session: "z", reward: 0.9 })], "-reward");
  expect(rows.map((row) => row.session.session)).toEqual(["z", "y", "x"]);
});

test("without intervals a session is its queue and its length", () => {
  expect(piecesOf(session({}))).toEqual([["queue", 0, 10, null], ["generate", 10, 20, null]]);
  expect(piecesOf(session({ start: null }))).toEqual([]);
});

test("the picture begins with the queue or with the first start", () => {
  const rows = rowsOf([session({}), session({ start: 15, end: 40, submitted: 5 })], "start");
  expect(boundsOf(rows, true)).toEqual({ from: 0, to: 40 });
  expect(boundsOf(rows, false)).toEqual({ from: 10, to: 40 });
  expect(boundsOf([], true)).toBeNull();
});

test("weight versions come from the intervals too: weights may change in the middle of a session", () => {
  const rows = rowsOf([session({ weights: 3, intervals: [["generate", 10, 12, 3], ["generate", 12, 14, 5]] })], "start");
  expect(versionsOf(rows)).toEqual({ oldest: 3, newest: 5, all: [3, 5] });
});

test("the search of the view filters a batch as the server filters all sessions", () => {
  const one = session({ status: "failed", reason: "timeout", task: "task-3", session: "task-3.1", reward: 0.4, trained_step: 7 });
  for (const text of ["task:task-3", "session:task-3.1", "step:7", "step:5..9", "status:failed,lost", "error:timeout", "error:*", "reward<0.5", "-status:accepted", "task-3"])
    expect([text, fitsSearch(one, parseSearch(text))]).toEqual([text, true]);
  for (const text of ["task:task-4", "step:8", "status:accepted", "reward>0.5"]) expect([text, fitsSearch(one, parseSearch(text))]).toEqual([text, false]);
});
