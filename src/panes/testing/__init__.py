"""Testing SQL on real Structured Streaming: scripted micro-batches in, what came out of each."""

from panes.testing.replay import Replay, Stream, replay

__all__ = ["Replay", "Stream", "replay"]
