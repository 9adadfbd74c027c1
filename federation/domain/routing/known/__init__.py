"""What the router knows beside summaries: round trips, history, prices, refusals."""
