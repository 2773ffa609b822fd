// The place one is at, as state. Views read from it and write to it; nothing else decides what is shown.

import { carried, formatPlace, formatRange, parsePlace, parseRange, patched, type Params, type Patch, type Range } from "$lib/url";

// Browsers refuse more than some hundred history calls in a few seconds; panning makes more than that.
const WRITE_EVERY_MS = 200;

class Router {
  #place = $state.raw(parsePlace(window.location.hash));
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    const read = () => {
      const place = parsePlace(window.location.hash);
      if (formatPlace(place) !== formatPlace(this.#place)) this.#place = place;
    };
    window.addEventListener("hashchange", read);
    window.addEventListener("popstate", read);
  }

  get view(): string {
    return this.#place.view;
  }

  get params(): Params {
    return this.#place.params;
  }

  param(name: string): string | undefined {
    return this.#place.params[name];
  }

  number(name: string): number | undefined {
    const text = this.#place.params[name];
    const value = text === undefined ? NaN : Number(text);
    return Number.isFinite(value) ? value : undefined;
  }

  range(name: string): Range | null {
    return parseRange(this.#place.params[name]);
  }

  /** The link to a view. Run, window, selection and freeze go along unless the patch says otherwise. */
  href(view: string, patch: Patch = {}): string {
    return formatPlace({ view, params: patched(carried(this.#place.params), patch) });
  }

  /** Go to a view; `back` returns to where one was. */
  go(view: string, patch: Patch = {}): void {
    this.#write();
    this.#place = { view, params: patched(carried(this.#place.params), patch) };
    window.history.pushState(null, "", formatPlace(this.#place));
  }

  /** Change the state of the view one is in. With `push`, `back` undoes it. */
  set(patch: Patch, { push = false } = {}): void {
    const params = patched(this.#place.params, patch);
    const place = { view: this.#place.view, params };
    if (formatPlace(place) === formatPlace(this.#place)) return;
    if (push) {
      this.#write();
      this.#place = place;
      window.history.pushState(null, "", formatPlace(place));
    } else {
      this.#place = place;
      this.#timer ??= setTimeout(() => this.#write(), WRITE_EVERY_MS);
    }
  }

  setRange(name: string, range: Range | null, options?: { push?: boolean }): void {
    this.set({ [name]: range ? formatRange(range) : null }, options);
  }

  /** The link to exactly what is shown. */
  link(): string {
    this.#write();
    return window.location.href;
  }

  #write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const hash = formatPlace(this.#place);
    if (hash !== window.location.hash) window.history.replaceState(null, "", hash);
  }
}

export const router = new Router();
