"""What runs beside the messaging client: a service that takes orders, and its database.

The point of a transactional message is that *a row and a message belong together*. The row is
real here: an order service writes it, in a process that can die between any two statements,
into a database that does not die with it.

    database.py   the database: one table, every statement committed by itself
    file.py       the same table in an SQLite file, for programs outside the engine
    listener.py   runs a transaction listener, statement by statement
    orders.py     the order service of the lessons, and a listener that only says what it is told
"""
