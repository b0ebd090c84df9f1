"""What single clients, addresses and connections show of a failure: rows that their machines make for incidents."""
