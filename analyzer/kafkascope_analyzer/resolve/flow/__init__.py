"""Flow of records through each topic-partition, from producers to consumers, and the waits of both."""
