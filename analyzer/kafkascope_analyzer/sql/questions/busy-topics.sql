-- Records and bytes written to and read from each topic, the busiest first.
select *
from topics
order by bytes_written + bytes_read desc, topic, cluster
