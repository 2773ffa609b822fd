// node tools/screenshots.mjs BASE OUT RUN OTHER: every view of a filled server, for README and docs.
// Dark at 1280 and light at 1920; what is in the pictures is what anyone sees after `make demo`.

import { mkdirSync } from "node:fs";
import { launch, open } from "./browser.mjs";

const [base, out, run, other] = process.argv.slice(2);
mkdirSync(out, { recursive: true });
const browser = await launch();

async function json(path) {
  const response = await fetch(`${base}/api/v1/${path}`);
  if (!response.ok) throw new Error(`${response.status} ${path}`);
  return response.json();
}

const about = (await json("runs")).runs.find((one) => one.run === run);
const sessions = (await json(`runs/${run}/sessions?limit=200&sort=-turns`)).sessions;
const session = (sessions.find((one) => one.turns > 1 && one.end) ?? sessions[0]).session;
const middle = about.first + (about.last - about.first) * 0.6;
const { flows } = await json(`runs/${run}/flows?from=${middle}&to=${middle + 4000}`);
const sync = flows.find((one) => one.stem === "weights.version")?.sent ?? middle;
const close = `from=${middle}&to=${middle + 2500}`;
const part = `sel=${middle + 700}-${middle + 1500}`;

const VIEWS = {
  runs: "#/runs",
  compare: `#/runs?compare=${run},${other}`,
  overview: `#/overview?run=${run}`,
  timeline: `#/timeline?run=${run}&closed=controller,reward`,
  "timeline-flows": `#/timeline?run=${run}&closed=controller,reward&spans=0&from=${sync - 300}&to=${sync + 500}&flow=weights.version&flows=all`,
  "timeline-selection": `#/timeline?run=${run}&${close}&${part}&closed=controller`,
  rollouts: `#/rollouts?run=${run}`,
  session: `#/session?run=${run}&session=${encodeURIComponent(session)}`,
  hotspots: `#/hotspots?run=${run}`,
  flow: `#/flow?run=${run}`,
  metrics: `#/metrics?run=${run}`,
  "metrics-heat": `#/metrics?run=${run}&name=tool_latency_seconds&heat=1`,
  facts: `#/facts?run=${run}&q=weights.`,
  fleet: `#/fleet?run=${run}`,
  health: "#/health",
};

let failed = false;
for (const [width, height, theme] of [[1280, 800, "dark"], [1920, 1080, "light"]]) {
  const { page, trouble } = await open(browser, base, { width, height, theme });
  for (const [name, hash] of Object.entries(VIEWS)) {
    await page.goto(`${base}/${hash}`);
    await page.waitForSelector("#view h1");
    await page.waitForFunction(() => !document.querySelector('[data-empty="waiting"]'));
    // Charts draw a frame after their data is there; a window that has just changed shows that of the one before until then.
    await page.waitForTimeout(1800);
    await page.screenshot({ path: `${out}/${name}-${theme}.png` });
  }
  if (trouble.length) {
    failed = true;
    process.stderr.write(`${trouble.join("\n")}\n`);
  }
}
await browser.close();
process.exit(failed ? 1 : 0);
