"""The offsets of heartbeats: the log says when a run began, also when a micro-batch of it runs again in another."""

from __future__ import annotations

from panes.spark.heartbeat import NEVER, Beats


def test_an_offset_says_when_its_run_began() -> None:
    beats = Beats(1_000)
    end = beats.latestOffset({"beat": 1, "started": 5})
    (partition,) = beats.partitions({"beat": 1, "started": 5}, end)
    assert list(beats.read(partition)) == [(end["beat"], beats.started)]


def test_a_beat_that_was_logged_comes_again_in_a_run_that_ends() -> None:
    beats = Beats(NEVER)
    (partition,) = beats.partitions({"beat": 7, "started": 5}, {"beat": 8, "started": 5})
    assert list(beats.read(partition)) == [(8, 5)]
    assert beats.latestOffset({"beat": 8, "started": 5}) == {"beat": 8, "started": 5}


def test_no_beat_between_equal_offsets_nor_at_the_first_of_a_run_that_ends() -> None:
    assert not Beats(1_000).partitions({"beat": 7, "started": 5}, {"beat": 7, "started": 6})
    assert not Beats(NEVER).partitions({"beat": 7, "started": 5}, Beats(NEVER).initialOffset())


def test_offsets_of_older_checkpoints_have_no_start() -> None:
    beats = Beats(1_000)
    (partition,) = beats.partitions({"beat": 7}, {"beat": 8})
    assert list(beats.read(partition)) == [(8, None)]
