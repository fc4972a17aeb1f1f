"""The fast way to a line of Carbon and the plain one agree."""

from hypothesis import given
from hypothesis import strategies as st

from lnetstat.model import Point
from lnetstat.sinks.lines import PATH_BYTES_MAX, acceptable, line_of, plaintext_line

PATHS = st.one_of(
    st.text(max_size=20), st.text("abc._-at", min_size=1, max_size=20), st.sampled_from(["x" * PATH_BYTES_MAX, "x" * (PATH_BYTES_MAX + 1)])
)
VALUES = st.one_of(st.floats(), st.integers(-(2**63), 2**64))


@given(PATHS, VALUES, st.integers(0, 2**33))
def test_a_line_is_the_plain_one_or_none_where_carbon_would_not_keep_it(path, value, time_s):
    point = Point(path, value, time_s)
    assert line_of(point) == (f"{plaintext_line(point)}\n".encode("ascii") if acceptable(point) else None)
