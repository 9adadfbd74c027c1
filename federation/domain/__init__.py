"""What a federation replica decides, as pure code: routing, epochs, grants, leases."""
