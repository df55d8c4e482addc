"""The command `lamina`: watch a demo, run an agent of an application, or check an application."""

from lamina.cli._main import main

__all__ = ["main"]
