// What the server has just stored: a stream of "run X has more", and the freeze that stops following it.

import { ApiError, isAbort, stream } from "$lib/api";
import { EventParser } from "$lib/events";
import { router } from "$lib/router.svelte";
import type { LiveRun } from "$lib/types";

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5000;
// The server says something every 5 s; silence much longer than that is a dead connection.
const SILENCE_MS = 15000;

export type LinkState = "connecting" | "open" | "lost" | "refused";

class Live {
  link = $state<LinkState>("connecting");
  /** Goes up whenever something was stored, or the link is back. */
  tick = $state(0);
  runs = $state.raw<Record<string, LiveRun>>({});
  /** How often the server has asked for a token, or refused one. */
  refusals = $state(0);
  #skew = 0;
  #started = false;

  /** The moment at which the page was frozen, in ms; undefined while it follows. */
  get frozenAt(): number | undefined {
    return router.number("at");
  }

  get frozen(): boolean {
    return this.frozenAt !== undefined;
  }

  /** The server's time, or that of the freeze. */
  now(): number {
    return this.frozenAt ?? Date.now() + this.#skew;
  }

  freeze(): void {
    router.set({ at: this.now() }, { push: true });
  }

  follow(): void {
    router.set({ at: null }, { push: true });
  }

  toggle(): void {
    if (this.frozen) this.follow();
    else this.freeze();
  }

  start(): void {
    if (this.#started) return;
    this.#started = true;
    void this.#listen();
  }

  /** After a token was given: try at once. */
  retry(): void {
    if (this.link === "refused") {
      this.link = "connecting";
      void this.#listen();
    }
  }

  async #listen(): Promise<void> {
    let wait = FIRST_WAIT_MS;
    for (;;) {
      try {
        await this.#read(() => (wait = FIRST_WAIT_MS));
      } catch (error) {
        if (error instanceof ApiError && error.status === 401) {
          this.link = "refused";
          this.refusals += 1;
          return;
        }
        if (!(error instanceof ApiError) && !isAbort(error) && !(error instanceof TypeError)) throw error;
      }
      this.link = "lost";
      await new Promise((resolve) => setTimeout(resolve, wait));
      wait = Math.min(wait * 1.7, LONGEST_WAIT_MS);
    }
  }

  async #read(connected: () => void): Promise<void> {
    const stop = new AbortController();
    let watchdog = setTimeout(() => stop.abort(), SILENCE_MS);
    try {
      const reader = (await stream("live", stop.signal)).getReader();
      const decoder = new TextDecoder();
      const parser = new EventParser();
      connected();
      if (this.link !== "open") {
        this.link = "open";
        this.tick += 1;
      }
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        clearTimeout(watchdog);
        watchdog = setTimeout(() => stop.abort(), SILENCE_MS);
        for (const event of parser.push(decoder.decode(value, { stream: true }))) {
          const told = JSON.parse(event.data) as { clock: number; runs: LiveRun[] };
          this.#skew = told.clock - Date.now();
          if (told.runs.length === 0) continue;
          const next = { ...this.runs };
          for (const run of told.runs) next[run.run] = run;
          this.runs = next;
          this.tick += 1;
        }
      }
    } finally {
      clearTimeout(watchdog);
      stop.abort();
    }
  }
}

export const live = new Live();
