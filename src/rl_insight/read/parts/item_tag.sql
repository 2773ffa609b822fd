-- Which of a fact's tags says which piece of data it is about? The first of these that it has.
item_tag(tag, rank) AS (
    VALUES ('msg', 1), ('gen', 2), ('session', 3), ('task', 4), ('group', 5), ('data_item', 6), ('batch', 7), ('blob', 8),
        ('shard', 9), ('xfer', 10), ('reward', 11), ('weights', 12), ('rpc', 13), ('tool_call', 14), ('param', 15), ('ckpt', 16)
)
