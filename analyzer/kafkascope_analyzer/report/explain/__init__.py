"""The text of `kafkascope explain`: anything that has an id, in full sentences, with its packets and the command that
cuts them out.
"""
