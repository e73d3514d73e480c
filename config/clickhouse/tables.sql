-- Tables and views for what sketchtap sends to ClickHouse (docs/EXPORTS.md). From 18.16 on:
--     clickhouse-client --multiquery < tables.sql
--     sketchtap --port eth1 --output clickhouse://HOST/heavy_hitters --stats clickhouse://HOST/ledger \
--         --sketch flow-table --flows clickhouse://HOST/flows
-- A row that was sent twice is there once when parts were merged, and once with FINAL.
-- Addresses are text; toIPv4() and toIPv6() read them.
-- The tables have every column of such rows. Of a table without one sketchtap shows what adds it, and does not start.

CREATE TABLE IF NOT EXISTS heavy_hitters
(
    host String,
    run String,
    epoch UInt64,
    measurement String,
    start DateTime,
    end DateTime,
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
    first Nullable(DateTime),
    last Nullable(DateTime),
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
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(start)
ORDER BY (measurement, start, host, run, epoch, rank);

CREATE TABLE IF NOT EXISTS flows
(
    host String,
    run String,
    record UInt64,
    epoch UInt64,
    measurement String,
    start DateTime,
    first DateTime,
    last DateTime,
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
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(start)
ORDER BY (measurement, start, host, run, record);

CREATE TABLE IF NOT EXISTS ledger
(
    host String,
    run String,
    epoch UInt64,
    measurement String,
    start DateTime,
    end DateTime,
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
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(start)
ORDER BY (measurement, start, host, run, epoch);

-- What a key had at least and at most in each minute and hour, by the intervals that listed it.
CREATE VIEW IF NOT EXISTS heavy_hitters_minute AS
SELECT
    toStartOfMinute(start) AS minute, host, measurement, src_ip, dst_ip, src_port, dst_port, proto, vlan, dscp,
        mpls, in_port, ingress, egress,
    sum(packets) AS packets, sum(bytes) AS bytes, sum(packets_low) AS packets_low, sum(bytes_low) AS bytes_low
FROM heavy_hitters FINAL
GROUP BY minute, host, measurement, src_ip, dst_ip, src_port, dst_port, proto, vlan, dscp, mpls, in_port,
    ingress, egress;

CREATE VIEW IF NOT EXISTS heavy_hitters_hour AS
SELECT
    toStartOfHour(start) AS hour, host, measurement, src_ip, dst_ip, src_port, dst_port, proto, vlan, dscp,
        mpls, in_port, ingress, egress,
    sum(packets) AS packets, sum(bytes) AS bytes, sum(packets_low) AS packets_low, sum(bytes_low) AS bytes_low
FROM heavy_hitters FINAL
GROUP BY hour, host, measurement, src_ip, dst_ip, src_port, dst_port, proto, vlan, dscp, mpls, in_port,
    ingress, egress;

-- The account of all hosts, by minute: offered is the sum of all that follows. What is unaccounted, in ledger, is in
-- none of them.
CREATE VIEW IF NOT EXISTS ledger_minute AS
SELECT
    toStartOfMinute(start) AS minute, host, measurement, sum(offered) AS offered, sum(measured) AS measured,
    sum(nic_missed + nic_errors + no_mbuf + ring_full + shed) AS lost,
    sum(filtered + non_ip + malformed + duplicate) AS left_out, sum(skipped) AS skipped
FROM ledger FINAL
GROUP BY minute, host, measurement;
