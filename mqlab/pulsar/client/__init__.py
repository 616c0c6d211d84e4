"""The client beside an application: transactions, producers and consumers of one PulsarClient."""
