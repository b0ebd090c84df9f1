"""What failed, who was not served, and what followed: decided here once; every form of the report lays it out."""
