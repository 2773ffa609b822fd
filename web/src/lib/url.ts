// Where one is, as text: `#/timeline?run=a&from=1&to=2`. Everything a view shows follows from it.

export type Params = Record<string, string>;

export interface Place {
  view: string;
  params: Params;
}

/** What goes along from view to view: the run, the window of time, the selection and the moment of freezing. */
export const CARRIED = ["run", "from", "to", "sel", "at"] as const;

export const HOME = "runs";

export function parsePlace(hash: string): Place {
  const [path = "", query = ""] = splitOnce(hash.replace(/^#?\/?/, ""), "?");
  const params: Params = {};
  for (const [key, value] of new URLSearchParams(query)) params[key] = value;
  return { view: safeDecode(path) || HOME, params };
}

/** The shortest text for a place; keys keep one order, so that equal places have equal links. */
export function formatPlace(place: Place): string {
  const query = new URLSearchParams();
  for (const key of Object.keys(place.params).sort(byImportance)) {
    const value = place.params[key];
    if (value !== undefined && value !== "") query.set(key, value);
  }
  const text = query.toString().replace(/%3A/g, ":").replace(/%2C/g, ",").replace(/%2F/g, "/");
  return `#/${encodeURIComponent(place.view)}${text ? `?${text}` : ""}`;
}

/** A patch takes away what it sets to null or undefined. */
export type Patch = Record<string, string | number | boolean | null | undefined>;

export function patched(params: Params, patch: Patch): Params {
  const next: Params = { ...params };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null || value === undefined || value === "" || value === false) delete next[key];
    else next[key] = typeof value === "number" ? formatNumber(value) : value === true ? "1" : value;
  }
  return next;
}

export function carried(params: Params): Params {
  const kept: Params = {};
  for (const key of CARRIED) if (params[key] !== undefined) kept[key] = params[key];
  return kept;
}

export interface Range {
  from: number;
  to: number;
}

/** `1700000000000-1700000005000`, in ms since the epoch. */
export function parseRange(text: string | undefined): Range | null {
  const match = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(text ?? "");
  if (!match) return null;
  const from = Number(match[1]);
  const to = Number(match[2]);
  return to > from ? { from, to } : null;
}

export function formatRange(range: Range): string {
  return `${formatNumber(range.from)}-${formatNumber(range.to)}`;
}

function formatNumber(value: number): string {
  return String(Math.round(value * 1000) / 1000);
}

function byImportance(a: string, b: string): number {
  const rank = (key: string) => {
    const found = (CARRIED as readonly string[]).indexOf(key);
    return found < 0 ? CARRIED.length : found;
  };
  return rank(a) - rank(b) || (a < b ? -1 : 1);
}

function splitOnce(text: string, by: string): [string, string] {
  const at = text.indexOf(by);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
