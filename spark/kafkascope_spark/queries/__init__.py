"""The queries of finding rules as Spark runs them."""
