import { expect, test } from "vitest";
import { carried, formatPlace, formatRange, parsePlace, parseRange, patched } from "./url";

test("a place survives its own text", () => {
  const place = { view: "timeline", params: { run: "a/b c&d=é", q: 'role:trainer "two words"', from: "1.5", x: "100%" } };
  expect(parsePlace(formatPlace(place))).toEqual(place);
});

test("equal places have equal links, whatever the order of their keys", () => {
  expect(formatPlace({ view: "facts", params: { q: "a", run: "r" } })).toBe(formatPlace({ view: "facts", params: { run: "r", q: "a" } }));
});

test("no hash, a broken one and one without view lead to the runs", () => {
  expect(parsePlace("").view).toBe("runs");
  expect(parsePlace("#/").view).toBe("runs");
  expect(parsePlace("#/%E0%A4%A?run=x").params.run).toBe("x");
});

test("run, window, selection and freeze go along between views; the rest stays", () => {
  expect(carried({ run: "r", from: "1", to: "2", sel: "1-2", at: "3", q: "x", lane: "l" })).toEqual({ run: "r", from: "1", to: "2", sel: "1-2", at: "3" });
});

test("a patch sets and takes away", () => {
  expect(patched({ a: "1", b: "2" }, { a: null, c: 1.23456, d: true, e: "" })).toEqual({ b: "2", c: "1.235", d: "1" });
});

test("a range of time keeps its microseconds", () => {
  const range = { from: 1794773094141.885, to: 1794773094142.001 };
  expect(parseRange(formatRange(range))).toEqual(range);
  for (const bad of [undefined, "", "5", "5-", "9-3", "a-b", "1-1"]) expect(parseRange(bad)).toBeNull();
});
