"""Lessons: exercises and their checks, and the notebooks they are taught in."""
