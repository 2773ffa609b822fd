// What a pressed key is called: `w`, `Shift+F`, `Ctrl+k`, `/`, `Space`.

export function nameOf(event: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">): string {
  const key = event.key === " " ? "Space" : event.key;
  const letter = key.length === 1 && key.toLowerCase() !== key.toUpperCase();
  const parts = [];
  if (event.ctrlKey || event.metaKey) parts.push("Ctrl");
  if (event.altKey) parts.push("Alt");
  // A shifted sign (`?`) is a key of its own; a shifted letter or arrow is not.
  if (event.shiftKey && (letter || key.length > 1)) parts.push("Shift");
  return [...parts, key].join("+");
}
