"""Capture points: captures of several hosts that saw the same connections, with clocks that differ.

assignment     which file belongs to which capture point
clock          how far the clock of a point is ahead of that of the reference point
samples        the segments of each point that the clocks are compared by
offsets        estimates the clocks from the samples
copies         finds the segments that another point has captured too
network_times  how long copies took from one point to the other
merging        reads all points side by side and gives each segment once
"""
