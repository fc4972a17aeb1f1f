"""The live view: what peers, NIs, buffers and services do now, or did at any moment of a recording.

`feeds` bring ticks, `model` makes rows of them (pure), `text` prints them, `view` and `grid` draw them with textual.
"""
