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
