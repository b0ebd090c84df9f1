"""The sentence of the column client_instance_id."""

CLIENT_INSTANCE = "client instance: the same whatever the buckets, partitions or machine"
