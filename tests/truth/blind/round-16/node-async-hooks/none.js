// No agent.
