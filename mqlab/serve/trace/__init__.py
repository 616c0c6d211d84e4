"""The live trace: what happened last, told to whoever asks."""
