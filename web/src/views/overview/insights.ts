// What deserves a look, found in what the server has told already. Each says what is wrong, by how much, and where to look.

import type { Flow, Moment, Overview, Stage, Step } from "$lib/answers";
import { count, duration, percent } from "$lib/format";
import { inTimeline } from "$lib/places";
import type { Patch, Range } from "$lib/url";

export interface Insight {
  id: string;
  tone: "bad" | "warn" | "plain";
  title: string;
  detail: string;
  /** Where one sees it. */
  view: string;
  patch: Patch;
}

export interface Known {
  overview: Overview;
  steps?: readonly Step[] | undefined;
  moment?: Moment | undefined;
  flow?: Flow | undefined;
  /** Stages of the newest steps, a row for each name and worker. */
  byWorker?: readonly Stage[] | undefined;
}

const RECENT = 5;
const RANK = { bad: 0, warn: 1, plain: 2 };

export function insights(known: Known): Insight[] {
  return [
    ...lostProcesses(known),
    ...lostLines(known),
    ...hungSessions(known),
    ...stragglers(known.byWorker ?? [], recentRange(known)),
    ...behindWeights(known),
    ...errors(known),
    ...zeroSpread(known),
    ...discarded(known),
    ...overflowing(known),
    ...waiting(known),
    ...longTail(known),
  ].sort((a, b) => RANK[a.tone] - RANK[b.tone]);
}

function lostProcesses({ moment }: Known): Insight[] {
  return (moment?.lost ?? []).slice(0, 4).map((one) => ({
    id: `lost-${one.proc}`,
    tone: "bad",
    title: `${one.worker} is lost`,
    detail: `silent for ${duration(one.silent_s * 1000)} and not finished${one.open_sessions ? `; ${count(one.open_sessions)} sessions were open on it` : ""}`,
    view: one.open_sessions ? "rollouts" : "fleet",
    patch: one.open_sessions ? { tab: "sessions", q: `worker:${one.worker} status:lost` } : {},
  }));
}

/** Not all that was recorded is here: what is missing may be in any figure. */
function lostLines({ overview }: Known): Insight[] {
  const losses = overview.losses ?? [];
  const lines = losses.reduce((sum, one) => sum + one.lines, 0);
  const [worst] = losses;
  if (!worst || lines === 0) return [];
  const share = lines / (lines + overview.lines);
  const workers = new Set(losses.map((one) => one.worker)).size;
  const how = worst.what === "hole" ? "they never came" : `dropped by its recorder${worst.reason ? `: ${worst.reason}` : ""}`;
  return [
    {
      id: "lost-lines",
      tone: share >= 0.01 ? "bad" : "warn",
      title: `${count(lines)} ${lines === 1 ? "line is" : "lines are"} missing (${percent(share)})`,
      detail: `${workers === 1 ? "all" : `${count(worst.lines)} of them`} of ${worst.worker}, ${how}; figures may lack them`,
      view: "health",
      patch: {},
    },
  ];
}

function hungSessions({ moment }: Known): Insight[] {
  const suspects = (moment?.sessions ?? []).filter((one) => one.suspect && !one.lost);
  const told: Insight[] = suspects.slice(0, 3).map((one) => ({
    id: `hung-${one.session}`,
    tone: "bad",
    title: `Session ${one.session} may be hung`,
    detail: [one.why ?? `open for ${duration(one.age_s * 1000)}`, one.worker].filter(Boolean).join(" · "),
    view: "session",
    patch: { session: one.session },
  }));
  if (suspects.length > told.length) {
    told.push({
      id: "hung-more",
      tone: "bad",
      title: `${count(suspects.length - told.length)} more sessions take far longer than usual`,
      detail: "all that are open, suspects first",
      view: "rollouts",
      patch: { tab: "sessions", q: "status:running", sort: "-age" },
    });
  }
  return told;
}

/** From the start of the newest steps to their end. */
function recentRange({ overview }: Known): Range | null {
  const recent = overview.steps.slice(-RECENT).flatMap((step) => (step.start === null || step.step_s === null ? [] : { from: step.start, to: step.start + step.step_s * 1000 }));
  const [first, last] = [recent[0], recent.at(-1)];
  return first && last && last.to > first.from ? { from: first.from, to: last.to } : null;
}

/** A worker on which the same stage takes twice as long as on the others. */
export function stragglers(stages: readonly Stage[], when: Range | null = null): Insight[] {
  const byName = new Map<string, Stage[]>();
  for (const stage of stages) if (stage.by !== null && stage.count >= 5) byName.set(stage.name, [...(byName.get(stage.name) ?? []), stage]);
  const found: { times: number; insight: Insight }[] = [];
  for (const [name, all] of byName) {
    if (all.length < 3) continue;
    for (const one of all) {
      const others = all.filter((other) => other !== one).map((other) => other.p50_s).sort((a, b) => a - b);
      const usual = others[Math.floor(others.length / 2)] ?? 0;
      const times = usual > 0 ? one.p50_s / usual : 0;
      // A factor alone would name a stage of microseconds.
      if (times < 2 || one.total_s < 0.05) continue;
      found.push({
        times,
        insight: {
          id: `straggler-${name}-${one.by}`,
          tone: "warn",
          title: `${one.by} is a straggler: ${name} takes ${times.toPrecision(2)}× as long`,
          detail: `half of them take more than ${duration(one.p50_s * 1000)} there, ${duration(usual * 1000)} on the others`,
          view: "timeline",
          patch: { ...(when ? inTimeline(when, 0.05) : {}), q: `process:${one.by}` },
        },
      });
    }
  }
  return found.sort((a, b) => b.times - a.times).slice(0, 3).map((one) => one.insight);
}

function behindWeights({ flow, moment }: Known): Insight[] {
  // Of a process that is gone one knows already why it has no new weights.
  const gone = new Set((moment?.lost ?? []).map((one) => one.proc));
  return (flow?.workers ?? [])
    .filter((one) => (one.behind ?? 0) >= 3 && !gone.has(one.proc))
    .sort((a, b) => (b.behind ?? 0) - (a.behind ?? 0))
    .slice(0, 2)
    .map((one) => ({
      id: `behind-${one.proc}`,
      tone: "bad",
      title: `${one.worker} is ${count(one.behind)} weight versions behind`,
      detail: `last applied ${one.applied ?? "none"}; what it generates is stale`,
      view: "flow",
      patch: {},
    }));
}

function errors({ overview }: Known): Insight[] {
  return overview.errors.slice(0, 3).map((one, at) => ({
    id: `error-${at}-${one.text}`,
    tone: "warn",
    title: one.text,
    detail: [one.worker, one.count > 1 ? `${count(one.count)} times` : "once", one.what].filter(Boolean).join(" · "),
    view: one.what === "log" ? "timeline" : "facts",
    patch: one.what === "log" ? inTimeline({ from: one.at - 500, to: one.at + 500 }, 2) : { q: "outcome:error" },
  }));
}

function zeroSpread({ steps }: Known): Insight[] {
  const recent = (steps ?? []).slice(-RECENT).filter((step) => step.tasks && step.zero_spread !== null);
  const tasks = recent.reduce((sum, step) => sum + (step.tasks ?? 0), 0);
  const flat = recent.reduce((sum, step) => sum + (step.zero_spread ?? 0), 0);
  if (!tasks || flat / tasks < 0.3) return [];
  return [
    {
      id: "zero-spread",
      tone: flat / tasks >= 0.6 ? "bad" : "warn",
      title: `${percent(flat / tasks)} of the groups teach nothing`,
      detail: `${count(flat)} of ${count(tasks)} groups of the last ${recent.length} steps have one and the same reward in all sessions`,
      view: "rollouts",
      patch: { tab: "tasks", zero: 1 },
    },
  ];
}

function discarded({ flow }: Known): Insight[] {
  if (!flow) return [];
  const { generated, rejected, dropped, failed } = flow.funnel;
  const gone = rejected + dropped + failed;
  if (!generated || gone / generated < 0.05) return [];
  const top = flow.reasons.filter((one) => ["rejected", "dropped", "failed"].includes(one.status)).toSorted((a, b) => b.sessions - a.sessions)[0];
  return [
    {
      id: "discarded",
      tone: gone / generated >= 0.2 ? "bad" : "warn",
      title: `${percent(gone / generated)} of generated sessions are thrown away`,
      detail: top ? `mostly ${top.status}: ${top.reason ?? "no reason recorded"} (${count(top.sessions)})` : `${count(gone)} sessions`,
      view: "flow",
      patch: {},
    },
  ];
}

function overflowing({ flow }: Known): Insight[] {
  return (flow?.queues ?? [])
    .filter((queue) => queue.put >= 10 && queue.evicted / queue.put >= 0.05)
    .map((queue) => ({
      id: `queue-${queue.queue}`,
      tone: "warn",
      title: `Queue ${queue.queue} evicts ${percent(queue.evicted / queue.put)} of what is put into it`,
      detail: `${count(queue.evicted)} of ${count(queue.put)}${queue.evictions[0]?.reason ? `: ${queue.evictions[0].reason}` : ""}`,
      view: "flow",
      patch: {},
    }));
}

function waiting({ overview }: Known): Insight[] {
  const recent = overview.steps.slice(-RECENT).filter((step) => step.wait_ratio !== null);
  if (recent.length < 3) return [];
  const ratio = recent.reduce((sum, step) => sum + (step.wait_ratio ?? 0), 0) / recent.length;
  if (ratio < 0.4) return [];
  return [
    {
      id: "waiting",
      tone: ratio >= 0.7 ? "warn" : "plain",
      title: `The trainer waits ${percent(ratio)} of the time`,
      detail: `in the last ${recent.length} steps: rollouts come too slowly for it`,
      view: "flow",
      patch: {},
    },
  ];
}

function longTail({ steps }: Known): Insight[] {
  const recent = (steps ?? []).slice(-RECENT);
  const shares = recent.flatMap((step) => step.tail.filter((one) => one.percent === 10 && one.wall_share !== null).map((one) => one.wall_share ?? 0));
  if (shares.length < 3) return [];
  const share = shares.reduce((sum, one) => sum + one, 0) / shares.length;
  if (share < 0.4) return [];
  return [
    {
      id: "tail",
      tone: "plain",
      title: `The slowest tenth of a batch takes ${percent(share)} of its time`,
      detail: `on average over ${shares.length} steps only they were still running`,
      view: "rollouts",
      patch: { tab: "batch", order: "-total" },
    },
  ];
}
