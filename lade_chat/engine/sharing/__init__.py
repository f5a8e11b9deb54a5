"""One engine shared by several browser tabs over a local socket."""
