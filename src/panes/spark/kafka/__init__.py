"""Kafka, read and written with the connector of Spark."""
