"""What `kafkascope explain` says: anything that has an id, in full sentences with its packets and the command that cuts
them out.
"""
