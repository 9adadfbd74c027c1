"""What an agent decides, as pure code: runs, fences, samples."""
