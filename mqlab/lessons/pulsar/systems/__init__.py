"""Pulsar as the labs play it: systems with programs or lights of their own."""
