// The SQL behind a table, ready to paste: the read model's own file with its parameters filled in.

import { get } from "$lib/api";
import { copy, notice } from "$lib/notice.svelte";

export type SqlValue = string | number | boolean | null | SqlValue[];

export function literal(value: SqlValue): string {
  if (value === null) return "NULL";
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  return typeof value === "string" ? `'${value.replaceAll("'", "''")}'` : String(value);
}

/** Puts values in the place of `$name`; what has no value stays, for the reader to fill in. */
export function fill(sql: string, values: Record<string, SqlValue>): string {
  return sql.replace(/\$([a-z_]+)/g, (whole, name: string) => (name in values ? literal(values[name] ?? null) : whole));
}

export async function copySql(name: string, values: Record<string, SqlValue>): Promise<void> {
  try {
    const { sql } = await get<{ sql: string }>(`questions/${name}`);
    await copy(fill(sql, values), "SQL copied: run it with 'rl-insight query'");
  } catch {
    notice.say("The server does not tell this SQL");
  }
}
