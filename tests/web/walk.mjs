// Walks the page in a real browser: `node walk.mjs BASE SCENARIO`. Says what went wrong and ends with 1, or ends with 0.
// `ask("stop")` has the test that started this do something with the server; it answers with a line.

import assert from "node:assert/strict";
import { createInterface } from "node:readline";
import { launch, open } from "../../web/tools/browser.mjs";

const [base, name] = process.argv.slice(2);
const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
async function ask(what) {
  process.stdout.write(`ask ${what}\n`);
  return (await answers.next()).value;
}

const VIEWS = ["runs", "overview", "timeline", "rollouts", "hotspots", "flow", "metrics", "facts", "fleet", "health"];

async function go(page, hash) {
  await page.goto(`${base}/${hash}`);
  await ready(page);
}

async function ready(page) {
  await page.waitForSelector("#view h1");
  await page.waitForFunction(() => !document.querySelector('[data-empty="waiting"]'));
}

async function settled(page) {
  await page.waitForFunction(() => window.__before === window.location.hash || ((window.__before = window.location.hash), false), null, { polling: 400 });
}

const hash = (page) => page.evaluate(() => window.location.hash);
const param = async (page, key) => new URLSearchParams((await hash(page)).split("?")[1] ?? "").get(key);

const scenarios = {
  /** Both themes, both sizes: every view says its question, fails nowhere and scrolls nowhere sideways. */
  async views({ browser, watch }) {
    for (const [width, theme] of [[1280, "dark"], [1920, "light"]]) {
      const { page } = watch(await open(browser, base, { width, height: width === 1280 ? 800 : 1080, theme }));
      for (const view of VIEWS) {
        await go(page, `#/${view}?run=main`);
        assert.equal(await page.locator('[data-empty="failed"]').count(), 0, `${view} shows a failure`);
        assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), theme);
        assert.ok(await page.evaluate(() => document.body.scrollWidth <= window.innerWidth), `${view} is wider than the window`);
        const faint = await page.evaluate(lowContrast);
        assert.deepEqual(faint, [], `${view}, ${theme}: text that is hard to read`);
        const unreachable = await page.evaluate(() => [...document.querySelectorAll("#view [onclick], #view button, #view a")].filter((one) => one.tabIndex < 0 && !one.closest('[role="row"], [role="radio"], [role="option"]')).map((one) => one.outerHTML.slice(0, 80)));
        assert.deepEqual(unreachable, [], `${view}: not reached by the keyboard`);
      }
    }
  },

  async timeline({ browser, watch }) {
    const { page } = watch(await open(browser, base));
    await go(page, "#/timeline?run=main");
    await page.waitForSelector("button.label:has-text('controller')");
    const canvas = page.locator('canvas[aria-label^="Lanes over time"]');
    const box = await canvas.boundingBox();
    const middle = { x: box.x + box.width / 2, y: box.y + box.height / 2 };

    await page.mouse.move(middle.x, middle.y);
    for (const key of ["w", "w", "w", "w", "w"]) await page.keyboard.press(key);
    assert.ok(await waitParam(page, "to"));
    await settled(page);
    const before = Number(await param(page, "from"));
    await page.keyboard.press("a");
    await page.waitForFunction((from) => Number(new URLSearchParams(location.hash.split("?")[1]).get("from")) < from, before);
    await page.keyboard.press("d");
    await settled(page);

    await page.mouse.move(middle.x - 120, middle.y);
    await page.mouse.down();
    await page.mouse.move(middle.x + 120, middle.y, { steps: 4 });
    await page.mouse.up();
    const selection = await waitParam(page, "sel");
    await page.waitForSelector('section[aria-label="Selection"] [role="row"]:has-text("generate")');
    assert.ok(await page.locator("header .selection").isVisible(), "the frame tells of the selection");
    await page.keyboard.press("f");
    await page.waitForFunction((sel) => {
      const params = new URLSearchParams(location.hash.split("?")[1]);
      const [from, to] = sel.split("-").map(Number);
      return Number(params.get("from")) < from && Number(params.get("to")) > to && Number(params.get("to")) - Number(params.get("from")) < (to - from) * 1.3;
    }, selection);

    // The selection goes along to the other views.
    await page.click('nav a:has-text("Facts")');
    await ready(page);
    assert.equal(await param(page, "sel"), selection);
    await page.goBack();
    await ready(page);
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => !location.hash.includes("sel="));

    await clickInterval(page, canvas);
    await page.waitForSelector('section[aria-label="Interval"] dl');
    const first = await waitParam(page, "span");
    await page.keyboard.press(".");
    await page.waitForFunction((span) => new URLSearchParams(location.hash.split("?")[1]).get("span") !== span, first);
    await page.keyboard.press(",");
    await page.waitForFunction((span) => new URLSearchParams(location.hash.split("?")[1]).get("span") === span, first);
  },

  /** Deliveries: few are drawn, one says from whom to whom and leads to its facts; what never arrived is said to be missing. */
  async flows({ browser, watch }) {
    const { page } = watch(await open(browser, base));
    const run = encodeURIComponent("team/lost");
    await go(page, `#/timeline?run=${run}&q=role:trainer`);
    await page.waitForSelector("button.label:has-text('trainer')");
    await page.click("button.label:not(.group):has-text('trainer')");
    const kind = page.locator('[aria-label="Kinds of deliveries"] button:has-text("weights.version")');
    await kind.locator("em:has-text('✗')").waitFor();
    await kind.click();
    await page.waitForFunction(() => location.hash.includes("flow=weights.version"));

    // The first that was lost, close up: a stub, which says so. The first that arrived: from whom to whom.
    const ask = (query, verdict) => page.evaluate(async ([path, wanted]) => (await (await fetch(path)).json()).flows.find((one) => one.stem === "weights.version" && one.verdict === wanted), [`api/v1/runs/${run}/flows?${query}`, verdict]);
    const lost = await ask("most=400", "missing");
    const there = await ask(`from=${lost.sent - 1000}&to=${lost.sent + 1000}&procs=${encodeURIComponent(lost.sender)}`, "found");
    const canvas = page.locator('canvas[aria-label^="Lanes over time"]');
    const tip = page.locator("[role=tooltip]:has([data-flow])");
    const closeUp = async ({ sent, arrived, verdict }) => {
      const took = Math.max(30, (arrived ?? sent) - sent);
      const middle = ((arrived ?? sent) + sent) / 2;
      const answered = page.waitForResponse((one) => one.url().includes("/flows?"), { timeout: 10_000 }).catch(() => undefined);
      await go(page, `#/timeline?run=${run}&spans=0&flow=weights.version&flows=all&from=${middle - 2 * took}&to=${middle + 2 * took}`);
      await answered;
      await page.waitForSelector("button.label:has-text('worker-1/0')");
      await hoverFlow(page, canvas, verdict);
    };
    await closeUp(lost);
    assert.match(await tip.innerText(), /weights\.version[\s\S]*trainer → rollout-1[\s\S]*✗ not received: rollout-1 was heard from/);
    await closeUp(there);
    assert.match(await tip.innerText(), /trainer → (rollout|worker)-\d[\s\S]*(after|at once)/);
    await page.mouse.down();
    await page.mouse.up();
    await page.waitForSelector('#view[data-view="facts"] h1');
    await page.waitForSelector('[role="row"]:has-text("weights.version.applied")');
    assert.match(await param(page, "q"), /^weights:\d+ weights\.version$/);
    await page.goBack();
    await ready(page);

    await page.keyboard.press("k");
    await page.waitForFunction(() => location.hash.includes("clocks=corrected"));
    await page.waitForSelector('button[aria-pressed="true"]:has-text("Clocks corrected")');
    await page.keyboard.press("v");
    await page.waitForFunction(() => location.hash.includes("flows=0"));
    await page.waitForSelector('[aria-label="Kinds of deliveries"]', { state: "detached" });
  },

  /** Frozen, the link that is copied shows the same to somebody else. */
  async link({ browser, watch }) {
    const { page } = watch(await open(browser, base));
    await go(page, "#/timeline?run=main&q=role:rollout&by=waiting&spans=0");
    await page.waitForSelector("button.label .wait");
    await page.keyboard.press("Space");
    await page.waitForSelector("text=Frozen at");
    await page.keyboard.press("y");
    await page.waitForSelector("text=Link copied");
    const link = await page.evaluate(() => navigator.clipboard.readText());
    const shown = await page.locator("button.label").allInnerTexts();
    const other = watch(await open(browser, base));
    await other.page.goto(link);
    await other.page.waitForSelector("text=Frozen at");
    // Lanes are there before it is known how much they waited, which is what they are ordered by.
    await other.page.waitForFunction((lanes) => [...document.querySelectorAll("button.label")].map((one) => one.innerText).join() === lanes, shown.join()).catch(() => undefined);
    assert.deepEqual(await other.page.locator("button.label").allInnerTexts(), shown);
    assert.equal(await hash(other.page), new URL(link).hash);
    await other.page.keyboard.press("Space");
    await other.page.waitForSelector("text=Live");
  },

  async keyboard({ browser, watch }) {
    const { page } = watch(await open(browser, base));
    await go(page, "#/runs");
    await page.keyboard.press("Control+k");
    await page.keyboard.type("metr");
    await page.keyboard.press("Enter");
    await page.waitForSelector('#view[data-view="metrics"] h1');
    await page.keyboard.press("?");
    await page.waitForSelector('[role="dialog"][aria-label="Keyboard"]');
    await page.keyboard.press("Escape");
    await page.waitForSelector('[role="dialog"]', { state: "detached" });
    await page.keyboard.press("g");
    await page.keyboard.press("t");
    await page.waitForSelector('#view[data-view="timeline"] h1');
    await page.keyboard.press("/");
    await page.keyboard.type("role:trainer");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelectorAll("button.label:not(.group)").length === 1 || [...document.querySelectorAll("button.label:not(.group)")].every((one) => one.textContent.includes("trainer")));
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    const theme = await page.evaluate(() => document.documentElement.dataset.theme);
    await page.keyboard.press("Shift+T");
    await page.waitForFunction((before) => document.documentElement.dataset.theme !== before, theme);
  },

  async compare({ browser, watch }) {
    const { page } = watch(await open(browser, base));
    await go(page, "#/runs");
    await page.click('input[aria-label="Compare main"]');
    await page.waitForSelector("text=Tick a second run");
    await page.click('input[aria-label="Compare other"]');
    await page.waitForSelector('[aria-label="reward_mean of both runs"] canvas');
    await page.click("text=All metrics of both");
    await page.waitForSelector('#view[data-view="metrics"] h1');
    await go(page, `${await hash(page)}&name=reward_mean`);
    await page.waitForSelector('[role="table"][aria-label="Series"] [role="row"]:has-text("other")');
  },

  async metrics({ browser, watch }) {
    const { page } = watch(await open(browser, base));
    await go(page, "#/metrics?run=main&name=tool_latency_seconds");
    await page.waitForSelector('[role="img"][aria-label="tool_latency_seconds"] canvas');
    await page.click("text=By label");
    await page.click('[role="listbox"] >> text=tool');
    await page.waitForSelector('[role="table"][aria-label="Series"] [role="row"]:has-text("multiply")');
    await page.click("text=Heat map");
    await page.waitForSelector('canvas[aria-label^="Distribution of"]');
    // Its scale is chosen by the values, until somebody chooses.
    const log = page.getByRole("button", { name: "Log", exact: true });
    const chosen = await log.getAttribute("aria-pressed");
    await log.click();
    await page.waitForFunction((before) => location.hash.includes(`log=${before === "true" ? 0 : 1}`), chosen);
    await page.waitForSelector(`button[aria-pressed="${chosen === "true" ? "false" : "true"}"]:text-is("Log")`);
    await page.waitForSelector('canvas[aria-label^="Distribution of"]');
    await page.keyboard.press("t");
    await page.waitForFunction(() => location.hash.includes("by=time"));
    await page.waitForSelector('canvas[aria-label^="Distribution of"]');
  },

  async facts({ browser, watch }) {
    const { page } = watch(await open(browser, base));
    await go(page, "#/facts?run=main&q=weights.version.sent");
    await page.waitForSelector('[role="row"]:has-text("weights.version.sent")');
    await page.locator('[role="row"] .tags button').first().click();
    await page.waitForFunction(() => decodeURIComponent(location.hash).includes("weights:"));
    await page.waitForSelector('[role="row"]:has-text("weights.version.sent")');
    await page.locator('[role="rowgroup"] [role="row"]').first().click({ position: { x: 20, y: 10 } });
    await page.click("text=At that moment");
    await page.waitForSelector('#view[data-view="timeline"] h1');
    assert.ok(await waitParam(page, "from"));
    await go(page, "#/facts?run=main&q=nothing.like.this");
    await page.waitForSelector("text=No fact matches");
  },

  /** The planted straggler: an insight names the worker, and its lanes over the time in question are what one comes to. */
  async straggler({ browser, watch }) {
    const { page } = watch(await open(browser, base));
    await go(page, "#/overview?run=main");
    await page.waitForSelector('[data-insight^="straggler-generate-"]');
    const named = await page.locator('[data-insight^="straggler-generate-"]').evaluateAll((all) => all.map((one) => one.dataset.insight));
    assert.deepEqual(named, ["straggler-generate-rollout-1"]);
    await page.click('[data-insight="straggler-generate-rollout-1"]');
    await page.waitForSelector('#view[data-view="timeline"] h1');
    const selection = await waitParam(page, "sel");
    const [from, to] = selection.split("-").map(Number);
    assert.ok(Number(await param(page, "from")) <= from && Number(await param(page, "to")) >= to, "what is selected is in sight");

    await page.waitForSelector("button.label:has-text('worker-1/0')");
    const lanes = await page.locator("button.label:not(.group)").evaluateAll((all) => all.map((one) => one.title));
    assert.ok(lanes.every((title) => title.includes(" · rollout-1 · ")), `only lanes of the straggler: ${lanes}`);
    await page.waitForSelector('section[aria-label="Selection"] [role="row"]:has-text("generate")');

    await page.click("button.label:has-text('worker-1/0')");
    await page.waitForSelector("button.label.chosen:has-text('worker-1/0')");
    assert.ok((await waitParam(page, "lane")).endsWith("worker-1%2F0"), await param(page, "lane"));
    await clickInterval(page, page.locator('canvas[aria-label^="Lanes over time"]'));
    await page.waitForSelector('section[aria-label="Interval"]:has-text("rollout-1")');
  },

  /** From Rollouts into a session, and what it did turn by turn: what was generated, which tool with what, and how it ended. */
  async session({ browser, watch }) {
    const { page } = watch(await open(browser, base));
    await go(page, "#/rollouts?run=main");
    await page.keyboard.press("3");
    await page.waitForFunction(() => location.hash.includes("tab=sessions"));
    await page.keyboard.press("/");
    await page.keyboard.type("status:accepted turns>=3 errors=0");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => location.hash.includes("turns"));
    const row = page.locator('[role="table"][aria-label="Sessions"] [role="rowgroup"] [role="row"]').first();
    await row.filter({ hasText: "accepted" }).waitFor();
    const link = row.locator("a.mono");
    const id = await link.innerText();
    await link.click();
    await page.waitForSelector(`#view[data-view="session"] h1:has-text("${id}")`);
    await page.waitForSelector('section[aria-label="How it ended"]:has-text("accepted")');

    const turns = page.locator('section[aria-label="Turn by turn"] li:has(h3:has-text("Turn"))');
    await turns.first().waitFor();
    assert.ok((await turns.count()) >= 3);
    assert.match(await turns.first().locator("header").innerText(), /Turn 1[\s\S]*tokens/);
    for (const turn of await turns.all()) assert.ok(await turn.locator('.item b:text-is("generate")').count(), "each turn says what was generated");

    const does = { add: (a, b) => a + b, subtract: (a, b) => a - b, multiply: (a, b) => a * b };
    const calls = turns.locator('.item:has(b:text-is("tool"))');
    // A turn may say something that calls no tool.
    assert.ok((await calls.count()) >= 1);
    for (const call of await calls.all()) {
      const [given, got] = await call.locator(".call pre").allInnerTexts();
      const tool = await call.locator("code").innerText();
      assert.equal(Number(got), does[tool](...JSON.parse(given)), `${tool} of ${given} is shown as ${got}`);
    }

    const told = await page.evaluate(async (session) => (await (await fetch(`api/v1/runs/main/sessions/${session}`)).json()).session, id);
    const end = page.locator('section[aria-label="Turn by turn"] li.end');
    assert.ok((await end.innerText()).includes("accepted"));
    assert.ok(Math.abs(Number(await end.locator("b").innerText()) - told.reward) < 0.001, "the reward is the one recorded");
  },

  /** A tool call that never returns: the session stands out while the rest of the run goes on. */
  async hung({ browser, watch }) {
    const { page } = watch(await open(browser, base));
    await ask("demo stuck --fault hung-session --fault-step 1");
    await go(page, "#/overview?run=stuck");
    const insight = page.locator('[data-insight^="hung-task-"]');
    await insight.first().waitFor();
    // Others may be slow for a moment on a busy machine; the one that hangs becomes the oldest of all and is told first.
    await page.waitForFunction(() => /in tool for ([2-9]|[0-9]{2,})(\.\d+)? s.*rollout-1/.test(document.querySelector('[data-insight^="hung-task-"]')?.textContent ?? ""));
    const id = (await insight.first().getAttribute("data-insight")).slice("hung-".length);

    await page.click('nav a:has-text("Rollouts")');
    await ready(page);
    await page.keyboard.press("2");
    await page.keyboard.press("3");
    await page.keyboard.press("/");
    await page.keyboard.type("status:running stage:tool");
    await page.keyboard.press("Enter");
    const row = page.locator('[role="table"][aria-label="Sessions"] [role="row"]', { has: page.locator(`a.mono:text-is("${id}")`) });
    await row.locator(".suspect:has-text('⚠ tool')").waitFor();
    await row.locator("a.mono").click();
    await page.waitForSelector(`#view[data-view="session"] h1:has-text("${id}")`);
    await page.waitForSelector('section[aria-label="How it ended"]:has-text("In tool for")');
    await page.waitForSelector('section[aria-label="Turn by turn"] .item:has(b:text-is("tool")):has-text("and still open")');
    await page.waitForSelector("li.end:has-text('Not ended')");
    await ask("end");
  },

  /** What was recorded as markup is shown as text, everywhere. */
  async text({ browser, watch }) {
    const { page } = watch(await open(browser, base));
    for (const view of ["runs", "timeline", "facts", "metrics", "fleet", "health", "overview", "rollouts"]) {
      await go(page, `#/${view}?run=${encodeURIComponent("<img src=x onerror=hacked()>")}`);
      await page.waitForTimeout(500);
      assert.equal(await page.locator("#app img, #app script, #app iframe").count(), 0, view);
      assert.equal(await page.evaluate(() => window.hacked), undefined);
    }
    await go(page, `#/facts?run=${encodeURIComponent("<img src=x onerror=hacked()>")}`);
    await page.waitForSelector("text=<script>alert(1)</script>");
    await page.locator('[role="rowgroup"] [role="row"]').first().click();
    await page.waitForSelector("text=<b onclick=hacked()>bold</b>");
  },

  /** The server goes away and comes back: the page says so, keeps what it shows, and goes on by itself. */
  async reconnect({ browser, watch }) {
    const watched = watch(await open(browser, base));
    const { page } = watched;
    await go(page, "#/runs");
    await page.waitForSelector("text=Live");
    await ask("stop");
    await page.waitForSelector("text=Reconnecting");
    assert.ok(await page.locator('[role="row"]:has-text("main")').count(), "what was shown stays");
    await ask("start");
    await page.waitForSelector("header >> text=Live");
    await ask("record late");
    await page.waitForSelector('[role="row"]:has-text("late")');
    // The refused connections in between are what this is about.
    watched.trouble.splice(0);
  },

  /** A run that begins while one looks appears by itself, and what it has open grows. */
  async live({ browser, watch }) {
    const { page } = watch(await open(browser, base));
    await go(page, "#/runs");
    await ask("demo growing");
    await page.waitForSelector('[role="row"]:has-text("growing"):has-text("live")');
    await page.click('[role="row"] a:has-text("growing")');
    await page.click('nav a:has-text("Timeline")');
    await page.waitForSelector("button.label:has-text('controller')");
    const step = Number(await page.locator("header .fact b").first().innerText());
    await page.waitForFunction((before) => Number(document.querySelector("header .fact b")?.textContent) > before, step);
    await page.keyboard.press("Space");
    await page.waitForSelector("text=Frozen at");
    const frozen = await page.locator("header .fact b").first().innerText();
    await ask("end");
    assert.ok(Number(frozen) > step);
  },

  async token({ browser, watch }) {
    const watched = watch(await open(browser, base));
    const { page } = watched;
    await page.goto(base);
    await page.waitForSelector("text=asks for its token");
    await page.fill('input[aria-label="Token"]', "not-the-token");
    await page.click("text=Open");
    await page.waitForSelector("text=does not take this token");
    const token = await ask("token");
    await page.fill('input[aria-label="Token"]', token);
    await page.click("text=Open");
    await page.waitForSelector("#view h1");
    // A link with the token opens the page and does not leave the token in the address.
    const other = watch(await open(browser, base));
    await other.page.goto(`${base}/?token=${token}#/health`);
    await other.page.waitForSelector("text=Can I trust what I see?");
    assert.ok(!other.page.url().includes(token));
    watched.trouble.splice(0, watched.trouble.length, ...watched.trouble.filter((one) => !/401/.test(one)));
  },

  /** Nothing recorded yet: the page says what to do. */
  async empty({ browser, watch }) {
    const { page } = watch(await open(browser, base));
    await go(page, "#/runs");
    await page.waitForSelector("text=Nothing has been recorded yet");
    await page.goto(`${base}/#/timeline`);
    await page.waitForSelector("pre:has-text('insight.init')");
  },
};

async function waitParam(page, key) {
  await page.waitForFunction((name) => new URLSearchParams(location.hash.split("?")[1] ?? "").has(name), key);
  return param(page, key);
}

async function clickInterval(page, canvas) {
  const box = await canvas.boundingBox();
  for (let y = 30; y < box.height; y += 7) {
    for (let x = box.width * 0.3; x < box.width * 0.8; x += 37) {
      await page.mouse.move(box.x + x, box.y + y);
      const tip = page.locator('[role="tooltip"]');
      if ((await tip.count()) && !(await tip.locator("[data-flow]").count()) && !(await tip.innerText()).includes("intervals")) {
        await page.mouse.click(box.x + x, box.y + y);
        return;
      }
    }
  }
  throw new Error("no interval found on the canvas");
}

/** Moves over the middle of the canvas until the pointer is on an arrow of which this is said. */
async function hoverFlow(page, canvas, verdict) {
  const box = await canvas.boundingBox();
  const seen = page.locator(`[data-flow="${verdict}"]`);
  for (let round = 0; round < 4; round++) {
    for (let y = box.height - 4; y > 0; y -= 5) {
      for (let x = box.width * 0.46; x < box.width * 0.54; x += 6) {
        await page.mouse.move(box.x + x, box.y + y);
        if (!(await seen.count())) continue;
        // It may be one of the window before; the answer for this one puts it where it stays.
        await page.waitForTimeout(700);
        await page.mouse.move(box.x + x, box.y + y - 1);
        await page.mouse.move(box.x + x, box.y + y);
        if (await seen.count()) return;
      }
    }
    await page.waitForTimeout(500);
  }
  throw new Error(`no delivery that is ${verdict} in the middle of the canvas`);
}

/** Text with less contrast than WCAG AA asks for. Runs in the page. */
function lowContrast() {
  const parse = (text) => {
    const found = /rgba?\(([^)]+)\)/.exec(text);
    if (!found) return null;
    const [r, g, b, a = 1] = found[1].split(/[,\s/]+/).filter(Boolean).map(Number);
    return [r, g, b, a];
  };
  const luminance = ([r, g, b]) => {
    const channel = (value) => ((value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  };
  const found = [];
  for (const element of document.querySelectorAll("#app *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || !element.checkVisibility({ opacityProperty: true })) continue;
    const style = getComputedStyle(element);
    const ink = parse(style.color);
    let ground = null;
    let faded = false;
    for (let at = element; at; at = at.parentElement) {
      const here = getComputedStyle(at);
      if (Number(here.opacity) < 1) faded = true;
      const colour = parse(here.backgroundColor);
      if (colour && colour[3] > 0.99) {
        ground = colour;
        break;
      }
    }
    // What is switched off may be faint.
    if (!ink || !ground || faded || element.closest(":disabled")) continue;
    const [high, low] = [luminance(ink), luminance(ground)].sort((a, b) => b - a);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700);
    if ((high + 0.05) / (low + 0.05) < (large ? 3 : 4.5)) found.push(`${element.textContent.trim().slice(0, 40)} (${style.color} on ${ground})`);
  }
  return [...new Set(found)].slice(0, 10);
}

const watched = [];
const browser = await launch();
let failed = false;
try {
  const watch = (opened) => {
    opened.page.setDefaultTimeout(40_000);
    watched.push(opened);
    return opened;
  };
  await scenarios[name]({ browser, watch });
  const trouble = watched.flatMap((one) => one.trouble);
  assert.deepEqual(trouble, [], "errors in the browser");
} catch (error) {
  failed = true;
  process.stderr.write(`${error.stack ?? error}\n${watched.flatMap((one) => one.trouble).join("\n")}\n`);
  if (process.env.PICTURE) for (const [at, one] of watched.entries()) await one.page.screenshot({ path: `${process.env.PICTURE}-${at}.png` }).catch(() => undefined);
} finally {
  await browser.close();
}
process.exit(failed ? 1 : 0);
