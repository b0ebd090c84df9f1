"""User names in SASL tokens: RFC 4616 and RFC 5802 examples, and what must not be shown."""

import pytest

from kafkascope_parsers.framing.principals import principal_of


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
        ("GSSAPI", b"\x60\x82", None),
        ("SCRAM-SHA-256", b"\xff\0n=", None),
    ],
)
def test_the_user_of_a_token(mechanism, token, user):
    assert principal_of(mechanism, token) == user
