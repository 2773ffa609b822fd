"""Read models: one question each, as SQL in a file of its own and a typed answer."""
