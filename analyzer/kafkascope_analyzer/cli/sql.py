def sql(): pass
