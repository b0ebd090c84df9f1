-- How clients connect: plain text or TLS, mechanism, principal; denied operations and failed logins by client.
with denied as (
    select conn_id, count(*) filter (error_name like '%AUTHORIZATION_FAILED') as n_denied,
        count(*) filter (error_name in ('SASL_AUTHENTICATION_FAILED', 'UNSUPPORTED_SASL_MECHANISM', 'ILLEGAL_SASL_STATE')) as n_failed_logins,
        list(distinct api_name || ' ' || error_name) filter (error_name like '%AUTHORIZATION_FAILED') as denied
    from errors group by conn_id
),
entered as (
    select *, case when protocol = 'tls' or tls_version is not null then 'TLS' else 'plain text' end as transport, client_ids[1] as client_id
    from connections where protocol in ('kafka', 'tls')
)
select transport, tls_version, sasl_mechanism, principal, client_id, client_ip,
    count(*) as n_connections,
    coalesce(sum(n_failed_logins), 0) as n_failed_logins,
    coalesce(sum(n_denied), 0) as n_denied,
    list_sort(list_distinct(flatten(list(denied) filter (denied is not null)))) as denied,
    list_filter([
        case when transport = 'plain text' then 'what is sent can be read on the way' end,
        case when transport = 'plain text' and sasl_mechanism = 'PLAIN' then 'so can the password' end,
        case when tls_version in ('SSLv3', 'TLSv1', 'TLSv1.1') then tls_version || ' is no longer secure (RFC 8996)' end,
        case when transport = 'plain text' and sasl_mechanism is null then 'nobody has to log in' end
    ], lambda x: x is not null) as weak,
    min(conn_id) as conn_id, cluster
from entered left join denied using (conn_id)
group by transport, tls_version, sasl_mechanism, principal, client_id, client_ip, cluster
order by len(weak) desc, n_denied desc, client_id, client_ip, sasl_mechanism, principal, cluster
