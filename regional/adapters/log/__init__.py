"""The metering log of a region: sequenced, signed, mirrored, cosigned."""
