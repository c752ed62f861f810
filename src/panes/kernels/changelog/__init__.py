"""Changes of tables: their words, what they add up to, and how they are made complete."""
