"""The classical models in lessons: labs 01 and 02."""
