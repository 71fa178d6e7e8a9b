"""Pages and pictures of what was measured and judged."""
