"""Every metric and log field name, defined once, and the pages generated from them."""
