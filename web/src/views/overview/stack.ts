// The phases of many steps as one legend and one order of stacking.

import type { StackPart, StepBrief } from "$lib/answers";

export interface Phase {
  name: string;
  wait: boolean;
  s: number;
  share: number;
}

/** All phases of these steps: work before waiting, the most costly first. */
export function phasesOf(steps: readonly Pick<StepBrief, "stack">[]): Phase[] {
  const found = new Map<string, Phase>();
  let sum = 0;
  for (const step of steps) {
    for (const part of step.stack) {
      const phase = found.get(part.name) ?? { name: part.name, wait: part.wait, s: 0, share: 0 };
      phase.s += part.s;
      sum += part.s;
      found.set(part.name, phase);
    }
  }
  return [...found.values()]
    .map((phase) => ({ ...phase, share: sum ? phase.s / sum : 0 }))
    .sort((a, b) => Number(a.wait) - Number(b.wait) || b.s - a.s);
}

/** The parts of one step in the order of the legend, so that a phase lies at the same height everywhere. */
export function order(parts: readonly StackPart[], ranks: ReadonlyMap<string, number>): StackPart[] {
  return parts.toSorted((a, b) => (ranks.get(a.name) ?? 99) - (ranks.get(b.name) ?? 99));
}

/** About `wanted` round values in (0, highest]. */
export function niceTicks(highest: number, wanted: number): number[] {
  if (!(highest > 0)) return [];
  const raw = highest / wanted;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 2.5, 5, 10].find((one) => one * power >= raw) ?? 10) * power;
  const found: number[] = [];
  for (let n = 1; n * step <= highest * 1.0001; n += 1) found.push(n * step);
  return found;
}

/** How long the rest takes at the pace of the newest steps, in ms; null when nobody said how many steps there are. */
export function eta(steps: readonly Pick<StepBrief, "step_s">[], step: number | null, total: number | null): number | null {
  const recent = steps.slice(-10).map((one) => one.step_s).filter((s): s is number => s !== null).sort((a, b) => a - b);
  const middle = recent[Math.floor(recent.length / 2)];
  if (step === null || total === null || middle === undefined || total < step) return null;
  return (total - step) * middle * 1000;
}
