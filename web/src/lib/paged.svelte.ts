// A long list of which only the pages on the screen are asked for; the others are holes until one scrolls there.

import { untrack } from "svelte";
import { merged, PAGE, pagesOf, type Page } from "$lib/pages";
import { query, type Query } from "$lib/query.svelte";

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
