import { expect, test } from "vitest";
import { around, clampTo, offset, pan, ticks, TimeScale, zoom } from "./time";

const T = 1_794_773_094_141.885;

test("from time to pixels and back", () => {
  const scale = new TimeScale(T, T + 1000, 800);
  expect(scale.x(T + 500)).toBeCloseTo(400);
  expect(scale.t(scale.x(T + 123.456))).toBeCloseTo(T + 123.456, 3);
});

test("what is under the pointer stays there while one zooms", () => {
  const before = new TimeScale(T, T + 1000, 800);
  const centre = before.t(200);
  const next = zoom({ from: T, to: T + 1000 }, 0.5, centre);
  expect(new TimeScale(next.from, next.to, 800).x(centre)).toBeCloseTo(200);
  expect(next.to - next.from).toBeCloseTo(500);
});

test("one cannot zoom to nothing, nor pan away from the run", () => {
  const tiny = zoom({ from: T, to: T + 0.02 }, 0.001, T);
  expect(tiny.to - tiny.from).toBeGreaterThan(0.009);
  const bounds = { from: 0, to: 1000 };
  expect(clampTo(pan({ from: 900, to: 1000 }, 50), bounds)).toEqual({ from: 910, to: 1010 });
  expect(clampTo({ from: -500, to: 5000 }, bounds).to).toBeLessThanOrEqual(1201);
});

test("a selection is fitted with air around it", () => {
  expect(around({ from: 100, to: 200 }, 0.1)).toEqual({ from: 90, to: 210 });
});

test("ticks stand at round distances from the start, never too many", () => {
  for (const span of [0.05, 3, 250, 4000, 61_000, 3_600_000, 400_000_000]) {
    const found = ticks(new TimeScale(T, T + span, 900), T);
    expect(found.length).toBeGreaterThan(2);
    expect(found.length).toBeLessThan(14);
    expect(new Set(found.map((one) => one.label)).size).toBe(found.length);
  }
  expect(ticks(new TimeScale(T, T + 40_000, 900), T).map((one) => one.label)).toEqual(["0s", "5s", "10s", "15s", "20s", "25s", "30s", "35s", "40s"]);
});

test("distances are as exact as the step between ticks", () => {
  expect([offset(12_500, 100), offset(185_000, 1000), offset(3_750_000, 1000), offset(-1500, 100), offset(59_999.9, 1000)]).toEqual(["12.5s", "3:05", "1:02:30", "−1.5s", "60s"]);
});
