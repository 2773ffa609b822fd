// The code that would fill an empty place. Shown by the views' empty states; each is what docs/recording.md teaches.

export const TASK = `with insight.task("task-1"):
    with insight.session(weights=version) as session:
        with insight.turn(1), insight.phase("generate"):
            ...
        session.set(reward=reward, tokens=tokens)`;

export const STATE = `with insight.trace_state("train", state_lane_id="trainer"):
    ...`;

export const STEP = `with insight.operation("train.step", tags={"step": str(step)}):
    with insight.trace_state("train", state_lane_id="trainer"):
        ...`;

export const TAKEN = `insight.fact(
    "queue.sample.taken",
    tags={"task": task, "batch": batch, "step": str(step)},
)`;

export const QUEUE = `item = {"task": task, "queue": "replay"}
insight.fact("queue.sample.put", tags=item)
insight.fact("queue.sample.taken", tags=item)`;

export const REWARDED = `session.set(reward=reward, tokens=tokens)`;

export const REWARD = `insight.metric_gauge("reward", reward)`;

export const LOSS = `insight.metric_gauge("loss", loss)`;

export const SPAN = `with insight.trace_span("forward"):
    ...`;

export const WEIGHTS = `insight.fact(
    "weights.version.applied",
    tags={"weights": str(version)},
)`;

export const SESSION_WEIGHTS = `with insight.session(weights=version) as session:
    ...`;
