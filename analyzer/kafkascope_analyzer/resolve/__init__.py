"""Second pass over a bucket: completes the rows of its connections and reduces them to events for the stories."""
