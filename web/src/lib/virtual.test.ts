import { expect, test } from "vitest";
import { compare, parseSort, scrollTo, visibleRows } from "./virtual";

test("of 50,000 rows only those on the screen exist", () => {
  const { first, last } = visibleRows(50_000, 28, 28 * 25_000, 700);
  expect(first).toBeLessThanOrEqual(25_000);
  expect(last - first).toBeLessThan(60);
  expect(visibleRows(50_000, 28, 1e9, 700)).toEqual({ first: 49_992, last: 50_000 });
  expect(visibleRows(0, 28, 0, 700)).toEqual({ first: 0, last: 0 });
});

test("scrolling moves no further than needed", () => {
  expect(scrollTo(10, 28, 0, 700)).toBe(0);
  expect(scrollTo(30, 28, 0, 700)).toBe(31 * 28 - 700);
  expect(scrollTo(2, 28, 500, 700)).toBe(56);
});

test("what is not recorded comes last, whichever way one sorts", () => {
  const rows = [3, null, 1, undefined, 2];
  expect(rows.toSorted((a, b) => compare(a, b, false)).slice(0, 3)).toEqual([1, 2, 3]);
  expect(rows.toSorted((a, b) => compare(a, b, true)).slice(0, 3)).toEqual([3, 2, 1]);
  expect(["worker-10", "worker-2"].toSorted((a, b) => compare(a, b, false))).toEqual(["worker-2", "worker-10"]);
});

test("the order is in the URL", () => {
  expect(parseSort("-lines", "run")).toEqual({ by: "lines", down: true });
  expect(parseSort(undefined, "run")).toEqual({ by: "run", down: false });
});
