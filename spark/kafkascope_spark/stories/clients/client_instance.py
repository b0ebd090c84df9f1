"""The description of the column client_instance_id, which several tables share."""

CLIENT_INSTANCE = "client instance: the same whatever the buckets, partitions or machine"
