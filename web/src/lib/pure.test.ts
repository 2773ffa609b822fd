import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { EventParser } from "./events";
import { fits } from "./fits";
import { nameOf } from "./keyname";
import { fill } from "./fill";

test("events are whole whatever the pieces they come in", () => {
  const text = 'data: {"a":1}\n\n: breath\n\nevent: x\ndata: 1\r\ndata: 2\n\nda';
  for (const size of [1, 3, 7, 100]) {
    const parser = new EventParser();
    const found = [];
    for (let at = 0; at < text.length; at += size) found.push(...parser.push(text.slice(at, at + size)));
    expect(found).toEqual([
      { event: "message", data: '{"a":1}' },
      { event: "x", data: "1\n2" },
    ]);
  }
});

test("the palette finds by letters in order, best at the beginning of words", () => {
  expect(fits("Timeline", "tml")).not.toBeNull();
  expect(fits("Timeline", "xyz")).toBeNull();
  expect(fits("Metrics", "met") ?? 0).toBeGreaterThan(fits("some great thing", "met") ?? 0);
});

test("keys have names", () => {
  const press = (key: string, more = {}) => nameOf({ key, ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...more });
  expect([press("w"), press("k", { ctrlKey: true }), press("K", { metaKey: true, shiftKey: true }), press("?", { shiftKey: true }), press(" "), press("T", { shiftKey: true })]).toEqual(["w", "Ctrl+k", "Ctrl+Shift+K", "?", "Space", "Shift+T"]);
});

test("values in copied SQL are quoted", () => {
  expect(fill("SELECT $run, $n, $x, $list", { run: "it's", n: 5, list: ["a", "b"] })).toBe("SELECT 'it''s', 5, $x, ['a', 'b']");
});

test("no source has an inline style or markup made of text: the policy would refuse the one, and the other is a hole", () => {
  const root = new URL("..", import.meta.url).pathname;
  for (const file of readdirSync(root, { recursive: true, encoding: "utf-8" })) {
    if (!/\.(svelte|ts)$/.test(file) || file.endsWith(".test.ts")) continue;
    const source = readFileSync(root + file, "utf-8");
    expect(source, file).not.toMatch(/<[a-z][^>]*\sstyle=/);
    expect(source, file).not.toMatch(/\{@html|\.innerHTML|insertAdjacentHTML|document\.write/);
  }
});
