"""The flight recorder: raw text of many files and hosts, at any interval, in a folder of append-only segments.

Only lines that changed are written, with a whole copy (key frame) every 16 ticks of a host. Every frame carries its own check sums, so
that a killed writer, a full disk or a bad block costs ticks, never the recording. The layout is described in `format`.
"""

from lnetstat.recording.body import Change
from lnetstat.recording.format import VERSION
from lnetstat.recording.locking import lock
from lnetstat.recording.reader import Recording, is_recording, is_segment
from lnetstat.recording.writer import RecordingWriter

__all__ = ["VERSION", "Change", "Recording", "RecordingWriter", "is_recording", "is_segment", "lock"]
