"""Redaction: a dataset with pseudonyms in place of all names, from which reports can be shown to strangers.

key_file       the secret that pseudonyms are made with, and what each stands for
pseudonyms     text -> pseudonym: the same for the same text, wherever it stands
addresses      the same for IP addresses: another valid address
kept_texts     which texts are no names, and stay
assignments    topics inside of group protocols
columns        goes through columns, also nested ones: no text passes by another way
redaction      a dataset -> a redacted one
"""
