"""Kafka framing: which streams speak Kafka, where their frames lie, and which response answers which request.

layout      the columns of frames, undecoded stretches and state
header      what a request header must look like
requests    cuts the requests of a block
responses   cuts the responses of a block and pairs them with their requests
pool        the requests that wait for their responses
proof       which connections speak Kafka, as their requests prove it; response_only: as their responses do, where no
            request was captured; prover tries the bodies
framer      all of it, block after block; exchanges calls it
principals  the user name that a SASL token shows
zookeeper   what the first bytes of ZooKeeper's protocol show
"""
