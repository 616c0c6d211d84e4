"""What is searched of each broker and of the classical models: data, a module each."""
