// Times the page in a headless Chromium: `node load.mjs BASE VIEW RUN REPEATS`. Prints JSON: ms from the navigation until the
// view is drawn, with nothing in the cache and again, and what went over the wire the first time.

import { launch, open } from "./browser.mjs";

const [base, view, run, repeats] = process.argv.slice(2);
const DRAWN = {
  overview: { selector: '[aria-label="The run in numbers"]', answer: "/overview" },
  timeline: { selector: "button.label", answer: "/timeline?" },
};

/** Runs in the page: the moment of the first frame in which the view stands with its data, else nothing. */
function drawn({ selector, answer }) {
  if (!document.querySelector("#view h1") || !document.querySelector(selector) || document.querySelector('[data-empty="waiting"]')) return 0;
  if (!performance.getEntriesByType("resource").some((one) => one.name.includes(answer) && one.responseEnd > 0)) return 0;
  // The frame that draws it comes after the one in which it is there.
  return new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now()))));
}

async function time(page) {
  const found = await page.waitForFunction(drawn, DRAWN[view], { polling: "raf", timeout: 60_000 });
  return found.jsonValue();
}

function wire() {
  const all = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
  return { bytes: all.reduce((sum, one) => sum + one.transferSize, 0), requests: all.length };
}

const browser = await launch();
try {
  const told = { first: [], again: [], bytes: 0, requests: 0 };
  // The first one also starts the browser's processes: not counted.
  for (let at = 0; at <= Number(repeats); at++) {
    const { page, context } = await open(browser, base);
    await page.goto(`${base}/#/${view}?run=${run}`, { waitUntil: "commit" });
    const first = await time(page);
    Object.assign(told, await page.evaluate(wire));
    await page.goto("about:blank");
    await page.goto(`${base}/#/${view}?run=${run}`, { waitUntil: "commit" });
    const again = await time(page);
    if (at > 0) {
      told.first.push(first);
      told.again.push(again);
    }
    await context.close();
  }
  process.stdout.write(`${JSON.stringify(told)}\n`);
} finally {
  await browser.close();
}
