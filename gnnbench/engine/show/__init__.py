"""Everything that gnnbench shows: tables, Markdown, pages, charts, slides, comments."""
