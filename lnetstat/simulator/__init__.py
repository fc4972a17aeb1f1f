"""Message-exact LNet: clients, routers and servers that take and give back credits as the kernel does (docs/simulator-model.md)."""
