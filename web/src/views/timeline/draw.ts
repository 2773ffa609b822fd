// Paints lanes, summary and strips on canvases. Knows nothing of the server or of the URL.

import { colourOf, ERROR, inkOn, type Theme } from "$lib/colour";
import type { TimelineSummary } from "$lib/types";
import type { TimeScale, Tick } from "$lib/time";
import type { Range } from "$lib/url";
import { MOST_ROWS, type Item, type LaneItems, type RowBox, type Sizes } from "./layout";

export interface Paint {
  theme: Theme;
  page: string;
  surface: string;
  ink: string;
  faint: string;
  grid: string;
  line: string;
  accent: string;
  bad: string;
  font: string;
}

const paints = new Map<Theme, Paint>();

/** Read once per theme: asking for computed styles makes the browser lay out what has changed, in every frame. */
export function paintOf(theme: Theme): Paint {
  const known = paints.get(theme);
  if (known) return known;
  const made = readPaint(theme);
  paints.set(theme, made);
  return made;
}

function readPaint(theme: Theme): Paint {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string) => style.getPropertyValue(name).trim();
  return {
    theme, page: of("--page"), surface: of("--surface"), ink: of("--ink"), faint: of("--ink-3"), grid: of("--grid"), line: of("--line"),
    accent: of("--accent"), bad: of("--bad"), font: of("--font"),
  };
}

/** Makes a canvas sharp on any screen and returns what to draw with, in CSS pixels. */
export function prepare(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D | null {
  const ratio = window.devicePixelRatio || 1;
  const wide = Math.round(width * ratio);
  const high = Math.round(height * ratio);
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
  }
  const context = canvas.getContext("2d", { alpha: false });
  context?.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

export interface Scene {
  scale: TimeScale;
  top: number;
  height: number;
  boxes: readonly RowBox[];
  items: ReadonlyMap<string, LaneItems>;
  names: readonly string[];
  sizes: Sizes;
  ticks: readonly Tick[];
  now: number;
  /** Only this name is drawn in colour. */
  only: string | null;
  selected: { key: string; seq: number } | null;
  hovered: { key: string; item: Item } | null;
  lane: string | null;
}

export function drawLanes(context: CanvasRenderingContext2D, scene: Scene, paint: Paint): void {
  const { scale, top, height, sizes } = scene;
  context.fillStyle = paint.surface;
  context.fillRect(0, 0, scale.width, height);
  drawGrid(context, scene.ticks, scale, height, paint);
  const colours = scene.names.map((name) => colourOf(name, paint.theme));
  const inks = colours.map(inkOn);
  const only = scene.only === null ? -1 : scene.names.indexOf(scene.only);
  const hatch = hatching(context, paint);
  context.textBaseline = "middle";
  for (const box of scene.boxes) {
    const y = Math.round(box.top - top);
    if (box.kind === "group") {
      context.fillStyle = paint.page;
      context.fillRect(0, y, scale.width, box.height);
      continue;
    }
    const lane = box.lane;
    const items = scene.items.get(box.key);
    if (scene.lane === box.key) {
      context.fillStyle = `${paint.accent}1f`;
      context.fillRect(0, y, scale.width, box.height);
    }
    context.fillStyle = paint.grid;
    context.fillRect(0, y + box.height - 1, scale.width, 1);
    if (!items) continue;
    // Of a process that was lost nobody knows whether its work goes on: it is drawn up to the last word.
    const until = lane?.lost && lane.last !== null ? lane.last : scene.now;
    const stateHeight = lane && lane.states > 0 ? sizes.state : items.states.length ? sizes.state : 0;
    drawItems(context, items.states, () => y + sizes.gap / 2, stateHeight - 2, scene, until, box.key, colours, inks, only, paint);
    const base = y + sizes.gap / 2 + stateHeight - sizes.span;
    drawItems(context, items.spans, (item) => base + item.row * sizes.span, sizes.span - 2, scene, until, box.key, colours, inks, only, paint);
    if (lane?.lost && lane.last !== null && hatch) {
      const x = Math.max(0, scale.x(until));
      if (x < scale.width) {
        context.fillStyle = hatch;
        context.fillRect(x, y + 1, Math.min(scale.width, scale.x(scene.now)) - x, box.height - 2);
      }
    }
  }
}

function drawItems(
  context: CanvasRenderingContext2D, items: readonly Item[], yOf: (item: Item) => number, high: number, scene: Scene, until: number, key: string,
  colours: readonly string[], inks: readonly string[], only: number, paint: Paint,
): void {
  const { scale } = scene;
  if (high < 1) return;
  context.font = `${Math.min(11, high - 2)}px ${paint.font}`;
  let last = "";
  for (const item of items) {
    if (item.from > scale.to) break;
    const to = item.open ? Math.max(until, item.from) : item.to;
    if (to < scale.from) continue;
    const x = Math.max(-2, scale.x(item.from));
    const wide = Math.max(item.n > 1 ? scale.x(to) - scale.x(item.from) : 1, Math.min(scale.width + 2, scale.x(to)) - x);
    const y = yOf(item);
    const colour = colours[item.name] ?? paint.faint;
    const dim = only >= 0 && item.name !== only;
    const fill = dim ? `${colour}30` : colour;
    if (fill !== last) context.fillStyle = last = fill;
    if (item.cover < 0.995) {
      // A block that is partly empty is as low as it is covered, so that density shows at any zoom.
      const part = Math.max(2, Math.round(high * Math.sqrt(item.cover)));
      context.fillRect(x, y + high - part, wide, part);
    } else context.fillRect(x, y, wide > 3 ? wide - 0.75 : wide, high);
    if (item.bad) {
      context.fillStyle = ERROR[paint.theme];
      context.fillRect(x, y + high - 2, Math.max(2, wide - 0.75), 2);
      last = "";
    }
    if (item.open && wide > 6) {
      context.fillStyle = `${paint.surface}66`;
      for (let stripe = x + wide - 5; stripe > Math.max(x, x + wide - 24); stripe -= 6) context.fillRect(stripe, y, 2, high);
      last = "";
    }
    if (wide > 34 && high >= 11 && !dim && item.n === 1 && item.row < MOST_ROWS) {
      const name = scene.names[item.name] ?? "";
      const room = Math.floor((wide - 8) / 6);
      context.fillStyle = inks[item.name] ?? paint.ink;
      context.fillText(name.length <= room ? name : `${name.slice(0, Math.max(1, room - 1))}…`, Math.max(x, 0) + 4, y + high / 2 + 0.5);
      last = "";
    }
    const hot = scene.hovered?.item === item || (scene.hovered?.key === key && item.seq !== null && scene.hovered.item.seq === item.seq && scene.hovered.item.part === item.part);
    const chosen = scene.selected?.key === key && item.seq !== null && scene.selected.seq === item.seq;
    if (hot || chosen) {
      context.strokeStyle = chosen ? paint.accent : paint.ink;
      context.lineWidth = chosen ? 2 : 1;
      context.strokeRect(x - 0.5, y - 0.5, Math.max(3, wide), high + 1);
      last = "";
    }
  }
}

function drawGrid(context: CanvasRenderingContext2D, ticks: readonly Tick[], scale: TimeScale, height: number, paint: Paint): void {
  context.fillStyle = paint.grid;
  for (const tick of ticks) context.fillRect(Math.round(scale.x(tick.ts)), 0, 1, height);
}

const patterns = new Map<string, CanvasPattern | null>();

/** Diagonal lines: a process was lost here, so nothing is known. */
function hatching(context: CanvasRenderingContext2D, paint: Paint): CanvasPattern | null {
  const known = patterns.get(paint.theme);
  if (known !== undefined) return known;
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const pen = tile.getContext("2d");
  if (pen) {
    pen.strokeStyle = `${paint.bad}55`;
    pen.lineWidth = 1;
    pen.beginPath();
    for (const at of [-8, 0, 8]) {
      pen.moveTo(at, 8);
      pen.lineTo(at + 8, 0);
    }
    pen.stroke();
  }
  const made = context.createPattern(tile, "repeat");
  patterns.set(paint.theme, made);
  return made;
}

/** How many lanes were in each state, stacked: work from below, waiting above it. */
export function drawSummary(
  context: CanvasRenderingContext2D, summary: TimelineSummary, order: readonly string[], most: number, scale: TimeScale, height: number,
  ticks: readonly Tick[], only: string | null, paint: Paint,
): void {
  context.fillStyle = paint.surface;
  context.fillRect(0, 0, scale.width, height);
  drawGrid(context, ticks, scale, height, paint);
  const width = (summary.to - summary.from) / summary.buckets;
  const base = new Float64Array(summary.buckets);
  const unit = (height - 4) / Math.max(1, most);
  for (const name of order) {
    const state = summary.states.find((one) => one.name === name);
    if (!state) continue;
    context.fillStyle = colourOf(name, paint.theme) + (only !== null && only !== name ? "30" : "");
    for (let at = 0; at < summary.buckets; at += 1) {
      const lanes = state.lanes[at] ?? 0;
      if (lanes <= 0) continue;
      const x = scale.x(summary.from + at * width);
      const next = scale.x(summary.from + (at + 1) * width);
      const y = height - ((base[at] ?? 0) + lanes) * unit;
      if (next >= 0 && x <= scale.width) context.fillRect(x, y, next - x + 0.4, lanes * unit);
      base[at] = (base[at] ?? 0) + lanes;
    }
  }
}

/** What has been selected: everything else a shade darker. */
export function drawSelection(context: CanvasRenderingContext2D, selection: Range | null, scale: TimeScale, height: number, paint: Paint): void {
  if (!selection) return;
  const from = scale.x(selection.from);
  const to = scale.x(selection.to);
  context.fillStyle = `${paint.page}99`;
  if (from > 0) context.fillRect(0, 0, Math.min(from, scale.width), height);
  if (to < scale.width) context.fillRect(Math.max(0, to), 0, scale.width - Math.max(0, to), height);
  context.fillStyle = paint.accent;
  for (const x of [from, to]) if (x >= 0 && x <= scale.width) context.fillRect(Math.round(x) - 1, 0, 1.5, height);
}

export function drawMoment(context: CanvasRenderingContext2D, ts: number | null, scale: TimeScale, height: number, colour: string): void {
  if (ts === null) return;
  const x = Math.round(scale.x(ts));
  if (x < 0 || x > scale.width) return;
  context.fillStyle = colour;
  context.fillRect(x, 0, 1, height);
}

/** A metric on the same axis as the lanes. */
export function drawStrip(
  context: CanvasRenderingContext2D, xs: readonly number[], lines: readonly { values: readonly (number | null)[]; colour: string }[], low: number,
  high: number, scale: TimeScale, height: number, ticks: readonly Tick[], paint: Paint,
): void {
  context.fillStyle = paint.surface;
  context.fillRect(0, 0, scale.width, height);
  drawGrid(context, ticks, scale, height, paint);
  const unit = (height - 8) / (high - low || 1);
  context.lineWidth = 1.25;
  context.lineJoin = "round";
  for (const line of lines) {
    context.strokeStyle = line.colour;
    context.beginPath();
    let begun = false;
    for (let at = 0; at < xs.length; at += 1) {
      const value = line.values[at];
      if (value === null || value === undefined) continue;
      const x = scale.x(xs[at] as number);
      const y = height - 4 - (value - low) * unit;
      if (begun) context.lineTo(x, y);
      else context.moveTo(x, y);
      begun = true;
    }
    context.stroke();
  }
}
