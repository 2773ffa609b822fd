// Where the boxes of a flame graph lie: each as wide as its time, under the one it ran in.

import type { FlameNode } from "$lib/answers";

export interface Box {
  node: FlameNode;
  /** Names from the root to this node, without the root. */
  path: string[];
  depth: number;
  /** From 0 to 1 of the width. */
  from: number;
  to: number;
  /** Its time as a share of the root's. */
  share: number;
}

/** Children that ran at the same time take together longer than their parent; then the parent is drawn as wide as they. */
export function weight(node: FlameNode): number {
  return Math.max(node.total_s, node.children.reduce((sum, child) => sum + weight(child), 0));
}

export function at(root: FlameNode, path: readonly string[]): FlameNode {
  let node = root;
  for (const name of path) {
    const child = node.children.find((one) => one.name === name);
    if (!child) return node;
    node = child;
  }
  return node;
}

/** The boxes of the tree below `path`, which fills the width; those narrower than `least` are left out. */
export function layout(root: FlameNode, path: readonly string[], least = 0): Box[] {
  const boxes: Box[] = [];
  const all = weight(root) || 1;
  let node = root;
  const above: string[] = [];
  boxes.push({ node, path: [], depth: 0, from: 0, to: 1, share: weight(root) / all });
  for (const name of path) {
    const child = node.children.find((one) => one.name === name);
    if (!child) break;
    above.push(name);
    node = child;
    boxes.push({ node, path: [...above], depth: above.length, from: 0, to: 1, share: weight(child) / all });
  }
  const place = (parent: FlameNode, where: string[], depth: number, from: number, to: number) => {
    const total = weight(parent) || 1;
    let x = from;
    for (const child of parent.children) {
      const wide = (weight(child) / total) * (to - from);
      if (wide >= least) {
        const path = [...where, child.name];
        boxes.push({ node: child, path, depth, from: x, to: x + wide, share: weight(child) / all });
        place(child, path, depth + 1, x, x + wide);
      }
      x += wide;
    }
  };
  place(node, above, above.length + 1, 0, 1);
  return boxes;
}
