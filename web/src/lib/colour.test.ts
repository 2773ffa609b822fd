import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { colourOf, contrast, HUES, isWaiting, luminance, type Theme } from "./colour";

type Rgb = [number, number, number];

const linear = (value: number) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
const rgb = (hex: string): Rgb => [1, 3, 5].map((at) => linear(parseInt(hex.slice(at, at + 2), 16) / 255)) as Rgb;

// Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
const EYES: Record<string, number[][]> = {
  ordinary: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  tritanopia: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
};

function lab(colour: Rgb): Rgb {
  const [r, g, b] = colour.map((value) => Math.max(0, Math.min(1, value))) as Rgb;
  const xyz = [(0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047, 0.2126 * r + 0.7152 * g + 0.0722 * b, (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883];
  const [x, y, z] = xyz.map((value) => (value > 0.008856 ? Math.cbrt(value) : 7.787 * value + 16 / 116)) as Rgb;
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

function seen(hex: string, eyes: number[][]): Rgb {
  const from = rgb(hex);
  return lab(eyes.map((row) => row.reduce((sum, weight, at) => sum + weight * (from[at] ?? 0), 0)) as Rgb);
}

const apart = (a: Rgb, b: Rgb) => Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);

// What stands side by side on a lane; 11 is several times what a trained eye can just tell apart.
const STATES = ["generate", "tool", "reward", "train", "sync_weights", "idle"];

for (const theme of ["dark", "light"] as Theme[]) {
  for (const [name, eyes] of Object.entries(EYES)) {
    test(`states differ for ${name} eyes on ${theme}`, () => {
      for (const a of STATES) for (const b of STATES) if (a < b) expect(apart(seen(colourOf(a, theme), eyes), seen(colourOf(b, theme), eyes)), `${a} and ${b}`).toBeGreaterThan(11);
    });
  }
}

test("waiting is grey and work is not", () => {
  for (const name of ["idle", "wait_batch", "queue", "queued", "blocked", "wait"]) expect(isWaiting(name), name).toBe(true);
  for (const name of ["generate", "train", "awaited_reward", "waiter", "tool"]) expect(isWaiting(name), name).toBe(false);
});

test("a name has the same colour everywhere", () => {
  expect(colourOf("my_special_phase", "dark")).toBe(colourOf("my_special_phase", "dark"));
  expect(Object.values(HUES).every((hue) => /^#[0-9a-f]{6}$/.test(hue.dark) && /^#[0-9a-f]{6}$/.test(hue.light))).toBe(true);
});

const css = readFileSync(new URL("../styles/theme.css", import.meta.url), "utf-8");
for (const theme of ["dark", "light"]) {
  const block = css.split(`[data-theme="${theme}"] {`)[1]?.split("}")[0] ?? "";
  const token = (name: string) => new RegExp(`--${name}: (#[0-9a-f]{6})`).exec(block)?.[1] ?? "";
  test(`text passes WCAG AA on every surface, ${theme}`, () => {
    for (const ink of ["ink", "ink-2", "ink-3", "accent-ink", "good", "warn", "bad"])
      for (const surface of ["page", "surface", "raised", "hover"]) expect(contrast(token(ink), token(surface)), `${ink} on ${surface}`).toBeGreaterThanOrEqual(4.5);
    for (const tone of ["good", "warn", "bad"]) expect(contrast(token(tone), token(`${tone}-soft`)), tone).toBeGreaterThanOrEqual(4.5);
    expect(contrast(token("accent-ink"), token("accent-soft"))).toBeGreaterThanOrEqual(4.5);
    expect(luminance("#ffffff")).toBeCloseTo(1);
  });
}
