"""The classical models in lessons: what is searched of them."""
