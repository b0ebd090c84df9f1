"""Incidents: what failed, which clients were not served, and the consequences. All of it is decided here once; every
form of the report only lays it out."""
