"""What a learner writes or puts into order in labs 01 and 02, and how it is judged."""
