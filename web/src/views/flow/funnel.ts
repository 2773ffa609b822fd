// The funnel: how many sessions got how far, and where the others went.

import type { Flow, Funnel } from "$lib/answers";

export interface FunnelPart {
  id: string;
  n: number;
  tone: "good" | "warn" | "bad" | "accent" | "plain";
}

export interface FunnelStage {
  id: string;
  title: string;
  /** Null: the run does not say. */
  n: number | null;
  /** Of what was submitted. */
  share: number | null;
  parts: FunnelPart[];
  note: string;
}

const part = (id: string, n: number, tone: FunnelPart["tone"]): FunnelPart => ({ id, n, tone });

export function stagesOf(funnel: Funnel): FunnelStage[] {
  const all = Math.max(funnel.submitted, funnel.started);
  const share = (n: number | null) => (n === null || !all ? null : n / all);
  const ended = [
    part("accepted", funnel.accepted, "good"),
    part("pending", funnel.pending, "plain"),
    part("rejected", funnel.rejected, "warn"),
    part("dropped", funnel.dropped, "warn"),
    part("failed", funnel.failed, "bad"),
    part("cancelled", funnel.cancelled, "plain"),
    part("lost", funnel.lost, "bad"),
  ].filter((one) => one.n > 0);
  const decided = ended.reduce((sum, one) => sum + one.n, 0);
  return [
    { id: "submitted", title: "Submitted", n: funnel.submitted, share: share(funnel.submitted), parts: [part("submitted", funnel.submitted, "accent")], note: "sessions of the tasks that were put" },
    { id: "started", title: "Started", n: funnel.started, share: share(funnel.started), parts: [part("started", funnel.started, "accent")], note: funnel.submitted > funnel.started ? `${funnel.submitted - funnel.started} wait for a worker` : "all have a worker" },
    { id: "generated", title: "Generated", n: funnel.generated, share: share(funnel.generated), parts: [part("generated", funnel.generated, "accent"), part("running", funnel.running, "plain")].filter((one) => one.n > 0), note: funnel.running ? `${funnel.running} still run` : "none runs" },
    { id: "decided", title: "Decided", n: decided, share: share(decided), parts: ended, note: funnel.pending ? `${funnel.pending} not decided yet` : "each has a verdict" },
    { id: "trained", title: "Trained", n: funnel.trained, share: share(funnel.trained), parts: funnel.trained ? [part("trained", funnel.trained, "good")] : [], note: funnel.trained === null ? "not recorded which sessions were trained" : funnel.accepted > funnel.trained ? `${funnel.accepted - funnel.trained} accepted ones wait in a queue` : funnel.trained ? "all that were accepted" : "none was accepted" },
  ];
}

/** Who is too slow, in one sentence; null when nothing tells. */
export function pace(flow: Flow): string | null {
  const queue = flow.queues.find((one) => one.depths.length > 4);
  if (!queue) return null;
  const depths = queue.depths.map((one) => one[1]);
  const middle = depths.slice(Math.floor(depths.length / 2));
  const mean = middle.reduce((sum, one) => sum + one, 0) / middle.length;
  // A trainer that takes a batch at a time empties the queue and then waits for it to fill: it touches zero again and again.
  const empty = middle.filter((one) => one <= 1).length / middle.length;
  if (queue.evicted > queue.put * 0.05) return `Producers are faster: ${queue.queue} had to throw ${queue.evicted} of ${queue.put} away`;
  if (queue.depth_max > 0 && mean > queue.depth_max * 0.7 && queue.depth_max > 5) return `Producers are faster: ${queue.queue} stays nearly full`;
  if (mean < 1) return `The trainer is faster: ${queue.queue} is mostly empty, so it waits`;
  if (empty > 0.1) return `The trainer is faster: it empties ${queue.queue} again and again, and waits`;
  return `In pace: ${queue.queue} holds ${mean.toPrecision(2)} on average`;
}
