// Pieces of a long list: which of them are on the screen, and how an answer is put in its place.

export const PAGE = 200;

export interface Page {
  offset: number;
  limit: number;
}

/** The pages that rows [first, last) touch, as one piece of the list. */
export function pagesOf(first: number, last: number, size = PAGE): Page {
  const offset = Math.floor(first / size) * size;
  return { offset, limit: Math.max(1, Math.ceil(Math.max(last, first + 1) / size) - offset / size) * size };
}

/** The list with a piece of it put in its place; a list of another length keeps what still fits. */
export function merged<T>(rows: readonly (T | undefined)[], total: number, offset: number, piece: readonly T[]): (T | undefined)[] {
  const next = Array.from({ length: total }, (_, at) => rows[at]);
  piece.forEach((row, at) => {
    if (offset + at < total) next[offset + at] = row;
  });
  return next;
}
