import { expect, test } from "vitest";
import type { FlameNode } from "$lib/answers";
import { layout, weight } from "./flame";

const node = (name: string, total_s: number, children: FlameNode[] = []): FlameNode => ({ name, part: null, count: 1, total_s, self_s: 0, errors: 0, children });

test("a box is as wide as its share of its parent, in the parent's place", () => {
  const boxes = layout(node("all", 10, [node("a", 6, [node("b", 3)]), node("c", 4)]), []);
  expect(boxes.map((box) => [box.node.name, box.depth, box.from, box.to])).toEqual([
    ["all", 0, 0, 1], ["a", 1, 0, 0.6], ["b", 2, 0, 0.3], ["c", 1, 0.6, 1],
  ]);
});

test("children that ran at the same time never leave their parent", () => {
  const root = node("all", 1, [node("a", 4), node("b", 4)]);
  expect(weight(root)).toBe(8);
  expect(layout(root, []).every((box) => box.to <= 1)).toBe(true);
});

test("closer: what one clicked fills the width, under those it is in", () => {
  const boxes = layout(node("all", 10, [node("a", 6, [node("b", 3)]), node("c", 4)]), ["a"]);
  expect(boxes.map((box) => [box.node.name, box.from, box.to])).toEqual([["all", 0, 1], ["a", 0, 1], ["b", 0, 0.5]]);
});

test("a path that is gone shows as much of it as there is", () => {
  expect(layout(node("all", 1, [node("a", 1)]), ["gone"]).map((box) => box.node.name)).toEqual(["all", "a"]);
});
