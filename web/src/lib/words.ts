// Words that follow a number.

import { exact } from "$lib/format";

/** `1 turn`, `2 turns`, `– turns`. */
export function several(n: number | null | undefined, one: string, many = `${one}s`): string {
  return `${exact(n)} ${n === 1 ? one : many}`;
}
