"""Events of groups: how each group formed and changed, the offsets that its members committed, and their lag."""
