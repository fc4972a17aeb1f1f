"""The fast way to the lines of Carbon and the plain one agree."""

from hypothesis import given
from hypothesis import strategies as st

from lnetstat.model import Point
from lnetstat.sinks.lines import PATH_BYTES_MAX, acceptable, acceptable_ones, lines_of, plaintext_line

PATHS = st.one_of(
    st.text(max_size=20), st.text("abc._-at", min_size=1, max_size=20), st.sampled_from(["x" * PATH_BYTES_MAX, "x" * (PATH_BYTES_MAX + 1)])
)
VALUES = st.one_of(st.floats(), st.integers(-(2**63), 2**64))
POINTS = st.builds(Point, PATHS, VALUES, st.integers(0, 2**33))


@given(st.lists(POINTS, max_size=4))
def test_the_lines_are_the_plain_ones_of_the_points_that_carbon_would_keep(points: list[Point]) -> None:
    kept = [point for point in points if acceptable(point)]
    assert list(acceptable_ones(points)) == kept
    assert lines_of(acceptable_ones(points)) == [f"{plaintext_line(point)}\n".encode("ascii") for point in kept]
