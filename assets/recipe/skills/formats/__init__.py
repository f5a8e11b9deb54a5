"""Forms that programs read: JSON, tables, Markdown, YAML."""
