// The self-check: each line says whether one can trust the page, and what to do when not.

import type { LinkState } from "$lib/live.svelte";
import type { HealthAnswer } from "$lib/types";
import { ago, bytes, duration, exact } from "$lib/format";

export interface Check {
  title: string;
  state: "good" | "warn" | "bad";
  says: string;
}

/** An export over OTLP, as the status tells of it. */
export interface Exported {
  name: string;
  state: string;
  lag_bytes: number;
  lag_seconds: number;
  dropped: number;
  missed_bytes: number;
  last_error: string | null;
}

const CLOCK_NS = 50e6;
const LITTLE_DISK = 2 ** 30;

export function checksOf(data: HealthAnswer & { exporters?: Exported[] }, link: LinkState, now: number): Check[] {
  const { processes, losses } = data.trust;
  const lost = losses.reduce((sum, one) => sum + one.lines, 0);
  const lag = data.store.lag_seconds ?? 0;
  const rows = data.trust.sizes.reduce((sum, one) => sum + one.rows, 0);
  const checks: Check[] = [
    link === "open"
      ? { title: "Live stream", state: "good", says: "new lines show within a second" }
      : { title: "Live stream", state: "bad", says: "not connected; what you see does not move until it is back" },
    rows > 0
      ? { title: "Something is recorded", state: "good", says: `last line ${ago(processes.last_ts === null ? null : processes.last_ts / 1e6, now)}` }
      : { title: "Nothing is recorded", state: "warn", says: "no line has come yet: is RL_INSIGHT_SERVER_URL set where the training runs? 'rl-insight doctor' there tells" },
  ];
  if (data.store.last_error) checks.push({ title: "Store", state: "bad", says: `${data.store.last_error}; it tries again, nothing is lost` });
  else
    checks.push(
      lag > 5
        ? { title: "Store", state: "warn", says: `${duration(lag * 1000)} behind the log; views show the past until it has caught up` }
        : { title: "Store", state: "good", says: "has everything the log has" },
    );
  if (data.collector) {
    const collector = data.collector;
    checks.push(
      collector.last_error || collector.state !== "ok"
        ? { title: "Collector", state: "bad", says: collector.last_error ?? collector.state }
        : { title: "Collector", state: "good", says: "acknowledges after the log has it" },
      collector.free_bytes < LITTLE_DISK
        ? { title: "Disk", state: "warn", says: `only ${bytes(collector.free_bytes)} free` }
        : { title: "Disk", state: "good", says: `${bytes(collector.free_bytes)} free` },
    );
  }
  checks.push(
    lost > 0
      ? { title: "Losses", state: "bad", says: `${exact(lost)} lines are missing; the list below says whose` }
      : { title: "Losses", state: "good", says: "none known" },
    processes.lost > 0
      ? { title: "Processes", state: "warn", says: `${exact(processes.lost)} went silent without finishing; what they had open is shown as lost` }
      : { title: "Processes", state: "good", says: `${exact(processes.live)} live, ${exact(processes.finished)} finished` },
    processes.clock_offset !== null && Math.abs(processes.clock_offset) > CLOCK_NS
      ? { title: "Clocks", state: "warn", says: `${processes.clock_host ?? "a host"} is off by ${duration(processes.clock_offset / 1e6)}; order between machines is doubtful below that` }
      : { title: "Clocks", state: "good", says: processes.clock_offset === null ? "not measured yet" : `within ${duration(Math.abs(processes.clock_offset) / 1e6)} of the collector's` },
  );
  const { folded, renamed } = data.prometheus;
  const more = (list: unknown[]): string => (list.length > 1 ? ` and ${exact(list.length - 1)} more` : "");
  for (const widest of folded.slice(0, 1))
    checks.push({ title: "Series", state: "warn", says: `${exact(widest.series)} of ${widest.metric}${more(folded)} are folded into “other” on /metrics; all rows are stored, labels with fewer values help` });
  for (const first of renamed.slice(0, 1))
    checks.push({ title: "Metric names", state: "warn", says: `${first.recorded} (${first.kind})${more(renamed)} could not have its name on /metrics, which another has: it is ${first.metric}` });
  for (const one of data.exporters ?? []) checks.push({ title: `Export to ${one.name}`, ...exported(one) });
  return checks;
}

function exported(one: Exported): Omit<Check, "title"> {
  const why = one.last_error ? `: ${one.last_error}` : "";
  if (one.missed_bytes > 0) return { state: "bad", says: `${bytes(one.missed_bytes)} left the log before they could be sent${why}` };
  if (one.state === "loop") return { state: "bad", says: one.last_error ?? "leads back to this server" };
  if (one.dropped > 0) return { state: "warn", says: `${exact(one.dropped)} records were refused for good${why}` };
  if (one.state === "retrying") return { state: "warn", says: `${bytes(one.lag_bytes)} wait, for ${duration(one.lag_seconds * 1000)}${why}` };
  return { state: "good", says: one.lag_bytes > 0 ? `${bytes(one.lag_bytes)} to go` : "has everything the log has" };
}
