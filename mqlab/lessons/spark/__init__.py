"""Lab 11: orders become income on Spark, and what its exercises are judged by."""
