"""What the capture shows of the cluster: nodes behind addresses, names of topics, leaders, what clients are called."""
