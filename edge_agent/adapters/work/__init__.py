"""What is done to the files of a run: staged before it starts, saved, collected after its end."""
