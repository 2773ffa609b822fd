// The stages of a session and how it ended: their order, colour and tone, the same in every view.

import { colourOf, type Theme } from "$lib/colour";

export const STAGES = ["queue", "generate", "tool", "reward", "other", "idle"] as const;

export type Tone = "good" | "warn" | "bad" | "accent" | "plain";

const TONES: Record<string, Tone> = {
  accepted: "good",
  running: "accent",
  pending: "plain",
  cancelled: "plain",
  rejected: "warn",
  dropped: "warn",
  failed: "bad",
  error: "bad",
  lost: "bad",
  ok: "good",
};

export function statusTone(status: string | null | undefined): Tone {
  return TONES[status ?? ""] ?? "plain";
}

const OTHER = { dark: "#7f8aa3", light: "#7a859b" };
const IDLE = { dark: "#262d38", light: "#e4e8ee" };

export function stageColour(stage: string, theme: Theme): string {
  if (stage === "other") return OTHER[theme];
  if (stage === "idle") return IDLE[theme];
  return colourOf(stage, theme);
}

// Old weights are pale, the newest are full: lightness alone tells the order.
const OLD: Record<Theme, [number, number, number]> = { dark: [54, 92, 148], light: [176, 204, 235] };
const NEW: Record<Theme, [number, number, number]> = { dark: [140, 205, 255], light: [24, 92, 172] };

/** The colour of generation with one weight version among those from `oldest` to `newest`. */
export function versionColour(version: number | null, oldest: number, newest: number, theme: Theme): string {
  if (version === null) return colourOf("generate", theme);
  const share = newest > oldest ? Math.max(0, Math.min(1, (version - oldest) / (newest - oldest))) : 1;
  const [old, now] = [OLD[theme], NEW[theme]];
  const mixed = old.map((value, at) => Math.round(value + ((now[at] ?? 0) - value) * share));
  return `#${mixed.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}
