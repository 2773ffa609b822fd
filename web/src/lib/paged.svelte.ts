// A long list of which only the pages on the screen are asked for; the others are holes until one scrolls there.

import { untrack } from "svelte";
import { query, type Query } from "$lib/query.svelte";

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

export interface Paged<A, T> {
  readonly rows: readonly (T | undefined)[];
  readonly query: Query<A>;
  see(first: number, last: number): void;
}

interface Answer {
  total: number;
  offset: number;
}

/** `ask` returns the path of one page, or null while there is nothing to ask. */
export function paged<A extends Answer, T>(ask: () => ((page: Page) => string) | null, pick: (answer: A) => readonly T[]): Paged<A, T> {
  let page = $state.raw<Page>({ offset: 0, limit: PAGE });
  let rows = $state.raw<(T | undefined)[]>([]);
  let question = "";
  const made = query<A>(() => ask()?.(page) ?? null);
  $effect(() => {
    const data = made.data;
    if (!data) return;
    untrack(() => {
      const asked = ask()?.({ offset: 0, limit: 0 }) ?? "";
      rows = merged(asked === question ? rows : [], data.total, data.offset, pick(data));
      question = asked;
    });
  });
  return {
    get rows() {
      return rows;
    },
    query: made,
    see(first, last) {
      const wanted = pagesOf(first, last);
      if (wanted.offset !== page.offset || wanted.limit !== page.limit) page = wanted;
    },
  };
}
