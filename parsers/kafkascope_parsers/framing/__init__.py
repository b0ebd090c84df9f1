"""Kafka framing: which streams speak Kafka, where their frames lie, and which response answers which request.

layout      the columns of frames, undecoded stretches and state
header      what a request header must look like
requests    cuts the requests of a block
responses   cuts the responses of a block and pairs them with their requests
framer      both, block after block
principals  the user name that a SASL token shows
slow        the plain-Python twin that tests compare the kernels with
"""
