"""Rows in sorted blocks with fences: what must be read is known without reading."""
