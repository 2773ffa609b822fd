// Paints deliveries over the lanes: thin, with an edge in the colour of the ground, so that lanes stay readable beneath.

import type { TimeScale } from "$lib/time";
import type { Paint } from "./draw";
import { backwards, curve, flowColour, type Arrow, type Point } from "./flows";

interface Look {
  colour: string;
  dash: number[];
  mark: "head" | "cross" | "ring" | "question";
}

function lookOf({ flow }: Arrow, paint: Paint): Look {
  const colour = flowColour(flow.stem, paint.theme);
  switch (flow.verdict) {
    case "missing":
    case "evicted":
      return { colour: paint.bad, dash: [3, 3], mark: "cross" };
    case "unknown":
      return { colour: paint.faint, dash: [2, 3], mark: "question" };
    case "pending":
      return { colour, dash: [2, 3], mark: "ring" };
    case "rejected":
      return { colour: paint.bad, dash: [], mark: "head" };
    default:
      // It cannot have arrived before it was sent: what is drawn are two clocks that differ.
      return { colour, dash: backwards(flow) ? [4, 3] : [], mark: "head" };
  }
}

export function drawFlows(context: CanvasRenderingContext2D, arrows: readonly Arrow[], hovered: Arrow | null, scale: TimeScale, top: number, height: number, paint: Paint): void {
  context.save();
  context.lineCap = "round";
  context.lineJoin = "round";
  // What is alike is drawn alike: fewer, fainter lines where there are many.
  const faint = hovered ? 0.25 : arrows.length > 100 ? 0.6 : 0.85;
  for (const arrow of arrows) if (arrow !== hovered) drawOne(context, arrow, scale, top, height, paint, faint, false);
  if (hovered) drawOne(context, hovered, scale, top, height, paint, 1, true);
  context.restore();
}

function drawOne(context: CanvasRenderingContext2D, arrow: Arrow, scale: TimeScale, top: number, height: number, paint: Paint, alpha: number, strong: boolean): void {
  const [a, b, c, d] = curve(arrow, scale, top);
  const xs = [a[0], b[0], c[0], d[0]];
  if (Math.max(...xs) < 0 || Math.min(...xs) > scale.width || Math.max(a[1], d[1]) < -8 || Math.min(a[1], d[1]) > height + 8) return;
  const look = lookOf(arrow, paint);
  const wide = (strong ? 2.2 : 1.3) + Math.min(1.6, Math.log10(arrow.flow.n) * 0.8);
  const path = new Path2D();
  path.moveTo(...a);
  path.bezierCurveTo(...b, ...c, ...d);
  context.globalAlpha = alpha * 0.75;
  context.setLineDash([]);
  context.strokeStyle = paint.surface;
  context.lineWidth = wide + 2.4;
  context.stroke(path);
  context.globalAlpha = alpha;
  context.strokeStyle = context.fillStyle = look.colour;
  context.lineWidth = wide;
  context.setLineDash(look.dash);
  context.stroke(path);
  context.setLineDash([]);
  // The ends are in the colour of text: a line may lie on a lane of its own colour.
  if (look.mark === "head") context.fillStyle = paint.ink;
  dot(context, a, strong ? 3 : 2.2, paint);
  if (look.mark === "head") head(context, d, c, strong ? 7.5 : 6, endOf(arrow, paint), paint);
  else mark(context, look.mark, d, paint, look.colour);
}

function endOf({ flow: one }: Arrow, paint: Paint): string {
  return one.verdict === "rejected" ? paint.bad : paint.ink;
}

function dot(context: CanvasRenderingContext2D, [x, y]: Point, size: number, paint: Paint): void {
  context.beginPath();
  context.arc(x, y, size, 0, Math.PI * 2);
  context.lineWidth = 1;
  context.strokeStyle = paint.surface;
  context.fill();
  context.stroke();
}

function head(context: CanvasRenderingContext2D, [x, y]: Point, [fromX, fromY]: Point, size: number, fill: string, paint: Paint): void {
  const angle = Math.atan2(y - fromY, x - fromX);
  context.beginPath();
  context.moveTo(x + 1, y);
  for (const side of [-0.48, 0.48]) context.lineTo(x - size * Math.cos(angle + side), y - size * Math.sin(angle + side));
  context.closePath();
  context.lineWidth = 1.5;
  context.strokeStyle = paint.surface;
  context.fillStyle = fill;
  context.stroke();
  context.fill();
}

/** How a delivery ends that did not arrive: ✗ missing, ? nobody can say, ○ on its way. */
function mark(context: CanvasRenderingContext2D, what: "cross" | "ring" | "question", [x, y]: Point, paint: Paint, colour: string): void {
  context.beginPath();
  context.arc(x + 5, y, 6, 0, Math.PI * 2);
  context.fillStyle = paint.surface;
  context.fill();
  context.strokeStyle = context.fillStyle = colour;
  context.lineWidth = 1.6;
  context.beginPath();
  if (what === "ring") {
    context.arc(x + 5, y, 3.4, 0, Math.PI * 2);
    context.stroke();
  } else if (what === "cross") {
    for (const side of [-1, 1]) {
      context.moveTo(x + 2, y - 3 * side);
      context.lineTo(x + 8, y + 3 * side);
    }
    context.stroke();
  } else {
    context.font = `600 10px ${paint.font}`;
    context.textBaseline = "middle";
    context.textAlign = "center";
    context.fillText("?", x + 5, y + 0.5);
    context.textAlign = "start";
  }
}
