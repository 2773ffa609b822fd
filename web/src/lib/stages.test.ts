import { expect, test } from "vitest";
import { luminance } from "./colour";
import { statusTone, versionColour } from "./stages";

test("newer weights differ from older ones by lightness, in one direction", () => {
  for (const [theme, sign] of [["dark", 1], ["light", -1]] as const) {
    const bright = [3, 4, 5, 6].map((version) => luminance(versionColour(version, 3, 6, theme)) * sign);
    expect(bright).toEqual(bright.toSorted((a, b) => a - b));
    expect(new Set(bright).size).toBe(4);
  }
});

test("one version alone is drawn in full", () => {
  expect(versionColour(7, 7, 7, "dark")).toBe(versionColour(9, 7, 9, "dark"));
});

test("a status that nobody knows is plain, not an error", () => {
  expect(statusTone("accepted")).toBe("good");
  expect(statusTone("lost")).toBe("bad");
  expect(statusTone("something new")).toBe("plain");
});
