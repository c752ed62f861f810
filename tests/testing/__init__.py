"""What tests of SQL are made with."""
