"""What a world of Kafka looks like, and why each step happened: Snapshots and whys."""
