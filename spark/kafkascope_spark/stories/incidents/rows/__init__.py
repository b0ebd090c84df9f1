"""The rows of the table `incidents`, made from failures."""
