// Deliveries as arrows between lanes: which are drawn, where they begin and end, and what is under the pointer.

import type { Theme } from "$lib/colour";
import { HUES } from "$lib/colour";
import { duration } from "$lib/format";
import type { Delivery, FlowKind, Flows, Lane } from "$lib/types";
import type { TimeScale } from "$lib/time";
import { laneKey, type RowBox, type Sizes } from "./layout";

/** More than this many arrows at once are a tangle: they wait until one zooms in or picks a lane. */
export const CALM = 50;

/** What is recorded as sent a moment after it left may arrive before that; more than this, and it is the clocks. */
const AT_ONCE_MS = 1;

export function backwards(flow: Delivery): boolean {
  return flow.arrived !== null && flow.arrived < flow.sent - AT_ONCE_MS;
}

export type FlowMode = "auto" | "all" | "off";

export function modeOf(param: string | undefined): FlowMode {
  return param === "0" ? "off" : param === "all" ? "all" : "auto";
}

export interface Arrow {
  flow: Delivery;
  /** Where it begins and ends, in pixels from the top of all lanes. */
  y1: number;
  /** Of what has not arrived: towards whom it was sent, else null. */
  y2: number | null;
  /** The keys of the two lanes, where they have a row of their own. */
  keys: (string | null)[];
}

const GROUPS: Record<string, keyof typeof HUES> = {
  weights: "yellow", queue: "sky", reward: "pink", task: "green", session: "green", rollout: "blue", data: "orange", blob: "navy", tool: "orange", net: "sky", ctl: "navy",
};

/** One colour for all deliveries of a group, the same in every window. */
export function flowColour(stem: string, theme: Theme): string {
  const known = GROUPS[stem.split(".")[0] ?? ""];
  const spare = Object.keys(HUES).filter((hue) => hue !== "red");
  let sum = 0;
  for (const letter of stem) sum = (sum * 31 + letter.charCodeAt(0)) >>> 0;
  return (HUES[known ?? (spare[sum % spare.length] as keyof typeof HUES)] ?? HUES.blue)?.[theme] ?? "#888888";
}

/** Finds the row of a process: the lane that is named, else the one of the process itself, else its first, else its role's heading. */
export function rowsOf(boxes: readonly RowBox[], lanes: readonly Lane[], sizes: Sizes): (proc: string, lane: string | null) => { y: number; key: string | null } | null {
  const byKey = new Map<string, RowBox>();
  const byProc = new Map<string, RowBox>();
  const headings = new Map<string, RowBox>();
  for (const box of boxes) {
    if (box.kind === "group") headings.set(box.role, box);
    else if (box.lane) {
      byKey.set(box.key, box);
      if (!byProc.has(box.lane.proc)) byProc.set(box.lane.proc, box);
    }
  }
  const roles = new Map(lanes.map((lane) => [lane.proc, lane.role ?? ""]));
  return (proc, lane) => {
    const box = (lane === null ? undefined : byKey.get(laneKey({ proc, lane }))) ?? byKey.get(laneKey({ proc, lane: "" })) ?? byProc.get(proc);
    if (box) return { y: box.top + Math.min(box.height / 2, (sizes.gap + sizes.state) / 2), key: box.key };
    const heading = headings.get(roles.get(proc) ?? "\0");
    return heading ? { y: heading.top + heading.height / 2, key: null } : null;
  };
}

/** The arrows between rows that are there. With a lane in focus, its own; where it has none, those of its process. */
export function arrowsOf(flows: readonly Delivery[], rows: ReturnType<typeof rowsOf>, focus: string | null): Arrow[] {
  const made: Arrow[] = [];
  for (const flow of flows) {
    const from = rows(flow.sender, flow.sender_lane);
    const to = flow.receiver === null || flow.verdict === "evicted" ? null : rows(flow.receiver, flow.receiver_lane);
    if (!from) continue;
    const arrives = flow.arrived !== null && flow.verdict !== "evicted";
    if (arrives && (!to || to.y === from.y)) continue;
    made.push({ flow, y1: from.y, y2: to?.y ?? null, keys: [from.key, to?.key ?? null] });
  }
  if (focus === null) return made;
  const own = made.filter((arrow) => arrow.keys.includes(focus));
  return own.length ? own : made;
}

/** Whether they are drawn: where they are few or asked for, not where they would be a tangle. `only` is a kind looked at alone. */
export function drawn(answer: Flows | undefined, mode: FlowMode, focused: boolean, only: string | null): boolean {
  if (answer === undefined || mode === "off") return false;
  const many = only === null ? answer.total : answer.kinds.filter((kind) => kind.stem === only).reduce((sum, kind) => sum + kind.n, 0);
  return mode === "all" || focused || many <= CALM;
}

export type Point = [x: number, y: number];

export const STUB = 26;

/** The four points of an arrow's curve; of a stub, with its mark at the last. */
export function curve(arrow: Arrow, scale: TimeScale, top: number): [Point, Point, Point, Point] {
  const x1 = scale.x(arrow.flow.sent);
  const y1 = arrow.y1 - top;
  if (arrow.flow.arrived === null || arrow.flow.verdict === "evicted") {
    const down = arrow.y2 === null ? 0 : Math.sign(arrow.y2 - arrow.y1) * 11;
    return [[x1, y1], [x1 + STUB / 2, y1], [x1 + STUB / 2, y1 + down], [x1 + STUB, y1 + down]];
  }
  const x2 = scale.x(arrow.flow.arrived);
  const y2 = (arrow.y2 ?? arrow.y1) - top;
  const bend = Math.max(12, Math.min(64, Math.abs(x2 - x1) / 2));
  return [[x1, y1], [x1 + bend, y1], [x2 - bend, y2], [x2, y2]];
}

export function along([a, b, c, d]: readonly [Point, Point, Point, Point], t: number): Point {
  const u = 1 - t;
  const mix = (at: 0 | 1) => u * u * u * a[at] + 3 * u * u * t * b[at] + 3 * u * t * t * c[at] + t * t * t * d[at];
  return [mix(0), mix(1)];
}

/** The arrow that passes within reach of a point. */
export function arrowAt(arrows: readonly Arrow[], scale: TimeScale, top: number, x: number, y: number, reach = 4): Arrow | null {
  let best: Arrow | null = null;
  let distance = reach;
  for (const arrow of arrows) {
    const points = curve(arrow, scale, top);
    if (outside(points, x, y, reach)) continue;
    let before = points[0];
    for (let step = 1; step <= 20; step += 1) {
      const next = along(points, step / 20);
      const off = away(x, y, before, next);
      if (off < distance) {
        best = arrow;
        distance = off;
      }
      before = next;
    }
  }
  return best;
}

function outside(points: readonly Point[], x: number, y: number, reach: number): boolean {
  const xs = points.map((one) => one[0]);
  const ys = points.map((one) => one[1]);
  return x < Math.min(...xs) - reach || x > Math.max(...xs) + reach || y < Math.min(...ys) - reach || y > Math.max(...ys) + reach;
}

/** How far a point is from a line between two others. */
function away(x: number, y: number, [x1, y1]: Point, [x2, y2]: Point): number {
  const [dx, dy] = [x2 - x1, y2 - y1];
  const long = dx * dx + dy * dy;
  const t = long ? Math.max(0, Math.min(1, ((x - x1) * dx + (y - y1) * dy) / long)) : 0;
  return Math.hypot(x - x1 - t * dx, y - y1 - t * dy);
}

const CLOSING: Record<string, string> = { sent: "received", put: "taken", requested: "answered" };

/** What became of a delivery, in words. */
export function verdictOf(flow: Delivery, receiver: string): { mark: string; text: string; bad: boolean } {
  const took = flow.arrived === null ? "" : duration(Math.max(0, flow.arrived - flow.sent));
  const closing = CLOSING[flow.opened] ?? "received";
  switch (flow.verdict) {
    case "missing":
      return { mark: "✗", text: `not ${closing}: ${receiver} was heard from long enough after, and has lost nothing`, bad: true };
    case "unknown":
      return { mark: "?", text: `whether it was ${closing} is not known: ${receiver} ended, or lost lines, before it could say`, bad: false };
    case "pending":
      return { mark: "○", text: flow.opened === "put" ? "not taken yet" : `not ${closing} yet`, bad: false };
    case "evicted":
      return { mark: "✗", text: `evicted after ${took}${flow.reason ? `: ${flow.reason}` : ""}`, bad: true };
    case "rejected":
      return { mark: "✗", text: `${flow.closed ?? "rejected"} after ${took}${flow.reason ? `: ${flow.reason}` : ", and not ok"}`, bad: true };
    default: {
      if (flow.arrived !== null && backwards(flow)) {
        return { mark: "⇠", text: `${closing} ${duration(flow.sent - flow.arrived)} before it was ${flow.opened}: the two clocks differ, or it was recorded late`, bad: true };
      }
      const later = flow.done !== null && flow.arrived !== null && flow.done > flow.arrived ? `, applied ${duration(flow.done - flow.arrived)} later` : "";
      return { mark: "", text: `${flow.closed === "applied" && flow.done === flow.arrived ? "applied" : closing} ${flow.arrived !== null && flow.arrived <= flow.sent ? "at once" : `after ${took}`}${later}`, bad: false };
    }
  }
}

/** What of a kind did not arrive, for its chip. */
export function troubles(kind: FlowKind): { mark: string; n: number; what: string; bad: boolean }[] {
  return [
    { mark: "✗", n: kind.missing, what: "not received, though who should have was there to say so", bad: true },
    { mark: "✗", n: kind.rejected + kind.evicted, what: "rejected or evicted", bad: true },
    { mark: "⇠", n: kind.backwards, what: "arrive before they are sent: clocks differ", bad: true },
    { mark: "?", n: kind.unknown, what: "of which nobody could say whether they arrived", bad: false },
    { mark: "○", n: kind.pending, what: "on their way", bad: false },
  ].filter((one) => one.n > 0);
}
