"""The dataset on disk: its declaration, its writer, its manifest."""
