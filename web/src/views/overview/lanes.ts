// The lanes of a run in a few lines: what every role does now, looking the same for 8 lanes or 800.

import type { LiveLane } from "$lib/answers";

export interface RoleNow {
  role: string;
  lanes: number;
  waiting: number;
  lost: number;
  states: { state: string; lanes: number; wait: boolean; longest_s: number }[];
  /** The lane that has been in its state for longest. */
  longest: LiveLane;
}

export function roleOf(worker: string): string {
  return worker.replace(/-\d+$/, "");
}

/** While the run is live, a lane whose last state has ended is between states; afterwards its last state is what counts. */
export function rolesNow(lanes: readonly LiveLane[], live: boolean): RoleNow[] {
  const roles = new Map<string, LiveLane[]>();
  for (const lane of lanes) {
    const role = roleOf(lane.worker);
    roles.set(role, [...(roles.get(role) ?? []), lane]);
  }
  return [...roles]
    .map(([role, all]) => {
      const states = new Map<string, { state: string; lanes: number; wait: boolean; longest_s: number }>();
      for (const lane of all) {
        const name = lane.lost ? "lost" : lane.open || !live ? lane.state : "between states";
        const state = states.get(name) ?? { state: name, lanes: 0, wait: lane.wait, longest_s: 0 };
        state.lanes += 1;
        state.longest_s = Math.max(state.longest_s, lane.s);
        states.set(name, state);
      }
      return {
        role,
        lanes: all.length,
        waiting: all.filter((lane) => lane.open && lane.wait && !lane.lost).length,
        lost: all.filter((lane) => lane.lost).length,
        states: [...states.values()].sort((a, b) => Number(a.wait) - Number(b.wait) || b.lanes - a.lanes),
        longest: all.reduce((most, lane) => (lane.open && !lane.lost && lane.s > (most.open && !most.lost ? most.s : -1) ? lane : most)),
      };
    })
    .sort((a, b) => a.role.localeCompare(b.role));
}
