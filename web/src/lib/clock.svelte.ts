// The present moment for what grows while one looks: ages and open intervals.

import { live } from "$lib/live.svelte";

/** The server's time, a few times a second; it stands still while the page is frozen. */
export function ticking(everyMs = 500): { readonly now: number } {
  let now = $state(live.now());
  $effect(() => {
    if (live.frozen) {
      now = live.now();
      return;
    }
    const timer = setInterval(() => (now = live.now()), everyMs);
    return () => clearInterval(timer);
  });
  return {
    get now() {
      return now;
    },
  };
}
