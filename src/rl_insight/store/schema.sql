-- The tables of the store. Columns are named after the fields of the line; `run` is that of the process that wrote
-- it, `segment` is the segment of the log the line lies in, by which rows go when their segment goes.

CREATE TABLE meta (key VARCHAR, value VARCHAR);

-- How far each source has been projected; changes in the same transaction as the rows.
CREATE TABLE position (source VARCHAR, segment BIGINT, "offset" BIGINT);

-- What has been seen of each process: its highest seq, and how many of its lines have been projected (0 once deleted).
CREATE TABLE mark (proc VARCHAR, seq BIGINT, lines BIGINT, first_ts BIGINT, last_ts BIGINT);

-- Stretches of seq that never came.
CREATE TABLE hole (proc VARCHAR, from_seq BIGINT, to_seq BIGINT, segment BIGINT);

-- Lines of the log that are none: damage, or a bug of ours.
CREATE TABLE unreadable (source VARCHAR, segment BIGINT, "offset" BIGINT, line BLOB, error VARCHAR);

CREATE TABLE process (
    run VARCHAR, proc VARCHAR, seq BIGINT, ts BIGINT, name VARCHAR, schema VARCHAR, project VARCHAR,
    experiment VARCHAR, role VARCHAR, rank BIGINT, node VARCHAR, host VARCHAR, pid BIGINT, parent VARCHAR,
    started BIGINT, heartbeat DOUBLE, state VARCHAR, clock_offset BIGINT, versions JSON, config_hash VARCHAR,
    aliases JSON, labels JSON, attrs JSON, first_ts BIGINT, last_ts BIGINT, segment BIGINT
);

CREATE TABLE span (
    run VARCHAR, proc VARCHAR, seq BIGINT, ts BIGINT, name VARCHAR, dur BIGINT, id VARCHAR, parent VARCHAR,
    trace VARCHAR, lane VARCHAR, task VARCHAR, session VARCHAR, step BIGINT, status VARCHAR, reason VARCHAR,
    part VARCHAR, attrs JSON, segment BIGINT
);

CREATE TABLE open_span (
    run VARCHAR, proc VARCHAR, seq BIGINT, ts BIGINT, name VARCHAR, id VARCHAR, parent VARCHAR, trace VARCHAR,
    lane VARCHAR, task VARCHAR, session VARCHAR, step BIGINT, part VARCHAR, attrs JSON, segment BIGINT
);

CREATE TABLE point (
    run VARCHAR, kind VARCHAR, proc VARCHAR, seq BIGINT, ts BIGINT, name VARCHAR, value DOUBLE, labels JSON,
    step BIGINT, task VARCHAR, session VARCHAR, segment BIGINT
);

CREATE TABLE log (
    run VARCHAR, proc VARCHAR, seq BIGINT, ts BIGINT, name VARCHAR, level VARCHAR, logger VARCHAR, trace VARCHAR,
    parent VARCHAR, task VARCHAR, session VARCHAR, step BIGINT, attrs JSON, segment BIGINT
);

CREATE TABLE fact (
    run VARCHAR, proc VARCHAR, seq BIGINT, ts BIGINT, name VARCHAR, tags JSON, op VARCHAR, "try" BIGINT,
    peer VARCHAR, outcome VARCHAR, reason VARCHAR, trace VARCHAR, parent VARCHAR, task VARCHAR, session VARCHAR,
    step BIGINT, attrs JSON, segment BIGINT
);

CREATE TABLE fact_tag (
    run VARCHAR, proc VARCHAR, seq BIGINT, ts BIGINT, name VARCHAR, tag VARCHAR, value VARCHAR, segment BIGINT
);

CREATE TABLE lost (
    run VARCHAR, proc VARCHAR, seq BIGINT, ts BIGINT, name VARCHAR, count BIGINT, reason VARCHAR, segment BIGINT
);
