"""Completes a bucket's spilled rows to rows of the contract's tables, and writes them."""
