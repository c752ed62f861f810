"""What a query waits for: facts about it, and sentences made of them. Needs neither Spark nor the command line."""
