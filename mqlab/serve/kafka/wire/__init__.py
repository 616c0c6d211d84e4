"""Kafka's bytes: frames, requests, answers, record batches. No role sees a byte of it.

`codec.py` turns a frame into an `Ask` and an answer into a frame (schemas: the package
`kio`); `answers.py` has one class an answer, for all versions; `validation.py` knows
the 61 bytes at the head of a record batch, `bodies.py` the records after them.
"""

from ... import disk  # noqa: F401  # kio is loaded there, and quickly
