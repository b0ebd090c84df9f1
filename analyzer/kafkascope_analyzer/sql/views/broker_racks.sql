-- One row per broker whose rack (broker.rack) the capture shows: the rack that was named last.
select cluster, node_id, arg_max(rack, ts_ns) as rack
from topology
where kind = 'broker' and rack <> ''
group by cluster, node_id
