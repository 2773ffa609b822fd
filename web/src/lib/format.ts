// Numbers and times for people: short, aligned, exact on demand. `–` is "not recorded"; zero is written as 0.

export const NONE = "–";

const SI = ["", "k", "M", "G", "T", "P"];
const BINARY = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

export function count(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return NONE;
  if (Math.abs(value) < 10_000) return group(Math.round(value * 100) / 100);
  const power = Math.min(Math.floor(Math.log10(Math.abs(value)) / 3), SI.length - 1);
  return `${trim((value / 1000 ** power).toPrecision(3))}${SI[power]}`;
}

/** All digits, in groups of three. */
export function exact(value: number | null | undefined): string {
  if (value === null || value === undefined) return NONE;
  if (Number.isNaN(value)) return "NaN";
  return Number.isInteger(value) ? group(value) : String(value);
}

export function number(value: number | null | undefined): string {
  if (value === null || value === undefined) return NONE;
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 100_000) return minus(count(value));
  if (size < 0.0001) return minus(value.toExponential(2).replace("e-", "e−"));
  return minus(size >= 1000 ? group(Math.round(value)) : trim(value.toPrecision(4)));
}

export function percent(ratio: number | null | undefined): string {
  if (ratio === null || ratio === undefined || Number.isNaN(ratio)) return NONE;
  const value = ratio * 100;
  if (value !== 0 && Math.abs(value) < 0.1) return "<0.1%";
  return `${Math.abs(value) >= 99.95 || value === 0 ? Math.round(value) : value.toFixed(1)}%`;
}

export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return NONE;
  if (value === 0) return "0 B";
  const power = Math.min(Math.floor(Math.log2(Math.abs(value)) / 10), BINARY.length - 1);
  const scaled = value / 1024 ** power;
  return `${scaled >= 100 || power === 0 ? Math.round(scaled) : trim(scaled.toPrecision(3))} ${BINARY[power]}`;
}

/** A length of time given in ms: `850 µs`, `12.4 ms`, `3.21 s`, `4m 05s`, `2h 07m`, `3d 4h`. */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined || Number.isNaN(ms)) return NONE;
  if (ms < 0) return `−${duration(-ms)}`;
  if (ms === 0) return "0 s";
  if (ms < 0.0009995) return `${Math.round(ms * 1e6)} ns`;
  if (ms < 0.9995) return `${trim((ms * 1000).toPrecision(3))} µs`;
  if (ms < 999.5) return `${trim(ms.toPrecision(3))} ms`;
  if (ms < 59_950) return `${trim((ms / 1000).toPrecision(3))} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ${two(seconds % 60)}s`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)}h ${two(Math.floor(seconds / 60) % 60)}m`;
  return `${Math.floor(seconds / 86_400)}d ${Math.floor(seconds / 3600) % 24}h`;
}

/** How long ago: `now`, `12 s ago`, `4 min ago`, `3 h ago`, `5 days ago`. */
export function ago(ts: number | null | undefined, now: number): string {
  if (ts === null || ts === undefined) return NONE;
  const seconds = Math.round((now - ts) / 1000);
  if (seconds < 2) return "now";
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  const days = Math.floor(seconds / 86_400);
  return `${days} day${days === 1 ? "" : "s"} ago`;
}

/** The time of day, with as many decimals of a second as asked for. */
export function clock(ts: number | null | undefined, decimals = 0): string {
  if (ts === null || ts === undefined) return NONE;
  const date = new Date(ts);
  const base = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  if (decimals === 0) return base;
  const fraction = (((ts % 1000) + 1000) % 1000) / 1000;
  return base + fraction.toFixed(9).slice(1, 2 + decimals);
}

export function day(ts: number | null | undefined): string {
  if (ts === null || ts === undefined) return NONE;
  const date = new Date(ts);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

export function moment(ts: number | null | undefined, decimals = 3): string {
  return ts === null || ts === undefined ? NONE : `${day(ts)} ${clock(ts, decimals)}`;
}

/** Any recorded value as one line of text. */
export function text(value: unknown): string {
  if (value === null || value === undefined) return NONE;
  if (typeof value === "string") return value;
  if (typeof value === "number") return exact(value);
  return JSON.stringify(value);
}

function group(value: number): string {
  const [whole = "", fraction] = String(value).split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  return fraction ? `${grouped}.${fraction}` : grouped;
}

function trim(text: string): string {
  return text.includes(".") && !text.includes("e") ? text.replace(/\.?0+$/, "") : text;
}

function minus(text: string): string {
  return text.startsWith("-") ? `−${text.slice(1)}` : text;
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}
