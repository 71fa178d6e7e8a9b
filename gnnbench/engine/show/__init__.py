"""All that is shown: tables, Markdown, pages, charts, slides, comments."""
