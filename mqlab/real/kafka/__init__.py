"""The real Kafka: brokers on this machine, raw requests, and the programs that ask it."""
