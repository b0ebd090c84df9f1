"""Kafka framing: finds the streams that speak Kafka and their frames, and pairs responses with requests.

layout      the columns of frames, undecoded stretches and state header      what a request header must look like
requests    cuts the requests of a block responses   cuts the responses of a block and pairs them with their requests
pool        the requests that wait for their responses proof       finds the connections that speak Kafka, by their
requests; response_only: by their responses, where no request was captured; prover decodes the bodies framer      runs
all of this, block after block; called by exchanges principals  the user name that a SASL token shows zookeeper
recognizes ZooKeeper's protocol by its first bytes
"""
