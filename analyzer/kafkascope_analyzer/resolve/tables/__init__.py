"""What rows of the contract's tables a bucket's spill becomes."""
