// The SQL behind a table, ready to paste: the read model's own file with its parameters filled in.

import { get } from "$lib/api";
import { fill, type SqlValue } from "$lib/fill";
import { copy, notice } from "$lib/notice.svelte";

interface Asked {
  asked: { sql: string; params: Record<string, SqlValue> }[];
}

/** The SQL that made the answer at `where`: of all that was asked, the question that says `about` what it is. */
export async function copyAsked(where: string, about: string): Promise<void> {
  try {
    const { asked } = await get<Asked>(`${where}${where.includes("?") ? "&" : "?"}sql=1`);
    const found = asked.find((one) => one.sql.includes(about)) ?? asked.at(-1);
    if (!found) notice.say("Nothing was asked");
    else await copy(fill(found.sql, found.params), "SQL copied: run it with 'rl-insight query'");
  } catch {
    notice.say("The server does not tell this SQL");
  }
}

export async function copySql(name: string, values: Record<string, SqlValue>): Promise<void> {
  try {
    const { sql } = await get<{ sql: string }>(`questions/${name}`);
    await copy(fill(sql, values), "SQL copied: run it with 'rl-insight query'");
  } catch {
    notice.say("The server does not tell this SQL");
  }
}
