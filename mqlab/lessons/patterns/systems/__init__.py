"""Systems of labs 01 and 02 in which a learner's rule takes the place of a part of a model."""
