"""User names in SASL tokens: RFC 4616 and RFC 5802 examples, and what must not be shown."""

import pytest

from kafkascope_parsers.framing.principals import principal_of

JWT = (
    b"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ"
    b".SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c"
)
"""The token that jwt.io shows first: its subject is 1234567890."""
JWT_OF_RFC_7519 = (
    b"eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNv"
    b"bS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
)
"""Section 3.1: it has no subject."""


@pytest.mark.parametrize(
    ("mechanism", "token", "user"),
    [
        ("PLAIN", b"\0tim\0tanstaaftanstaaf", "tim"),
        ("PLAIN", b"tim\0tim\0tanstaaftanstaaf", "tim"),
        ("PLAIN", b"Ursel\0Kurt\0xipj3plmq", None),
        ("PLAIN", b"\0tim", None),
        ("PLAIN", b"\0tanstaaf\0", None),
        ("PLAIN", b"tim\0tanstaaf\0", None),
        ("PLAIN", b"\0\0tanstaaf", None),
        ("PLAIN", b"\0tim\0tanstaaf\0", None),
        ("PLAIN", b"tim\0tanstaaf", None),
        ("PLAIN", b"\0t\xffm\0tanstaaf", None),
        ("PLAIN", b"", None),
        ("PLAIN", b"\0a\x1b[2J\0secret", None),
        ("PLAIN", b"\0" + b"a" * 300 + b"\0secret", None),
        ("SCRAM-SHA-256", b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO", "user"),
        ("SCRAM-SHA-512", b"n,a=a=2Cb=3Dc,n=a=2Cb=3Dc,r=fyko+d2lbbFgONRv9qkxdawL,m=x", "a,b=c"),
        ("SCRAM-SHA-512", b"n,a=admin,n=a=2Cb=3Dc,r=fyko+d2lbbFgONRv9qkxdawL", None),
        ("SCRAM-SHA-512", b"n,,n=tanstaaf", None),
        ("SCRAM-SHA-512", b"n,,n=,r=fyko+d2lbbFgONRv9qkxdawL", None),
        ("SCRAM-SHA-512", b"n,,n=tim=tanstaaf,r=fyko", None),
        ("SCRAM-SHA-512", b"\0tim\0tanstaaf", None),
        ("SCRAM-SHA-256", b"n,,n=tokenID,r=fyko,tokenauth=true", None),
        ("SCRAM-SHA-256", b"c=biws,r=rOprNGfwEbeRWgbNEkqO,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=", None),
        ("OAUTHBEARER", b"n,a=user@example.com,\x01auth=Bearer vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29t\x01\x01", None),
        ("OAUTHBEARER", b"n,,\x01auth=Bearer " + JWT + b"\x01\x01", "1234567890"),
        ("OAUTHBEARER", b"n,a=1234567890,\x01auth=Bearer " + JWT + b"\x01\x01", "1234567890"),
        ("OAUTHBEARER", b"n,,\x01auth=Bearer " + JWT + b"\x01traceId=7\x01\x01", "1234567890"),
        ("OAUTHBEARER", b"n,a=other,\x01auth=Bearer " + JWT + b"\x01\x01", None),
        ("OAUTHBEARER", b"n,,\x01auth=Bearer " + JWT_OF_RFC_7519 + b"\x01\x01", None),
        ("OAUTHBEARER", b"n,,\x01auth=Bearer a.W1tbW1tb.c\x01\x01", None),
        ("OAUTHBEARER", b"n,,\x01auth=Bearer a." + b"W1tb" * 5000 + b".c\x01\x01", None),
        ("OAUTHBEARER", b"n,,\x01auth=Bearer " + JWT[:-90] + b"\x01\x01", None),
        ("GSSAPI", b"\x60\x82", None),
        ("SCRAM-SHA-256", b"\xff\0n=", None),
    ],
)
def test_the_user_of_a_token(mechanism, token, user):
    assert principal_of(mechanism, token) == user
