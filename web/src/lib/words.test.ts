import { expect, test } from "vitest";
import { several } from "./words";

test("one is not several, and what is not recorded is not one", () => {
  expect(several(1, "turn")).toBe("1 turn");
  expect(several(0, "turn")).toBe("0 turns");
  expect(several(12_000, "process", "processes")).toBe("12,000 processes");
  expect(several(null, "turn")).toBe("– turns");
});
