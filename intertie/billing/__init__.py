"""From verified usage to money: price lists, exact rating, statements.

Pure, and apart from metering: it takes records as plain mappings by their field names, and never
asks whether they are true.
"""
