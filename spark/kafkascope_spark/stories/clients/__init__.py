"""The clients of one address: which connections belong to one client, and the machines that follow each client."""
