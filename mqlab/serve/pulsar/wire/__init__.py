"""Pulsar's bytes: frames, commands, message ids, what is asked and answered, HTTP."""
