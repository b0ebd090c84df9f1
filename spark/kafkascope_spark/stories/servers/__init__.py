"""How each broker looked to each host."""
