"""What runs beside an application: producer, consumer, a worker that is both, administrator."""
