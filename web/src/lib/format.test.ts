import { expect, test } from "vitest";
import { ago, bytes, clock, count, duration, exact, number, percent, text } from "./format";

test("what is not recorded is a dash, and zero is a zero", () => {
  for (const format of [count, exact, number, percent, bytes, duration]) {
    expect(format(null)).toBe("–");
    expect(format(undefined)).toBe("–");
    expect(format(0)).toMatch(/^0/);
  }
});

test("lengths of time read well from ns to days", () => {
  expect([0.0000005, 0.00042, 0.0124, 0.85, 12.4, 3210, 59_960, 245_000, 7_620_000, 273_600_000].map(duration)).toEqual([
    "1 ns", "420 ns", "12.4 µs", "850 µs", "12.4 ms", "3.21 s", "1m 00s", "4m 05s", "2h 07m", "3d 4h",
  ]);
  expect(duration(-12.4)).toBe("−12.4 ms");
});

test("rounding never shows a number of the next unit", () => {
  expect(duration(999.6)).toBe("1 s");
  expect(duration(0.9996)).toBe("1 ms");
  expect(duration(119_999)).toBe("2m 00s");
});

test("large numbers are short, and their hint is exact", () => {
  expect(count(9999)).toBe("9,999");
  expect(count(99_447)).toBe("99.4k");
  expect(count(1_000_000)).toBe("1M");
  expect(exact(1_234_567)).toBe("1,234,567");
  expect(exact(0.1)).toBe("0.1");
});

test("numbers keep their sign, their size and what is no number", () => {
  expect(number(-0.001984)).toBe("−0.001984");
  expect(number(0.00000123)).toBe("1.23e−6");
  expect(number(12345)).toBe("12,345");
  expect(number(NaN)).toBe("NaN");
  expect(number(-Infinity)).toBe("−∞");
});

test("shares and sizes", () => {
  expect([0, 0.0004, 0.358, 1].map(percent)).toEqual(["0%", "<0.1%", "35.8%", "100%"]);
  expect([0, 512, 1536, 25_274_793_984].map(bytes)).toEqual(["0 B", "512 B", "1.5 KiB", "23.5 GiB"]);
});

test("moments", () => {
  const ts = new Date(2026, 10, 15, 20, 4, 5, 123).getTime() + 0.456;
  expect(clock(ts)).toBe("20:04:05");
  expect(clock(ts, 3)).toBe("20:04:05.123");
  expect(ago(ts, ts + 500)).toBe("now");
  expect(ago(ts, ts + 65_000)).toBe("1 min ago");
});

test("any recorded value becomes text", () => {
  expect(text({ a: [1, "<b>"] })).toBe('{"a":[1,"<b>"]}');
  expect(text("<script>")).toBe("<script>");
  expect(text(null)).toBe("–");
});
