-- From topics of Kafka into tables.sql (docs/EXPORTS.md). From 18.16 on; put your brokers in the place of
-- localhost:9092:
--     clickhouse-client --multiquery < kafka.sql
--     sketchtap --port eth1 --output kafka://HOST/heavy_hitters --stats kafka://HOST/ledger \
--         --sketch flow-table --flows kafka://HOST/flows
-- A group that is new begins at a topic's end unless the server's configuration says
-- <kafka><auto_offset_reset>earliest</auto_offset_reset></kafka>.
-- What is read twice after a crash is there once, as tables.sql says: a row has its identity.

CREATE TABLE IF NOT EXISTS heavy_hitters_topic
(
    host String,
    run String,
    epoch UInt64,
    measurement String,
    start String,
    end String,
    rank UInt32,
    src_ip String,
    dst_ip String,
    src_port UInt16,
    dst_port UInt16,
    proto UInt8,
    packets Nullable(UInt64),
    bytes Nullable(UInt64),
    packets_low Nullable(UInt64),
    packets_high Nullable(UInt64),
    bytes_low Nullable(UInt64),
    bytes_high Nullable(UInt64),
    confidence Nullable(Float64),
    share Float64,
    pps Nullable(UInt64),
    bps Nullable(UInt64),
    first Nullable(String),
    last Nullable(String),
    tcp_flags Nullable(UInt8),
    vlan Nullable(UInt16),
    dscp Nullable(UInt8),
    mpls Nullable(UInt32),
    in_port Nullable(UInt16),
    ingress String,
    egress String,
    looked_at Nullable(Float64),
    weight Nullable(UInt64),
    state String,
    deep_packets Nullable(UInt64),
    peak_bps Nullable(UInt64),
    bursts Nullable(UInt64),
    gap_min_ns Nullable(UInt64),
    gap_mean_ns Nullable(UInt64),
    retransmitted Nullable(UInt64),
    out_of_order Nullable(UInt64),
    zero_windows Nullable(UInt64)
)
ENGINE = Kafka
SETTINGS kafka_broker_list = 'localhost:9092', kafka_topic_list = 'heavy_hitters', kafka_group_name = 'clickhouse',
    kafka_format = 'JSONEachRow';

CREATE MATERIALIZED VIEW IF NOT EXISTS heavy_hitters_from_topic TO heavy_hitters AS
SELECT
    host, run, epoch, measurement, parseDateTimeBestEffort(start) AS start,
    parseDateTimeBestEffort(end) AS end, rank, src_ip, dst_ip, src_port, dst_port, proto, packets, bytes,
    packets_low, packets_high, bytes_low, bytes_high, confidence, share, pps, bps,
    parseDateTimeBestEffort(first) AS first, parseDateTimeBestEffort(last) AS last, tcp_flags,
    vlan, dscp, mpls, in_port, ingress, egress, looked_at, weight, state, deep_packets, peak_bps, bursts,
    gap_min_ns, gap_mean_ns, retransmitted, out_of_order, zero_windows
FROM heavy_hitters_topic;

CREATE TABLE IF NOT EXISTS flows_topic
(
    host String,
    run String,
    record UInt64,
    epoch UInt64,
    measurement String,
    start String,
    first String,
    last String,
    src_ip String,
    dst_ip String,
    src_port UInt16,
    dst_port UInt16,
    proto UInt8,
    tcp_flags UInt8,
    packets UInt64,
    bytes UInt64,
    ended String,
    vlan Nullable(UInt16),
    dscp Nullable(UInt8),
    mpls Nullable(UInt32),
    in_port Nullable(UInt16),
    ingress String,
    egress String,
    state String,
    deep_packets Nullable(UInt64),
    peak_bps Nullable(UInt64),
    bursts Nullable(UInt64),
    gap_min_ns Nullable(UInt64),
    gap_mean_ns Nullable(UInt64),
    retransmitted Nullable(UInt64),
    out_of_order Nullable(UInt64),
    zero_windows Nullable(UInt64)
)
ENGINE = Kafka
SETTINGS kafka_broker_list = 'localhost:9092', kafka_topic_list = 'flows', kafka_group_name = 'clickhouse',
    kafka_format = 'JSONEachRow';

CREATE MATERIALIZED VIEW IF NOT EXISTS flows_from_topic TO flows AS
SELECT
    host, run, record, epoch, measurement, parseDateTimeBestEffort(start) AS start,
    parseDateTimeBestEffort(first) AS first, parseDateTimeBestEffort(last) AS last, src_ip, dst_ip, src_port,
    dst_port, proto, tcp_flags, packets, bytes, ended, vlan, dscp, mpls, in_port, ingress, egress, state,
    deep_packets, peak_bps, bursts, gap_min_ns, gap_mean_ns, retransmitted, out_of_order, zero_windows
FROM flows_topic;

CREATE TABLE IF NOT EXISTS ledger_topic
(
    host String,
    run String,
    epoch UInt64,
    measurement String,
    start String,
    end String,
    offered UInt64,
    received UInt64,
    measured UInt64,
    filtered UInt64,
    non_ip UInt64,
    malformed UInt64,
    nic_missed UInt64,
    nic_errors UInt64,
    no_mbuf UInt64,
    ring_full UInt64,
    shed UInt64,
    skipped UInt64,
    skipped_bytes UInt64,
    duplicate UInt64,
    unaccounted UInt64,
    bytes Nullable(UInt64),
    distinct_keys UInt64,
    distinct_of String,
    pps Nullable(UInt64),
    bps Nullable(UInt64),
    drop_rate Nullable(Float64),
    rx_ns Nullable(Float64),
    ppt_ns Nullable(Float64),
    free_ns Nullable(Float64),
    delay_ns Nullable(Float64),
    design String,
    sharing String,
    sketch String,
    workers UInt32,
    unlisted_packets_high Nullable(UInt64),
    unlisted_bytes_high Nullable(UInt64),
    confidence Nullable(Float64)
)
ENGINE = Kafka
SETTINGS kafka_broker_list = 'localhost:9092', kafka_topic_list = 'ledger', kafka_group_name = 'clickhouse',
    kafka_format = 'JSONEachRow';

CREATE MATERIALIZED VIEW IF NOT EXISTS ledger_from_topic TO ledger AS
SELECT
    host, run, epoch, measurement, parseDateTimeBestEffort(start) AS start,
    parseDateTimeBestEffort(end) AS end, offered, received, measured, filtered, non_ip, malformed, nic_missed,
    nic_errors, no_mbuf, ring_full, shed, skipped, skipped_bytes, duplicate, unaccounted, bytes,
    distinct_keys, distinct_of,
    pps, bps, drop_rate, rx_ns, ppt_ns, free_ns, delay_ns, design, sharing, sketch, workers,
    unlisted_packets_high, unlisted_bytes_high, confidence
FROM ledger_topic;
