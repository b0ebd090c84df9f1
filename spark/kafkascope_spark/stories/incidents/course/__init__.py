"""The course of a failure: when it was detected, which node took over, and when clients learned of that and were served
again."""
