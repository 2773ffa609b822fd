-- In which states does a lane wait? By how the state's name begins.
waiting_state(pattern) AS (VALUES ('wait%'), ('idle%'), ('block%'), ('stall%'))
