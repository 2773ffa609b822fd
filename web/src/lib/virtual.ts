// Which rows of a long list are on the screen.

export interface Slice {
  first: number;
  last: number;
}

/** Rows of equal height: [first, last) that `height` pixels from `top` touch, and a few more on both sides. */
export function visibleRows(total: number, row: number, top: number, height: number, spare = 8): Slice {
  const first = Math.max(0, Math.min(total, Math.floor(top / row)) - spare);
  const last = Math.min(total, Math.ceil((top + height) / row) + spare);
  return { first, last: Math.max(first, last) };
}

/** Where to scroll so that row `index` is seen, moving as little as possible. */
export function scrollTo(index: number, row: number, top: number, height: number): number {
  if (index * row < top) return index * row;
  if ((index + 1) * row > top + height) return (index + 1) * row - height;
  return top;
}

export interface SortOrder {
  by: string;
  down: boolean;
}

/** `-lines` is by lines, largest first; `lines` or `+lines` smallest first. */
export function parseSort(text: string | undefined, otherwise: string): SortOrder {
  const chosen = text || otherwise;
  return { by: chosen.replace(/^[+-]/, ""), down: chosen.startsWith("-") };
}

/** What is not recorded comes last, whichever way one sorts. */
export function compare(a: unknown, b: unknown, down: boolean): number {
  const none = (value: unknown) => value === null || value === undefined || Number.isNaN(value);
  if (none(a) || none(b)) return Number(none(a)) - Number(none(b));
  const order =
    typeof a === "number" && typeof b === "number"
      ? a - b
      : String(a).localeCompare(String(b), undefined, { numeric: true });
  return down ? -order : order;
}
