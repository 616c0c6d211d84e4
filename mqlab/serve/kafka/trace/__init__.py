"""The live picture of Kafka: what is read off the steps of a running server."""
