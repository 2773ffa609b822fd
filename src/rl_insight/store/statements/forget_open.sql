-- Intervals that are told of anew.
DELETE FROM open_span
USING incoming
WHERE incoming.kind = 'open' AND open_span.proc = incoming.proc AND open_span.id = incoming.id;
