"""Fields whose content must never reach a table, a log or a report: only their length does.

The one list of them. A field of type `records` is record data and needs no entry. Keys are message names as in Kafka,
paths as in Node.path.
"""

SECRET_FIELDS: dict[str, frozenset[str]] = {
    # SASL tokens: PLAIN carries the password, SCRAM its proofs, OAUTHBEARER the token.
    "SaslAuthenticateRequest": frozenset({"auth_bytes"}),
    "SaslAuthenticateResponse": frozenset({"auth_bytes"}),
    # The HMAC of a delegation token is its password.
    "CreateDelegationTokenResponse": frozenset({"hmac"}),
    "RenewDelegationTokenRequest": frozenset({"hmac"}),
    "ExpireDelegationTokenRequest": frozenset({"hmac"}),
    "DescribeDelegationTokenResponse": frozenset({"tokens[].hmac"}),
    "AlterUserScramCredentialsRequest": frozenset({"upsertions[].salt", "upsertions[].salted_password"}),
    # Values set may be passwords (ssl.keystore.password, sasl.jaas.config), and the request does not say which are.
    "AlterConfigsRequest": frozenset({"resources[].configs[].value"}),
    "IncrementalAlterConfigsRequest": frozenset({"resources[].configs[].value"}),
    # A whole request or response of another API, with whatever that holds, and the principal it came from.
    "EnvelopeRequest": frozenset({"request_data", "request_principal"}),
    "EnvelopeResponse": frozenset({"response_data"}),
}


def is_secret(message: str, path: str) -> bool:
    """Whether the field at a path of a message is secret."""
    return path in SECRET_FIELDS.get(message, frozenset())
