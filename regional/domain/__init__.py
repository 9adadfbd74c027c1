"""What a regional scheduler decides, as pure code: queue, placement, lending, runs."""
