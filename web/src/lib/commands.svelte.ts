// What the command palette offers besides views and runs. Views add their own while they are there.

import { untrack } from "svelte";

export interface Command {
  title: string;
  group: string;
  hint?: string;
  run: () => void;
}

class Commands {
  list = $state.raw<Command[]>([]);

  add(commands: Command[]): () => void {
    this.list = [...this.list, ...commands];
    return () => {
      this.list = this.list.filter((one) => !commands.includes(one));
    };
  }
}

export const registry = new Commands();

/** Commands that are offered while the calling component is there. */
export function commands(make: () => Command[]): void {
  $effect(() => {
    const made = make();
    return untrack(() => registry.add(made));
  });
}

/** How well `text` fits what was typed: letters in order, better when they begin words. Null when it does not. */
export function fits(text: string, typed: string): number | null {
  const low = text.toLowerCase();
  let at = 0;
  let score = 0;
  for (const letter of typed.toLowerCase()) {
    if (letter === " ") continue;
    const found = low.indexOf(letter, at);
    if (found < 0) return null;
    score += found === at ? 3 : found === 0 || /[\s_\-/.:]/.test(low[found - 1] ?? "") ? 2 : -0.05 * (found - at);
    at = found + 1;
  }
  return score - text.length * 0.01;
}
