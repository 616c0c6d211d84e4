"""What is looked up and not executed: glossary, timeline, maps, the flow of data."""
