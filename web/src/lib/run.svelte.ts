// The run one looks at, and the others there are. The frame keeps the list fresh; views only read.

import { path, type Query } from "$lib/api";
import { live } from "$lib/live.svelte";
import { router } from "$lib/router.svelte";
import type { Run } from "$lib/types";
import type { Range } from "$lib/url";

class Current {
  /** All runs, the one heard from last first; undefined until the server has answered. */
  list = $state.raw<Run[] | undefined>();

  /** The id of the run in the URL, else of the latest. */
  get id(): string | undefined {
    return router.param("run") ?? this.list?.[0]?.run;
  }

  get run(): Run | undefined {
    return this.list?.find((one) => one.run === this.id);
  }

  get isLive(): boolean {
    return this.run?.state === "live";
  }

  /** From the run's first moment to its last, or to now while it is live. */
  get bounds(): Range | null {
    const run = this.run;
    if (!run || run.first === null || run.last === null) return null;
    const to = live.frozenAt ?? (run.state === "live" ? Math.max(run.last, live.now()) : run.last);
    return { from: run.first, to: Math.max(to, run.first + 1) };
  }
}

export const current = new Current();

/** The selected range, which scopes every view. */
export const selection = {
  get range(): Range | null {
    return router.range("sel");
  },
  set(range: Range | null): void {
    router.setRange("sel", range, { push: true });
  },
  clear(): void {
    router.set({ sel: null }, { push: true });
  },
};

/** What scopes a query: the selection, if there is one. */
export function scope(): { from?: number; to?: number } {
  return selection.range ?? {};
}

/** `runs/<run>/<what>`: of the run one looks at, as it was at the freeze. */
export function runPath(run: string, what = "", query: Query = {}): string {
  const at = run === current.id ? live.frozenAt : undefined;
  return path(`runs/${encodeURIComponent(run)}${what ? `/${what}` : ""}`, { ...query, at });
}
