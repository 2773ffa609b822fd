// Colours by meaning. What waits is grey, so that work stands out; known work has its colour everywhere.
// The hues are spaced so that they differ for colour-blind eyes too; colour.test.ts measures it.

export type Theme = "dark" | "light";

interface Hue {
  dark: string;
  light: string;
}

export const HUES: Record<string, Hue> = {
  blue: { dark: "#4c9be8", light: "#2f7fd1" },
  orange: { dark: "#f0a13a", light: "#d07c0b" },
  green: { dark: "#1f9e7a", light: "#12805f" },
  pink: { dark: "#d786b8", light: "#b8568f" },
  yellow: { dark: "#efe06a", light: "#d9c526" },
  navy: { dark: "#5560c9", light: "#3b3f9e" },
  sky: { dark: "#9adcf2", light: "#58b4d4" },
  red: { dark: "#e5603c", light: "#c43d1a" },
};

const WAIT: Hue = { dark: "#3a424e", light: "#c3cad3" };
/** What only holds other work together: it frames, it is not work itself. */
const FRAMES: [RegExp, Hue][] = [
  [/^task$|^group$|^batch$/i, { dark: "#5f6f8a", light: "#8694ab" }],
  [/^session$|^episode$|^trajectory$/i, { dark: "#75849d", light: "#9aa6ba" }],
  [/^turn$/i, { dark: "#8d9ab0", light: "#b0bac9" }],
];
const NONE: Hue = { dark: "#5d6775", light: "#8d96a3" };

/** Names of states that mean: nothing is done here, something is waited for. */
const WAITING = /(^|[_.\s-])(idle|wait|waiting|queued?|pending|blocked|paused?|sleep|stall(ed)?)([_.\s-]|$)|^wait_/i;

const KNOWN: [RegExp, keyof typeof HUES][] = [
  [/error|fail|crash|lost|timeout/i, "red"],
  [/generat|decode|prefill|rollout|sampl|infer/i, "blue"],
  [/tool|env|action|search|exec/i, "orange"],
  [/reward|score|verif|judge|grad(e|ing)$/i, "pink"],
  [/train|learn|backward|forward|update|optim|micro/i, "green"],
  [/sync|weight|transfer|broadcast|send|receiv|load/i, "yellow"],
  [/eval|valid/i, "sky"],
  [/ckpt|checkpoint|save|prepare|data|log/i, "navy"],
];

const SPARE: (keyof typeof HUES)[] = ["blue", "orange", "green", "pink", "yellow", "navy", "sky"];

export function isWaiting(name: string): boolean {
  return WAITING.test(name);
}

export function colourOf(name: string, theme: Theme): string {
  if (isWaiting(name)) return WAIT[theme];
  for (const [pattern, hue] of FRAMES) if (pattern.test(name)) return hue[theme];
  for (const [pattern, hue] of KNOWN) if (pattern.test(name)) return HUES[hue]?.[theme] ?? NONE[theme];
  return HUES[SPARE[hash(name) % SPARE.length] ?? "blue"]?.[theme] ?? NONE[theme];
}

/** Colours for the lines of one chart: in order, so that neighbours differ. */
export function seriesColour(index: number, theme: Theme): string {
  const order: (keyof typeof HUES)[] = ["blue", "orange", "green", "pink", "navy", "yellow", "sky", "red"];
  return HUES[order[index % order.length] ?? "blue"]?.[theme] ?? NONE[theme];
}

export const ERROR: Hue = { dark: "#ff7a5c", light: "#c02d0e" };

/** Text that is readable on a colour. */
export function inkOn(colour: string): string {
  return luminance(colour) > 0.22 ? "#10141a" : "#ffffff";
}

export function luminance(colour: string): number {
  const channel = (at: number) => {
    const value = parseInt(colour.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
}

export function contrast(a: string, b: string): number {
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

/** One hue from nothing to all, for heat maps; its lightness alone carries the value. */
export function heat(share: number, theme: Theme): string {
  const t = Math.max(0, Math.min(1, share));
  const [low, high]: [number[], number[]] =
    theme === "dark"
      ? [
          [26, 33, 44],
          [255, 206, 92],
        ]
      : [
          [240, 243, 247],
          [164, 60, 6],
        ];
  const mixed = low.map((value, at) => Math.round(value + ((high[at] ?? 0) - value) * t ** 0.6));
  return `rgb(${mixed.join(",")})`;
}

function hash(text: string): number {
  let value = 2166136261;
  for (let at = 0; at < text.length; at += 1) value = Math.imul(value ^ text.charCodeAt(at), 16777619);
  return value >>> 0;
}
