"""Kafka as the labs play it: systems with roles, programs or lights of their own."""
