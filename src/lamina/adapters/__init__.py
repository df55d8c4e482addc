"""Adapters: each serves any `lamina.call.Surface` over one protocol, and has no authority of its own (design §7)."""
