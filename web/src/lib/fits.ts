// How the command palette finds things by a few letters.

/** How well `text` fits what was typed: letters in order, better when they begin words. Null when it does not. */
export function fits(text: string, typed: string): number | null {
  const low = text.toLowerCase();
  let at = 0;
  let score = 0;
  for (const letter of typed.toLowerCase()) {
    if (letter === " ") continue;
    const found = low.indexOf(letter, at);
    if (found < 0) return null;
    score += found === at ? 3 : found === 0 || /[\s_\-/.:]/.test(low[found - 1] ?? "") ? 2 : -0.05 * (found - at);
    at = found + 1;
  }
  return score - text.length * 0.01;
}
