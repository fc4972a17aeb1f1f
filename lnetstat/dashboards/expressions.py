"""Graphite expressions in our words: which of many series are drawn, and how they are called.

Node 1 of every path is the host. Minima and maxima stay what they are when Graphite thins out points for the screen (consolidateBy).
"""

BRIDGED = 60  # points: an agent may sample once a minute into slots of a second. The stack's own page knows better: see PACE
MOST = 10  # series of one expression: more cannot be told apart, and graphite-web leaves the legend out


def worst_low(path: str, *nodes: int, count: int = MOST) -> str:
    """Return the `count` series that went lowest, called by these nodes of their paths. Series without a value would count as lowest."""
    return called(f"lowest(removeEmptySeries(consolidateBy({path},'min')),{count},'min')", *nodes)


def worst_high(path: str, *nodes: int, count: int = MOST) -> str:
    """Return the `count` series that went highest, called by these nodes of their paths."""
    return called(f"highest(removeEmptySeries(consolidateBy({path},'max')),{count},'max')", *nodes)


def per_second(path: str) -> str:
    """Return what counters gain per second. perSecond alone gives nothing next to a missing point: lost samples, or an agent that
    samples less often than Carbon has slots, would leave holes or no curve. Over a gap the mean of the gap is drawn, which is true.
    """
    return f"perSecond(interpolate({path},$bridged))"


def reporting(path: str) -> str:
    """Return how many series of a path go on at each moment; one that is silent for longer than $bridged points does not."""
    return f"sumSeries(isNonNull(keepLastValue({path},$bridged)))"


def busiest(path: str, *nodes: int, count: int = MOST) -> str:
    """Return the rates of the `count` counters that moved most, called by these nodes of their paths."""
    return called(f"highest(removeEmptySeries({per_second(path)}),{count},'max')", *nodes)


def fastest(expression: str, count: int = MOST) -> str:
    """Return the `count` series that went highest, with the names they have."""
    return f"highest(removeEmptySeries({expression}),{count},'max')"


def called(expression: str, *nodes: int) -> str:
    return f"aliasByNode({expression},{','.join(map(str, nodes))})"


def with_nids(expression: str) -> str:
    """Return series whose names hold a host and the path node of a NID with both as people write them: c1 10.0.0.1@tcp1.cpt0."""
    spaced = rf"aliasSub({expression},'^([^.]+)\.','\1 ')"
    return rf"aliasSub(aliasSub({spaced},'(\d+)_(\d+)_(\d+)_(\d+)_at_','\1.\2.\3.\4@'),'_at_','@')"


def by_host(path: str, how: str) -> str:
    """Return one series for each host: the min, max or sum of its series."""
    return f"groupByNode({path},1,'{how}')"


def rate(path: str) -> str:
    """Return what the counters of a path gain per second, added up."""
    return f"sumSeries({per_second(path)})"


def mean_of(counter: str, factor: str) -> str:
    """Return the mean value of a counter's events, interval by interval: what its sum gains for each event. `factor`: to the "
    "panel's unit.

    No value where there was no event. asPercent is Graphite's only division that pairs series by their names; hence 100 in `factor`.
    """
    return f"scale(asPercent({per_second(f'{counter}.sum')},{per_second(f'{counter}.samples')},1,3,4),{factor})"


def of_routers(name: str) -> str:
    """Return a series of router buffers, without the nodes that have none: they say 0 of 0, which is no shortage.

    count/count is 1 where there are buffers and nothing where there are none; dividing by it leaves the value as it is.
    """
    count = "lnet.$host.buffers.*.count"
    return f"asPercent(lnet.$host.buffers.*.{name},asPercent({count},{count},1,3),1,3)"


def share_of_buffers() -> str:
    """Return how much of each pool is in use or waited for, in percent; more than 100: messages wait."""
    return "asPercent(lnet.$host.buffers.*.in_use_max,lnet.$host.buffers.*.count,1,3)"


def share_of_ni_credits(name: str) -> str:
    """Return how many of each NI's credits are taken, in percent, from those left (tx_credits, tx_credits_min)."""
    nis = "lnet.$host.nis.*_at_$net.*"
    return f"offset(scale(asPercent({nis}.{name},{nis}.tx_credits_max,1,3,4),-1),100)"


def laid_over(expression: str, period: str, count: int = MOST) -> str:
    """Return the mean of the last `count` periods, at each moment of a period: what comes in another rhythm is averaged away.

    Nothing where there is no value now: the periods before would go on for `count` periods after the newest value.
    """
    return f"multiplySeries(averageSeries(timeStack({expression},'{period}',0,{count})),removeBelowValue(isNonNull({expression}),1))"
