// The search grammar: `status:failed step:10..20 reward>0.5 -tool:search "two words"`. Views say which keys they know.

export type Comparison = ":" | "=" | "!=" | ">" | ">=" | "<" | "<=";

export interface Filter {
  key: string;
  is: Comparison;
  value: string;
  not: boolean;
}

export interface Search {
  filters: Filter[];
  words: { text: string; not: boolean }[];
}

const PART = /(-?)(?:([a-z_][\w.]*)(:|!=|>=|<=|=|>|<))?(?:"([^"]*)"?|(\S+))/giy;

export function parseSearch(text: string): Search {
  const search: Search = { filters: [], words: [] };
  PART.lastIndex = 0;
  for (;;) {
    while (/\s/.test(text[PART.lastIndex] ?? "")) PART.lastIndex += 1;
    const match = PART.lastIndex < text.length ? PART.exec(text) : null;
    if (!match) return search;
    const not = match[1] === "-";
    const value = match[4] ?? match[5] ?? "";
    if (match[2]) search.filters.push({ key: match[2].toLowerCase(), is: (match[3] ?? ":") as Comparison, value, not });
    else if (value) search.words.push({ text: value, not });
  }
}

export function formatSearch(search: Search): string {
  const quoted = (value: string) => (/\s|^$/.test(value) ? `"${value}"` : value);
  return [
    ...search.filters.map((one) => `${one.not ? "-" : ""}${one.key}${one.is}${quoted(one.value)}`),
    ...search.words.map((one) => `${one.not ? "-" : ""}${quoted(one.text)}`),
  ].join(" ");
}

/** Put a filter into a search text, in the place of others with its key; take it away when the value is null. */
export function withFilter(text: string, key: string, value: string | null): string {
  const search = parseSearch(text);
  search.filters = search.filters.filter((one) => one.key !== key);
  if (value !== null) search.filters.push({ key, is: ":", value, not: false });
  return formatSearch(search);
}

/** Keys that the view does not know, so that it can say so instead of showing nothing. */
export function unknownKeys(search: Search, known: readonly string[]): string[] {
  return [...new Set(search.filters.map((one) => one.key).filter((key) => !known.includes(key)))];
}

/** Numbers compare, `5..9` is a range; text matches by prefix, regardless of case; `*` is anything recorded; `a,b` is either. */
export function matches(value: unknown, is: Comparison, wanted: string): boolean {
  if (value === null || value === undefined) return is === "!=";
  if (is === "!=") return !matches(value, "=", wanted);
  if (wanted === "*") return true;
  if (typeof value !== "number") {
    const text = String(value).toLowerCase();
    return wanted.toLowerCase().split(",").some((one) => (is === "=" ? text === one : text.startsWith(one)));
  }
  const range = /^(-?[\d.]*\d)\.\.(-?[\d.]+)$/.exec(wanted);
  if (range) return value >= Number(range[1]) && value <= Number(range[2]);
  const limit = Number(wanted);
  if (is === ">") return value > limit;
  if (is === "<") return value < limit;
  if (is === ">=") return value >= limit;
  if (is === "<=") return value <= limit;
  return wanted.split(",").some((one) => value === Number(one));
}

/** Whether a row passes: every filter by its key, every word as a part of any of `texts`. */
export function passes(search: Search, byKey: Record<string, unknown>, texts: readonly unknown[]): boolean {
  return (
    search.filters.every((one) => matches(byKey[one.key], one.is, one.value) !== one.not) &&
    search.words.every(
      (word) => texts.some((text) => text !== null && text !== undefined && String(text).toLowerCase().includes(word.text.toLowerCase())) !== word.not,
    )
  );
}
