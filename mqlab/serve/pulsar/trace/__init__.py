"""The live trace of a Pulsar that serves."""
