import { expect, test } from "vitest";
import { formatSearch, matches, parseSearch, passes, unknownKeys, withFilter } from "./grammar";

test("words, filters, comparisons, quotes and negation", () => {
  expect(parseSearch('status:failed -stage:tool reward>=0.5 "two words" pre error:"no route"')).toEqual({
    filters: [
      { key: "status", is: ":", value: "failed", not: false },
      { key: "stage", is: ":", value: "tool", not: true },
      { key: "reward", is: ">=", value: "0.5", not: false },
      { key: "error", is: ":", value: "no route", not: false },
    ],
    words: [
      { text: "two words", not: false },
      { text: "pre", not: false },
    ],
  });
});

test("what one types halfway is no error", () => {
  for (const text of ["", "  ", "-", "status:", '"open', "a:\"b", ":", ">"]) expect(() => parseSearch(text)).not.toThrow();
});

test("a search survives its own text", () => {
  const text = 'task:task-3 -status:failed step:10..20 "two words"';
  expect(formatSearch(parseSearch(text))).toBe(text);
});

test("a filter replaces the one of its key", () => {
  expect(withFilter("weights:3 word", "weights", "4")).toBe("weights:4 word");
  expect(withFilter("weights:3 word", "weights", null)).toBe("word");
});

test("numbers compare, ranges include their ends, text matches by prefix", () => {
  expect([matches(12, ":", "12"), matches(12, ">", "11"), matches(12, "<=", "11"), matches(12, ":", "10..12"), matches(-3, ":", "-5..-2")]).toEqual([true, true, false, true, true]);
  expect([matches("Finished", ":", "fin"), matches("finished", "=", "fin"), matches("lost", ":", "live,lost"), matches("x", ":", "*")]).toEqual([true, false, true, true]);
});

test("what is not recorded matches nothing, not even anything", () => {
  expect(matches(null, ":", "*")).toBe(false);
  expect(matches(undefined, ":", "")).toBe(false);
  expect(matches(null, "!=", "x")).toBe(true);
});

test("all filters and words must pass", () => {
  const row = { state: "live", step: 40 };
  expect(passes(parseSearch("state:live arith"), row, ["my-arith-run"])).toBe(true);
  expect(passes(parseSearch("state:live -arith"), row, ["my-arith-run"])).toBe(false);
  expect(passes(parseSearch("step>40"), row, [])).toBe(false);
});

test("unknown keys are named", () => {
  expect(unknownKeys(parseSearch("state:live stat:x stat:y"), ["state"])).toEqual(["stat"]);
});
