import { expect, test } from "vitest";
import { merged, pagesOf } from "./pages";

test("the pages on the screen are asked for as one piece", () => {
  expect(pagesOf(0, 30)).toEqual({ offset: 0, limit: 200 });
  expect(pagesOf(190, 230)).toEqual({ offset: 0, limit: 400 });
  expect(pagesOf(49_990, 50_000)).toEqual({ offset: 49_800, limit: 200 });
  expect(pagesOf(0, 0)).toEqual({ offset: 0, limit: 200 });
});

test("a piece comes into its place and the rest stays a hole", () => {
  expect(merged([], 5, 2, ["c", "d"])).toEqual([undefined, undefined, "c", "d", undefined]);
});

test("what is known stays when the list grows, and goes when it shrinks", () => {
  expect(merged(["a", "b"], 3, 2, ["c"])).toEqual(["a", "b", "c"]);
  expect(merged(["a", "b", "c"], 1, 0, ["a"])).toEqual(["a"]);
});
