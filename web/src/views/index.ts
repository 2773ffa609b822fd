// The views, in the order of the rail. Each is a folder with one question; its code is loaded when it is opened.

import type { Component } from "svelte";
import type { IconName } from "$lib/ui/Icon.svelte";

export interface View {
  id: string;
  title: string;
  question: string;
  icon: IconName;
  /** `g` then this letter goes there. */
  letter: string;
  group: "Runs" | "Training" | "Time" | "System" | "Next";
  /** Shown without a run. */
  runless?: boolean;
  /** In the rail only when one is there. */
  hidden?: boolean;
  load?: () => Promise<{ default: Component }>;
}

export const VIEWS: View[] = [
  { id: "runs", title: "Runs", question: "What is running, what ran?", icon: "runs", letter: "r", group: "Runs", runless: true, load: () => import("./runs/Runs.svelte") },
  { id: "overview", title: "Overview", question: "Is the run healthy, and where does a step's time go?", icon: "overview", letter: "o", group: "Training", load: () => import("./overview/Overview.svelte") },
  { id: "timeline", title: "Timeline", question: "What was everyone doing at that moment?", icon: "timeline", letter: "t", group: "Training", load: () => import("./timeline/Timeline.svelte") },
  { id: "rollouts", title: "Rollouts", question: "What did this batch do, and why is it slow?", icon: "rollouts", letter: "l", group: "Training", load: () => import("./rollouts/Rollouts.svelte") },
  { id: "session", title: "Session", question: "Why did this one end like that?", icon: "session", letter: "s", group: "Training", hidden: true, load: () => import("./session/Session.svelte") },
  { id: "hotspots", title: "Hotspots", question: "Which stage costs most?", icon: "hotspots", letter: "h", group: "Training", load: () => import("./hotspots/Hotspots.svelte") },
  { id: "flow", title: "Flow", question: "Do producers and the trainer keep pace?", icon: "flow", letter: "w", group: "Training", load: () => import("./flow/Flow.svelte") },
  { id: "metrics", title: "Metrics", question: "How does this number move?", icon: "metrics", letter: "m", group: "Training", load: () => import("./metrics/Metrics.svelte") },
  { id: "facts", title: "Facts", question: "What happened, and to which piece of data?", icon: "facts", letter: "a", group: "Time", load: () => import("./facts/Facts.svelte") },
  { id: "replay", title: "Replay", question: "What was the state at that moment?", icon: "replay", letter: "p", group: "Time" },
  { id: "lineage", title: "Lineage", question: "Where did this piece of data go?", icon: "lineage", letter: "i", group: "Time" },
  { id: "fleet", title: "Fleet", question: "Are the machines all right?", icon: "fleet", letter: "f", group: "System", load: () => import("./fleet/Fleet.svelte") },
  { id: "health", title: "Health", question: "Can I trust what I see?", icon: "health", letter: "e", group: "System", runless: true, load: () => import("./health/Health.svelte") },
];

export function viewOf(id: string): View | undefined {
  return VIEWS.find((one) => one.id === id);
}
