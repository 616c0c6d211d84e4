"""What RocketMQ's labs ask to be written, and the sentence for each wrong belief."""
