"""Facts about the cluster in the capture: nodes behind addresses, names of topics, leaders, names of clients."""
