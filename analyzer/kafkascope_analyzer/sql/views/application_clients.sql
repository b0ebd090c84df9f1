-- One row per running client object, without the brokers' own clients (clients.kind is broker).
select * from clients where kind is distinct from 'broker'
