// Puts values into SQL text, for people to paste. The server is never asked this way.

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
