// Links from one view into another that more than one view makes.

import { around } from "$lib/time";
import { formatRange, type Patch, type Range } from "$lib/url";

/** A range of time in the timeline: selected, with some air on both sides. */
export function inTimeline(range: Range, air = 0.5): Patch {
  const wide = { from: range.from, to: Math.max(range.to, range.from + 0.001) };
  return { ...around(wide, air), sel: formatRange(wide) };
}
