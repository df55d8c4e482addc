"""lamina: typed layers for async services, agents, and applications that agents may use."""
