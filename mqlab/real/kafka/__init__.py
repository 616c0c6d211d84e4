"""The real Kafka: brokers on this machine, and a client of raw requests.

jars.py         Kafka's jars, fetched once by Maven; flink.py: the connector of Flink
broker.py       one real broker, or three, on this machine
wire.py         one connection of raw requests; batches.py: record batches by hand
client.py       what a program talks to; producer.py, admin.py: its vocabulary
differences.py  where this project's server answers otherwise, and why
"""
