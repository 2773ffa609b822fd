// The keyboard: who listens to which key, and the list of it for the help page and the palette.

import { untrack } from "svelte";
import { nameOf } from "$lib/keyname";

export interface Binding {
  /** `w`, `Shift+F`, `Ctrl+k`, `/`, `Escape`. */
  key: string;
  title: string;
  group: string;
  run: (event: KeyboardEvent) => void;
  /** Works while one types, too. */
  always?: boolean;
}

class Keyboard {
  bindings = $state.raw<Binding[]>([]);

  constructor() {
    window.addEventListener("keydown", (event) => this.#pressed(event));
  }

  add(bindings: Binding[]): () => void {
    this.bindings = [...this.bindings, ...bindings];
    return () => {
      this.bindings = this.bindings.filter((one) => !bindings.includes(one));
    };
  }

  #pressed(event: KeyboardEvent): void {
    if (event.defaultPrevented || event.isComposing) return;
    const name = nameOf(event);
    const typing = isTyping(event.target);
    // The newest first: what lies on top gets its keys before what is under it.
    for (const binding of this.bindings.toReversed()) {
      if (binding.key.toLowerCase() !== name.toLowerCase() || (typing && !binding.always)) continue;
      event.preventDefault();
      binding.run(event);
      return;
    }
  }
}

export const keyboard = new Keyboard();

/** Keys that work while the calling component is there. */
export function keys(bindings: () => Binding[]): void {
  $effect(() => {
    const wanted = bindings();
    return untrack(() => keyboard.add(wanted));
  });
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement ||
      (target instanceof HTMLInputElement && !["checkbox", "radio", "range", "button"].includes(target.type)))
  );
}
