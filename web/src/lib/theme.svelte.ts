// Dark or light: what the system says, until someone chooses.

import type { Theme } from "$lib/colour";

const KEY = "rl-insight-theme";

class ThemeChoice {
  now = $state<Theme>("dark");

  constructor() {
    const system = window.matchMedia("(prefers-color-scheme: light)");
    this.#apply(this.#chosen() ?? (system.matches ? "light" : "dark"));
    system.addEventListener("change", () => {
      if (!this.#chosen()) this.#apply(system.matches ? "light" : "dark");
    });
  }

  toggle(): void {
    const next = this.now === "dark" ? "light" : "dark";
    try {
      localStorage.setItem(KEY, next);
    } catch {
      // Without storage the choice lasts as long as the page.
    }
    this.#apply(next);
  }

  #chosen(): Theme | null {
    try {
      const kept = localStorage.getItem(KEY);
      return kept === "dark" || kept === "light" ? kept : null;
    } catch {
      return null;
    }
  }

  #apply(theme: Theme): void {
    this.now = theme;
    document.documentElement.dataset.theme = theme;
  }
}

export const theme = new ThemeChoice();
