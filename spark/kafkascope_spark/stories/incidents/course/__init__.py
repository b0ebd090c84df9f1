"""The course of a failure: when it was detected, who took over, and when clients learned of that and were served."""
