"""What the client does beyond one call: packing, uploading, watching, reading logs."""
