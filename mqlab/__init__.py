"""mqlab: step through, break and check message-queue transactions."""

__version__ = "0.1.0"
