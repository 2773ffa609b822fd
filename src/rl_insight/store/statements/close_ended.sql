-- Intervals whose span has come are open no longer.
DELETE FROM open_span
USING incoming
WHERE incoming.kind = 'span' AND open_span.proc = incoming.proc AND open_span.id = incoming.id;
