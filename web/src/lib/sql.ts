// The SQL behind a table, ready to paste: the read model's own file with its parameters filled in.

import { get } from "$lib/api";
import { fill, type SqlValue } from "$lib/fill";
import { copy, notice } from "$lib/notice.svelte";

export async function copySql(name: string, values: Record<string, SqlValue>): Promise<void> {
  try {
    const { sql } = await get<{ sql: string }>(`questions/${name}`);
    await copy(fill(sql, values), "SQL copied: run it with 'rl-insight query'");
  } catch {
    notice.say("The server does not tell this SQL");
  }
}
