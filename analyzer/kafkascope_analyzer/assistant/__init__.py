"""A dataset for assistants: what `kafkascope mcp` answers over the Model Context Protocol. It reads the dataset, and
nothing else.
"""
