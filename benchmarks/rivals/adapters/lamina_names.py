"""The line that a program with an agent begins with: `import lamina` alone imports a name when it is asked for."""

IMPORT = "from lamina import Agent, AgentPolicy, RuntimeBuilder, build, tool"
