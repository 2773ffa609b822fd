// node tools/look.mjs BASE OUT.png '#/view?...' [width] [theme] [js to run] : one picture of one place.

import { launch, open } from "./browser.mjs";

const [base, out, hash, width = "1280", theme = "dark", script = ""] = process.argv.slice(2);
const browser = await launch();
const { page, trouble } = await open(browser, base, { width: Number(width), height: Number(width) > 1500 ? 1080 : 800, theme });
await page.goto(`${base}/${hash}`);
await page.waitForTimeout(1500);
if (script) {
  await new Function("page", `return (async () => { ${script} })()`)(page);
  await page.waitForTimeout(700);
}
await page.screenshot({ path: out });
process.stdout.write(`${trouble.join("\n")}\n`);
await browser.close();
