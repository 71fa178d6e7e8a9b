"""Charts, each defined once for pages and slides."""
