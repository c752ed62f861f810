"""What the options of a connector mean, and which of them cannot work; Spark is not needed to tell."""
