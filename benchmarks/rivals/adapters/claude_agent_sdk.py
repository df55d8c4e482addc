"""claude-agent-sdk: timed for its import alone, since a run starts a command-line program."""

IMPORT = "from claude_agent_sdk import query, ClaudeAgentOptions, tool, create_sdk_mcp_server"
