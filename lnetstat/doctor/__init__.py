"""Is this node and this Carbon fit for the agent? Checks, each with what was found and what to do.

`node` looks at what can be read here, `needs` at what the agent itself takes, `carbon` and `graphite` at where points go, `rules` at how
they are kept. Every check is a plain function that returns Check rows; nothing here changes anything.
"""
