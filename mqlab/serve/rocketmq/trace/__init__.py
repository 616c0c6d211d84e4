"""The live picture of RocketMQ: what is read off the steps of a running server."""
