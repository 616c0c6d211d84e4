"""Kafka behind sockets: its wire, the broker's front, what its journal keeps."""
