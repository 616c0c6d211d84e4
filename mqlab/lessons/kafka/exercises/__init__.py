"""What a learner writes or puts into order in labs 05 to 08, and how it is judged."""
