"""A session as tools for language-model agents, over the Model Context Protocol; keys stay in this process."""
