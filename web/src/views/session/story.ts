// A session as one reads it: turn after turn, and between them what belongs to no turn.

import type { Attrs, SessionFact, SessionLog, SessionSpan, SessionStory, Turn } from "$lib/answers";
import { text } from "$lib/format";

export type Item =
  | { what: "span"; at: number; end: number | null; span: SessionSpan }
  | { what: "fact"; at: number; end: number; fact: SessionFact }
  | { what: "log"; at: number; end: number; log: SessionLog };

export interface Block {
  id: string;
  turn: Turn | null;
  start: number;
  end: number | null;
  items: Item[];
}

/** Spans worth a line of their own: not the session, its turns, or a state that repeats the phase inside it. */
export function lines(spans: readonly SessionSpan[]): SessionSpan[] {
  const phases = new Set(spans.filter((span) => span.kind === "phase").map((span) => `${span.name}@${span.proc}`));
  return spans.filter(
    (span) => !["task", "session", "turn"].includes(span.kind) && !(span.kind === "state" && phases.has(`${span.name}@${span.proc}`)),
  );
}

/** The rows of the waterfall, without states that a phase repeats. */
export function rowsOf(spans: readonly SessionSpan[]): SessionSpan[] {
  const kept = new Set(lines(spans));
  return spans.filter((span) => kept.has(span) || span.kind === "session" || span.kind === "turn");
}

export function blocks(story: Pick<SessionStory, "turns" | "spans" | "facts" | "logs">): Block[] {
  const turns: Block[] = story.turns.map((turn, at) => ({ id: `turn-${turn.turn ?? at}-${at}`, turn, start: turn.start, end: turn.end, items: [] }));
  const items: Item[] = [
    ...lines(story.spans).map((span): Item => ({ what: "span", at: span.start, end: span.end, span })),
    ...story.facts.map((fact): Item => ({ what: "fact", at: fact.at, end: fact.at, fact })),
    ...story.logs.map((log): Item => ({ what: "log", at: log.at, end: log.at, log })),
  ].sort((a, b) => a.at - b.at);
  const outside: Item[] = [];
  for (const item of items) {
    const own = item.what === "span" && item.span.turn !== null ? turns.find((block) => block.turn?.turn === item.span.turn) : undefined;
    const home = own ?? turns.find((block) => item.at >= block.start && item.at <= (block.end ?? Infinity));
    if (home) home.items.push(item);
    else outside.push(item);
  }
  // What belongs to no turn is gathered between the turns it lies between.
  const all = [...turns];
  const between = new Map<number, Block>();
  for (const item of outside) {
    const before = turns.filter((block) => block.start <= item.at).length;
    const block = between.get(before) ?? { id: `between-${before}`, turn: null, start: item.at, end: item.end, items: [] };
    block.items.push(item);
    block.end = block.end === null || item.end === null ? null : Math.max(block.end, item.end);
    if (!between.has(before)) all.push(block);
    between.set(before, block);
  }
  return all.sort((a, b) => a.start - b.start || Number(a.turn === null) - Number(b.turn === null));
}

const NAMES = ["tool", "tool_name", "function", "name"];
const ARGUMENTS = ["arguments", "args", "input", "query", "call", "command", "params"];
const RESULTS = ["result", "output", "answer", "response", "observation", "returned"];

export interface ToolCall {
  name: string | null;
  given: { key: string; value: unknown } | null;
  got: { key: string; value: unknown } | null;
}

/** What was called with what, and what came back, by the names people usually give to these attributes. */
export function toolCall(attrs: Attrs | null): ToolCall {
  const first = (keys: string[]) => {
    const key = keys.find((one) => attrs && one in attrs && attrs[one] !== null);
    return key === undefined ? null : { key, value: attrs?.[key] };
  };
  const name = first(NAMES);
  return { name: name ? text(name.value) : null, given: first(ARGUMENTS), got: first(RESULTS) };
}

export const TOLD_BY_CALL = [...NAMES, ...ARGUMENTS, ...RESULTS];

/** When the session began and ended, for the axis; the queue before it only when asked for. */
export function bounds(story: Pick<SessionStory, "session" | "spans" | "facts" | "at">, withQueue: boolean): { from: number; to: number } | null {
  const { session, spans } = story;
  const starts = [session.start, ...spans.map((span) => span.start), withQueue ? session.submitted : null].filter((one): one is number => one !== null);
  const ends = [session.open ? story.at : session.end, ...spans.map((span) => (span.open ? story.at : span.end))].filter((one): one is number => one !== null);
  if (starts.length === 0) return null;
  const from = Math.min(...starts);
  return { from, to: Math.max(from + 0.001, ...ends) };
}

/** The next moment after (or before) `now` at which something happened. */
export function nextEvent(story: Pick<SessionStory, "events">, now: number, by: 1 | -1): number | null {
  const moments = story.events.map((event) => event.at);
  const found = by > 0 ? moments.filter((at) => at > now + 1e-6) : moments.filter((at) => at < now - 1e-6);
  if (found.length === 0) return null;
  return by > 0 ? Math.min(...found) : Math.max(...found);
}
