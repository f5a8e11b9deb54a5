"""The prompt: text editing, completion, attachments."""
