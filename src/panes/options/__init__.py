"""Options: those of a stream, and those of `WITH (…)`."""

from panes.options.stream import StreamOptions
from panes.options.with_clause import read_options, redaction_of, shown_options, without_secrets

__all__ = ["StreamOptions", "read_options", "redaction_of", "shown_options", "without_secrets"]
