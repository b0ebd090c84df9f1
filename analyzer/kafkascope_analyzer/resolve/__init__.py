"""Second pass over a bucket: what its connections are reduced to for the stories."""
