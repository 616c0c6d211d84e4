"""The course's machinery: notebooks from sources, copies, classes, grading."""
