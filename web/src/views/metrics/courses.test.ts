import { expect, test } from "vitest";
import type { MetricCourse } from "$lib/types";
import { align } from "./courses";

function course(run: string, x: number[], values: (number | null)[], by: "step" | "time" = "step"): MetricCourse {
  return { run, name: "loss", kind: "gauge", by, says: "", width: 1, x, series: [{ label: null, values, low: values, high: values, n: values.map(() => 1), unusable: 0 }], heat: null, more: 0 };
}

test("runs with other steps share one axis, and what one lacks stays empty", () => {
  const { xs, lines } = align([
    { course: course("a", [1, 2, 4], [10, 20, 40]), origin: 0, several: true },
    { course: course("b", [2, 3], [2, 3]), origin: 0, several: true },
  ]);
  expect(xs).toEqual([1, 2, 3, 4]);
  expect(lines.map((one) => [one.label, one.values])).toEqual([
    ["a", [10, 20, null, 40]],
    ["b", [null, 2, 3, null]],
  ]);
});

test("by time, every run counts from its own start", () => {
  const { xs } = align([
    { course: course("a", [1000, 1005], [1, 2], "time"), origin: 1000, several: true },
    { course: course("b", [9000, 9005], [1, 2], "time"), origin: 9000, several: true },
  ]);
  expect(xs).toEqual([0, 5]);
});
