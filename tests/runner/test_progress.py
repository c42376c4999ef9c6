"""The time left is printed once it can be known."""

import pytest

from greedyexp.runner import progress


@pytest.fixture
def clock(monkeypatch):
    """A clock that tests set."""

    class Clock:
        now = 0.0

    monkeypatch.setattr(progress.time, "monotonic", lambda: Clock.now)
    return Clock


def test_no_time_is_printed_before_it_can_be_known(clock, capsys):
    """The first results include the start of the workers, which must not be extrapolated."""
    lines = progress.Lines("lab", total=1000, done=0)

    def after(seconds: float, done: int) -> str:
        clock.now += seconds
        lines.advance(done, 0)
        return capsys.readouterr().err

    assert after(60, 0) == "lab: 0/1000 (0%)\n"
    assert after(15, 4) == "lab: 4/1000 (0%)\n"
    # The pace counts from here on; nine replicates are too few.
    assert after(12, 9) == "lab: 13/1000 (1%)\n"
    assert after(8, 91) == ""
    assert after(30, 400) == "lab: 504/1000 (50%), about 00:49 left\n"


def test_the_bar_has_no_time_before_it_can_be_known(clock, capsys):
    bar = progress.Bar("lab", total=1000, done=0)
    for _ in range(1 + progress._FEWEST):
        assert bar._bar.bar_format == progress._UNKNOWN_LEFT
        clock.now += 1.0
        bar.advance(1, 0)
    assert bar._bar.bar_format is None
    bar.close()
    assert "<" not in capsys.readouterr().err.split("\r")[1]
