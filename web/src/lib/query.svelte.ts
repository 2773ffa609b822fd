// Asks the server for what a view shows, again whenever the question changes or the run has more.

import { untrack } from "svelte";
import { ApiError, get, isAbort } from "$lib/api";
import { live } from "$lib/live.svelte";

// A slow answer is not asked for again at once: the page shares the machine with the training it watches.
const REST = 3;
const LEAST_PAUSE_MS = 250;

export class Query<T> {
  data = $state.raw<T | undefined>();
  /** The question that `data` answers. */
  answered = $state.raw("");
  error = $state.raw<ApiError | undefined>();
  loading = $state(false);
  /** How long the last answer took, ms. */
  took = $state(0);

  #asked = "";
  #next: string | null = null;
  #stop: AbortController | undefined;
  #pause: ReturnType<typeof setTimeout> | undefined;
  #lastStart = 0;

  /** Nothing asked yet, or the first answer is under way. */
  get waiting(): boolean {
    return this.data === undefined && this.error === undefined;
  }

  /** Ask; while one question is under way only the latest of the others is kept. */
  ask(where: string): void {
    if (where === this.#asked && (this.#stop || this.#pause)) {
      if (this.#stop) this.#next = where;
      return;
    }
    const other = subject(where) !== subject(this.#asked);
    if (other) {
      this.cancel();
      this.data = undefined;
      this.error = undefined;
    }
    if (this.#stop) {
      this.#next = where;
      return;
    }
    clearTimeout(this.#pause);
    this.#pause = undefined;
    if (where === this.#asked) {
      const wait = this.#lastStart + Math.max(LEAST_PAUSE_MS, this.took * REST) - performance.now();
      if (wait > 0) {
        this.#pause = setTimeout(() => {
          this.#pause = undefined;
          void this.#fetch(where);
        }, wait);
        return;
      }
    }
    void this.#fetch(where);
  }

  cancel(): void {
    clearTimeout(this.#pause);
    this.#pause = undefined;
    this.#next = null;
    this.#stop?.abort();
    this.#stop = undefined;
    this.loading = false;
  }

  async #fetch(where: string): Promise<void> {
    this.#asked = where;
    this.#lastStart = performance.now();
    const stop = (this.#stop = new AbortController());
    this.loading = true;
    try {
      const data = await get<T>(where, stop.signal);
      if (stop.signal.aborted) return;
      this.data = data;
      this.answered = where;
      this.error = undefined;
    } catch (error) {
      if (stop.signal.aborted || isAbort(error)) return;
      if (!(error instanceof ApiError)) throw error;
      // What was shown stays while the server restarts; the frame says that the link is lost.
      if (!error.unreachable || this.data === undefined) this.error = error;
    }
    this.took = performance.now() - this.#lastStart;
    this.#stop = undefined;
    this.loading = false;
    const next = this.#next;
    this.#next = null;
    if (next !== null) this.ask(next);
  }
}

/** The path without its query: another path is another subject, and the old data must not be shown for it. */
function subject(where: string): string {
  return where.split("?", 1)[0] ?? "";
}

/**
 * A query that belongs to the component that calls this. `ask` returns the path below `/api/v1/`, or null while
 * there is nothing to ask. It is asked again when what it reads changes and, unless frozen, when the store grew.
 */
export function query<T>(ask: () => string | null, { follow = true }: { follow?: boolean } = {}): Query<T> {
  const made = new Query<T>();
  $effect(() => {
    const where = ask();
    if (follow && !live.frozen) void live.tick;
    if (where !== null && !(document.hidden && untrack(() => made.data) !== undefined)) untrack(() => made.ask(where));
  });
  $effect(() => {
    const seen = () => {
      if (document.hidden) return;
      const where = untrack(ask);
      if (where !== null && follow && !live.frozen) made.ask(where);
    };
    document.addEventListener("visibilitychange", seen);
    return () => document.removeEventListener("visibilitychange", seen);
  });
  // A frozen page asks once; what the server could not answer then is asked again when it is back.
  $effect(() => {
    if (live.tick && untrack(() => live.frozen && made.error?.unreachable)) {
      const where = untrack(ask);
      if (where !== null) untrack(() => made.ask(where));
    }
  });
  $effect(() => () => made.cancel());
  return made;
}
