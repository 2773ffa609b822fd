// Counts frames of the timeline in a headless Chromium: `node frames.mjs BASE RUN SECONDS`. Prints JSON: frames a second and the
// longest wait for one, in ms, while the window is panned and while the lanes are scrolled, a little in every frame.

import { launch, open } from "./browser.mjs";

const [base, run, seconds] = process.argv.slice(2);

/** Runs in the page. */
async function count({ what, ms }) {
  const canvas = document.querySelector('canvas[aria-label^="Lanes over time"]');
  const lanes = canvas.closest(".lanes");
  const box = canvas.getBoundingClientRect();
  let way = 1;
  const move = {
    pan: () => canvas.dispatchEvent(new WheelEvent("wheel", { deltaX: way * 12, shiftKey: true, clientX: box.x + box.width / 2, clientY: box.y + 40, bubbles: true, cancelable: true })),
    scroll: () => lanes.scrollBy(0, way * 16),
  }[what];
  const next = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const begun = await next();
  let [frames, before, longest] = [0, begun, 0];
  while (before - begun < ms) {
    // To and fro, so that neither end is reached.
    way = Math.floor((before - begun) / 1000) % 2 ? -1 : 1;
    move();
    const now = await next();
    longest = Math.max(longest, now - before);
    before = now;
    frames += 1;
  }
  return { per_s: (frames * 1000) / (before - begun), longest_ms: longest };
}

const browser = await launch();
try {
  const { page } = await open(browser, base, { width: 1920, height: 1080 });
  page.setDefaultTimeout(120_000);
  await page.goto(`${base}/#/timeline?run=${run}`);
  await page.waitForSelector("button.label:not(.group)");
  const { from, to } = await page.evaluate(async (path) => {
    const { runs } = await (await fetch("api/v1/runs")).json();
    const { first, last } = runs.find((one) => one.run === path);
    return { from: first + (last - first) * 0.3, to: first + (last - first) * 0.7 };
  }, run);
  await page.goto(`${base}/#/timeline?run=${run}&from=${from}&to=${to}`);
  await page.waitForFunction(() => performance.getEntriesByType("resource").some((one) => one.name.includes("/timeline?") && one.responseEnd > 0));
  await page.waitForTimeout(1500);
  const lanes = await page.evaluate(async (path) => (await (await fetch(`api/v1/runs/${path}/timeline/lanes`)).json()).lanes.length, run);
  const told = { lanes };
  for (const what of ["pan", "scroll"]) {
    told[what] = await page.evaluate(count, { what, ms: Number(seconds) * 1000 });
    await page.waitForTimeout(800);
  }
  process.stdout.write(`${JSON.stringify(told)}\n`);
} finally {
  await browser.close();
}
