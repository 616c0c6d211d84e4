"""What Pulsar's labs ask to be written, and the sentence for each wrong belief."""
