// The shapes of what the API tells of tasks, sessions, steps, flow, hotspots and the moment, as docs/api.md has them.
// Moments are ms since the epoch, fields that end in `_s` are seconds, null is "not recorded".

export type * from "./flow";
export type * from "./hotspots";
export type * from "./live";
export type * from "./overview";
export type * from "./sessions";
export type * from "./steps";
