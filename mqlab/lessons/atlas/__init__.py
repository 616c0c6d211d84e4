"""What is looked up and no run: glossary, timeline, maps, the flow of data."""
