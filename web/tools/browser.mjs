// A headless Chromium that reaches nothing but the server under test, and remembers what went wrong in the page.

import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

const PLACES = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

export async function launch() {
  const executablePath = PLACES.find((place) => place && existsSync(place));
  if (!executablePath) throw new Error("no Chromium: install the package 'chromium', or set CHROMIUM to its path");
  return chromium.launch({ executablePath, args: FLAGS, headless: true });
}

/** A page of a given size and theme; `trouble` gathers console errors, failed requests and requests elsewhere. */
export async function open(browser, base, { width = 1280, height = 800, theme = "dark" } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, permissions: ["clipboard-read", "clipboard-write"] });
  const page = await context.newPage();
  const trouble = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") trouble.push(`console ${message.type()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => trouble.push(`page error: ${error.stack ?? error}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(base) && !request.url().startsWith("data:")) trouble.push(`request outside: ${request.url()}`);
  });
  page.on("response", (response) => {
    if (response.status() >= 400) trouble.push(`${response.status()} ${response.url()}`);
  });
  return { page, context, trouble };
}
