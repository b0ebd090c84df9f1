"""`Failure`, from which an incident is made, and what is known about one."""
