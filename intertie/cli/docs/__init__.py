"""Pages of docs/ that are made from the code of the command line and the library."""
