"""What failed, who was not served, and what followed: decided once here, and only laid out by every form of the report."""
