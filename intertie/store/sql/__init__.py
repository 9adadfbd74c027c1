"""The SQL store: one set of tables and statements; SQLite is built in."""
