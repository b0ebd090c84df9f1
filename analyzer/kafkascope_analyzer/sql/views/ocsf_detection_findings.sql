-- One row per incident and finding, as a Detection Finding of OCSF 1.3 (class 2004).
with found as (
    select cluster, incident_id as uid, kind as type, subject, sentence, severity, start_ns as first_ns,
        coalesce(end_ns, start_ns) as last_ns, end_ns is null as is_open, evidence,
        array_to_string(list_transform(actions, lambda action: action.text), ' ') as advice
    from incidents
    union all
    select cluster, finding_id, rule, subject, sentence || '.', severity, first_ns, last_ns, false, evidence, advice
    from findings
)
select
    2004 as class_uid,
    'Detection Finding' as class_name,
    2 as category_uid,
    'Findings' as category_name,
    1 as activity_id, -- Create
    200401 as type_uid,
    last_ns // 1000000 as "time",
    first_ns // 1000000 as start_time,
    last_ns // 1000000 as end_time,
    case severity when 'error' then 4 when 'warning' then 3 else 1 end as severity_id, -- High, Medium, Informational
    severity,
    case when is_open then 1 else 4 end as status_id, -- New, Resolved
    sentence as message,
    {'uid': uid, 'title': type || coalesce(': ' || subject, ''), 'desc': sentence, 'types': [type],
        'first_seen_time': first_ns // 1000000, 'last_seen_time': last_ns // 1000000} as finding_info,
    {'version': '1.3.0', 'product': {'name': 'kafkascope', 'vendor_name': 'kafkascope'}} as metadata,
    list_transform(evidence, lambda id: {'data': {'request_id': id}}) as evidences,
    case when advice <> '' then {'desc': advice} end as remediation,
    {'cluster': cluster} as unmapped
from found
