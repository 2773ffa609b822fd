import { describe, expect, it } from "vitest";
import type { HealthAnswer } from "$lib/types";
import { checksOf, type Exported } from "./checks";

const healthy = {
  at: 0,
  version: "1",
  store: { lines: 1, unreadable: 0, last_error: null },
  store_bytes: 0,
  trust: {
    processes: { processes: 1, finished: 1, live: 0, lost: 0, last_ts: 0, clock_offset: null, clock_host: null, schemas: [], versions: [] },
    losses: [],
    sizes: [{ kind: "span", rows: 1, names: 1 }],
    cardinality: [],
  },
  prometheus: { folded: [], renamed: [] },
} as unknown as HealthAnswer;

function exported(more: Partial<Exported>): string[] {
  const one = { name: "tempo", state: "ok", lag_bytes: 0, lag_seconds: 0, dropped: 0, missed_bytes: 0, last_error: null, ...more };
  const check = checksOf({ ...healthy, exporters: [one] }, "open", 0).find((found) => found.title === "Export to tempo");
  return [check?.state ?? "", check?.says ?? ""];
}

describe("exports", () => {
  it("say nothing where there are none", () => {
    expect(checksOf(healthy, "open", 0).filter((check) => check.title.startsWith("Export"))).toEqual([]);
  });
  it("are told with what is wrong and why", () => {
    expect(exported({})).toEqual(["good", "has everything the log has"]);
    expect(exported({ state: "retrying", lag_bytes: 1024, lag_seconds: 2, last_error: "away" })[0]).toBe("warn");
    expect(exported({ dropped: 3, last_error: "answered 400" })).toEqual(["warn", "3 records were refused for good: answered 400"]);
    expect(exported({ state: "loop", last_error: "is this collector itself" })).toEqual(["bad", "is this collector itself"]);
    expect(exported({ missed_bytes: 2048 })[0]).toBe("bad");
  });
});
