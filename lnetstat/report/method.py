"""The method in short, printed at the end of every report."""

METHOD = (
    "Rates are differences of counters at the stamps of the samples; counter resets and gaps are left out, and no line is drawn "
    "across a gap.",
    "Dead time is searched for in every throughput signal by folding at all periods, helped by the ping counters where there are any, "
    "and then followed dip by dip. It is called periodic when the gaps between onsets vary by at most 15 % (real pings: about 7 %), "
    "recurrent up to 30 %. A record with fewer than six cycles, or with samples too far apart, gives “cannot tell”, never “no”.",
    "A credit count below zero is the number of messages that wait. Samples miss most short queues; the low-water mark (min) misses "
    "none, but does not tell when. Required = configured − lowest. Grades: never (not below 0), touched (only the mark was), "
    "intermittent (sampled below 0), sustained (for at least 1 % of the time or 1 s on end). A limit acts per row, so rows are never "
    "added up.",
    "Curves are drawn with the lowest and the highest value of every pixel-wide piece of time and of every incident: nothing narrow "
    "is lost, but zooming in shows no more points than are drawn; the recording has them all.",
    "All times are UTC. What dead time, ping bursts and credits mean together: “Minimizing Lustre Ping Effects at Scale on Cray "
    "Systems” (CUG 2012).",
)
