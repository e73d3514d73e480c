-- Views over many hosts, on tables.sql (docs/EXPORTS.md). From 18.16 on:
--     clickhouse-client --multiquery < network.sql
-- Hosts whose rows are added up measure under one name, by the same key, other packets each: a packet that two of
-- them see counts twice. --output and --stats of each go to the tables.

-- Rows with what a key without a row had at most in the same interval of the same host.
CREATE VIEW IF NOT EXISTS heavy_hitters_unlisted AS
SELECT host, measurement, start, src_ip, dst_ip, src_port, dst_port, proto, vlan, dscp, mpls, in_port, ingress,
    egress, packets, bytes, packets_low, packets_high, bytes_low, bytes_high, unlisted_packets_high, unlisted_bytes_high
FROM
(
    SELECT host, run, epoch, measurement, start, src_ip, dst_ip, src_port, dst_port, proto, vlan, dscp, mpls,
        in_port, ingress, egress, packets, bytes,
        packets_low, packets_high, bytes_low, bytes_high
    FROM heavy_hitters FINAL
) AS keys
ALL INNER JOIN
(
    SELECT host, run, epoch, measurement, unlisted_packets_high, unlisted_bytes_high
    FROM ledger FINAL
) AS intervals
USING (host, run, epoch, measurement);

-- Each key in the whole network, by the second in which its intervals start: it had packets_low to packets_high, all
-- of them together with the probability `confidence`. A host without a row for the key adds 0, and at most what it
-- says of keys without a row. `packets` and `bytes` are those of the hosts_with_it that have one.
CREATE VIEW IF NOT EXISTS network_heavy_hitters AS
SELECT measurement, start, src_ip, dst_ip, src_port, dst_port, proto, vlan, dscp, mpls, in_port, ingress,
    egress, hosts_with_it, hosts,
    packets_sum AS packets, bytes_sum AS bytes, packets_low_sum AS packets_low,
    if(packets_unknown + others_packets_unknown > own_packets_unknown, NULL,
        toUInt64(packets_high_sum + others_packets_high - own_packets_high)) AS packets_high,
    bytes_low_sum AS bytes_low,
    if(bytes_unknown + others_bytes_unknown > own_bytes_unknown, NULL,
        toUInt64(bytes_high_sum + others_bytes_high - own_bytes_high)) AS bytes_high,
    confidence
FROM
(
    SELECT measurement, start, src_ip, dst_ip, src_port, dst_port, proto, vlan, dscp, mpls, in_port, ingress,
        egress, uniqExact(host) AS hosts_with_it,
        sum(packets) AS packets_sum, sum(bytes) AS bytes_sum,
        sum(packets_low) AS packets_low_sum, sum(bytes_low) AS bytes_low_sum,
        sum(ifNull(packets_high, 0)) AS packets_high_sum, countIf(isNull(packets_high)) AS packets_unknown,
        sum(ifNull(bytes_high, 0)) AS bytes_high_sum, countIf(isNull(bytes_high)) AS bytes_unknown,
        sum(ifNull(unlisted_packets_high, 0)) AS own_packets_high,
        countIf(isNull(unlisted_packets_high)) AS own_packets_unknown,
        sum(ifNull(unlisted_bytes_high, 0)) AS own_bytes_high,
        countIf(isNull(unlisted_bytes_high)) AS own_bytes_unknown
    FROM heavy_hitters_unlisted
    GROUP BY measurement, start, src_ip, dst_ip, src_port, dst_port, proto, vlan, dscp, mpls, in_port, ingress, egress
) AS keys
ALL INNER JOIN
(
    SELECT measurement, start, uniqExact(host) AS hosts,
        sum(ifNull(unlisted_packets_high, 0)) AS others_packets_high,
        countIf(isNull(unlisted_packets_high)) AS others_packets_unknown,
        sum(ifNull(unlisted_bytes_high, 0)) AS others_bytes_high,
        countIf(isNull(unlisted_bytes_high)) AS others_bytes_unknown,
        if(countIf(isNull(confidence)) > 0, NULL, greatest(0., 1 - sum(1 - ifNull(confidence, 0)))) AS confidence
    FROM ledger FINAL
    GROUP BY measurement, start
) AS intervals
USING (measurement, start);

-- The same by minute, of all intervals that start in it. The more intervals and hosts, the more risk.
CREATE VIEW IF NOT EXISTS network_heavy_hitters_minute AS
SELECT measurement, minute, src_ip, dst_ip, src_port, dst_port, proto, vlan, dscp, mpls, in_port, ingress,
    egress, hosts_with_it, hosts,
    packets_sum AS packets, bytes_sum AS bytes, packets_low_sum AS packets_low,
    if(packets_unknown + others_packets_unknown > own_packets_unknown, NULL,
        toUInt64(packets_high_sum + others_packets_high - own_packets_high)) AS packets_high,
    bytes_low_sum AS bytes_low,
    if(bytes_unknown + others_bytes_unknown > own_bytes_unknown, NULL,
        toUInt64(bytes_high_sum + others_bytes_high - own_bytes_high)) AS bytes_high,
    confidence
FROM
(
    SELECT measurement, toStartOfMinute(start) AS minute, src_ip, dst_ip, src_port, dst_port, proto, vlan,
        dscp, mpls, in_port, ingress, egress,
        uniqExact(host) AS hosts_with_it,
        sum(packets) AS packets_sum, sum(bytes) AS bytes_sum,
        sum(packets_low) AS packets_low_sum, sum(bytes_low) AS bytes_low_sum,
        sum(ifNull(packets_high, 0)) AS packets_high_sum, countIf(isNull(packets_high)) AS packets_unknown,
        sum(ifNull(bytes_high, 0)) AS bytes_high_sum, countIf(isNull(bytes_high)) AS bytes_unknown,
        sum(ifNull(unlisted_packets_high, 0)) AS own_packets_high,
        countIf(isNull(unlisted_packets_high)) AS own_packets_unknown,
        sum(ifNull(unlisted_bytes_high, 0)) AS own_bytes_high,
        countIf(isNull(unlisted_bytes_high)) AS own_bytes_unknown
    FROM heavy_hitters_unlisted
    GROUP BY measurement, minute, src_ip, dst_ip, src_port, dst_port, proto, vlan, dscp, mpls, in_port,
        ingress, egress
) AS keys
ALL INNER JOIN
(
    SELECT measurement, toStartOfMinute(start) AS minute, uniqExact(host) AS hosts,
        sum(ifNull(unlisted_packets_high, 0)) AS others_packets_high,
        countIf(isNull(unlisted_packets_high)) AS others_packets_unknown,
        sum(ifNull(unlisted_bytes_high, 0)) AS others_bytes_high,
        countIf(isNull(unlisted_bytes_high)) AS others_bytes_unknown,
        if(countIf(isNull(confidence)) > 0, NULL, greatest(0., 1 - sum(1 - ifNull(confidence, 0)))) AS confidence
    FROM ledger FINAL
    GROUP BY measurement, minute
) AS intervals
USING (measurement, minute);

-- The account of all hosts together, by minute.
CREATE VIEW IF NOT EXISTS network_ledger_minute AS
SELECT minute, measurement, uniqExact(host) AS hosts, sum(offered) AS offered, sum(measured) AS measured,
    sum(lost) AS lost, sum(left_out) AS left_out, sum(skipped) AS skipped
FROM ledger_minute
GROUP BY minute, measurement;

-- Each host's last interval of each measurement: how long ago it ended, and how far that is behind the last of all
-- hosts. One that is silent, late or gone falls behind.
CREATE VIEW IF NOT EXISTS hosts AS
SELECT host, measurement, runs, last_end, now() - last_end AS seconds_ago, network_end - last_end AS behind
FROM
(
    SELECT host, measurement, uniqExact(run) AS runs, max(end) AS last_end
    FROM ledger
    GROUP BY host, measurement
) AS each
ALL INNER JOIN
(
    SELECT measurement, max(end) AS network_end
    FROM ledger
    GROUP BY measurement
) AS all_of_them
USING (measurement);

-- Flows that several hosts (taps) saw, by minute and measurement: who saw most of it, who least, and what is missing
-- there. Of records that begin in that minute; tables of both keep them by the same rules.
CREATE VIEW IF NOT EXISTS flows_of_taps AS
SELECT minute, measurement, src_ip, dst_ip, src_port, dst_port, proto, count() AS taps,
    argMax(host, packets_sum) AS most_at, max(packets_sum) AS packets_most,
    argMin(host, packets_sum) AS least_at, min(packets_sum) AS packets_least,
    max(packets_sum) - min(packets_sum) AS packets_missing, max(bytes_sum) - min(bytes_sum) AS bytes_missing
FROM
(
    SELECT toStartOfMinute(first) AS minute, host, measurement, src_ip, dst_ip, src_port, dst_port, proto,
        sum(packets) AS packets_sum, sum(bytes) AS bytes_sum
    FROM flows FINAL
    GROUP BY minute, host, measurement, src_ip, dst_ip, src_port, dst_port, proto
)
GROUP BY minute, measurement, src_ip, dst_ip, src_port, dst_port, proto
HAVING taps > 1;
