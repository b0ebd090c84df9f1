"""A dataset for assistants: the answers of `kafkascope mcp` over the Model Context Protocol. It only reads
the dataset.
"""
