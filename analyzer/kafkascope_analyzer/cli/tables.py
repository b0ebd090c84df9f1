def tables(): pass
